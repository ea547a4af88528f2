import GStreamer
import MediaGraphCore
import Synchronization

/// The elements that show the video at one of a session's pads (ZEGO's `ZegoCanvas`).
///
/// Its lock is held while elements are made, but never while other code of the application runs.
final class PipeCanvas: Sendable {
    private struct Canvas: Sendable {
        /// The elements, as the application has described them.
        let text: String
        /// A bin with the queue and the elements.
        let element: Element
    }

    private struct State: Sendable {
        /// The application's canvas for this pad, which stays without subscribers.
        var chosen: String?
        /// Whether the pad's pipe exists, which the default canvas needs.
        var hasPipe = false
        /// What is shown on now.
        var current: Canvas?
    }

    private let sessionGraph: SessionGraph
    private let pad: String
    private let defaultText: String?
    private let state = Mutex(State())

    /// Makes the canvas of a session's pad. While the pad's pipe exists and no other canvas is set, the frames are shown on
    /// `defaultText`.
    init(_ sessionGraph: SessionGraph, _ pad: String, default defaultText: String?) {
        self.sessionGraph = sessionGraph
        self.pad = pad
        self.defaultText = defaultText
    }

    /// The queue lets the sink wait for a frame's time without holding up the pad's other reader. It is limited by time
    /// alone: the number of frames that a sink holds back depends on the graph's latency.
    private static let queue = "queue max-size-buffers=0 max-size-bytes=0 max-size-time=1000000000"

    private static func make(_ text: String) throws(MediaGraphError) -> Canvas {
        let element: Element
        do throws(GLibError) { element = try Element(parsing: "\(queue) ! \(text)") } catch {
            throw .invalidParameter(.init("the canvas \"\(text)\"", actual: error.message))
        }
        guard element.staticPad("src") == nil else {
            throw .invalidParameter(
                .init("the canvas \"\(text)\"", actual: "ends without a sink; add one, such as autovideosink"))
        }
        // A canvas that fails is removed a moment later, and the stream must go on meanwhile.
        element.staticPad("sink")?.dropRefusedBuffers()
        // The pipeline doesn't wait for a sink's first frame, which may never come.
        element.configure("async-handling", to: true)
        return Canvas(text: text, element: element)
    }

    /// The canvas that is set; `nil` if none is.
    var chosen: String? { state.withLock { $0.chosen } }

    /// Sets the canvas, or goes back to the default one with `nil`. Throws `invalidParameter` if the description is invalid
    /// or has no sink.
    func set(_ text: String?) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            let wanted = text ?? (state.hasPipe ? defaultText : nil)
            let new = try wanted.map { text throws(MediaGraphError) in try Self.make(text) }
            state.chosen = text
            show(on: new, &state)
        }
    }

    /// Throws what `set` throws if the default canvas is invalid, before the pipe is made.
    func checkDefault() throws(MediaGraphError) { if let defaultText { _ = try Self.make(defaultText) } }

    /// Shows the frames on the default canvas while the pipe exists, unless another canvas is set.
    func setPipeExists(_ exists: Bool) {
        state.withLock { state in
            state.hasPipe = exists
            guard state.chosen == nil else { return }
            // The default canvas has been checked.
            show(on: exists ? defaultText.flatMap { try? Self.make($0) } : nil, &state)
        }
    }

    /// Removes the canvas if `element`, which has failed, is part of it. Returns whether it is.
    func forget(ifItContains element: Element) -> Bool {
        state.withLock { state in
            guard let current = state.current?.element,
                sequence(first: element, next: \.parent).contains(where: { $0 == current })
            else { return false }
            state.chosen = nil
            show(on: nil, &state)
            return true
        }
    }

    /// Replaces the canvas. The elements are added and removed later, in the order of these calls, because the lock is held
    /// meanwhile.
    private func show(on new: Canvas?, _ state: inout State) {
        if let old = state.current { sessionGraph.removeLater(old.element, behind: pad) }
        if let new { sessionGraph.addLater(new.element, behind: pad) }
        state.current = new
    }

    /// The canvas as part of a description; `nil` if there is none.
    var text: String? { state.withLock { $0.current }.map { "\(Self.queue) ! \($0.text)" } }
}
