import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphDevices
import Synchronization

/// The elements that show the video at one of a session's pads (ZEGO's `ZegoCanvas`).
///
/// Whatever happens to them stays theirs: they get what they are too slow for, can't show or fail at, but the pad's other
/// reader, the session and the start of the graph don't.
final class PipeCanvas: Sendable {
    /// A canvas that has been made.
    struct Canvas: Sendable {
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
        /// The canvas that shows the frames now.
        var current: Canvas?
        /// The bins of earlier canvases that are still to be removed.
        var retired: [Element] = []
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
    private static let queue = "queue leaky=downstream max-size-buffers=0 max-size-bytes=0 max-size-time=1000000000"

    private func make(_ text: String) throws(MediaGraphError) -> Canvas {
        let factories = Description(text).resolved().factories
        let element: Element
        do throws(GLibError) {
            element = try ScreenTurn.make(factories, within: ScreenTurn.graphTimeLimit) { () throws(GLibError) in
                try Element(parsing: "\(Self.queue) ! \(text)")
            }
        } catch {
            throw .invalidParameter(.init("the canvas \"\(text)\"", actual: error.message))
        }
        guard element.staticPad("src") == nil else {
            throw .invalidParameter(
                .init("the canvas \"\(text)\"", actual: "ends without a sink; add one, such as autovideosink"))
        }
        let owner = WeakElement(ElementInstance(UnsafeMutableRawPointer(element.element)))
        element.staticPad("sink")?.isolateUpstream { [pad] caps in
            owner.postError(
                .notNegotiated,
                "the canvas \"\(text)\" can't show \(pad): put videoconvert before its sink (\(caps) isn't accepted)")
        }
        // The pipeline doesn't wait for a sink's first frame, which may never come.
        element.configure("async-handling", to: true)
        return Canvas(text: text, element: element)
    }

    /// The canvas that is set; `nil` if none is.
    var chosen: String? { state.withLock { $0.chosen } }

    /// Sets the canvas, or goes back to the default one with `nil`. Throws `invalidParameter` if the description is invalid
    /// or has no sink.
    func set(_ text: String?) throws(MediaGraphError) {
        let new = try (text ?? defaultText).map { text throws(MediaGraphError) in try make(text) }
        state.withLock { state in
            state.chosen = text
            show(on: text == nil && !state.hasPipe ? nil : new, &state)
        }
    }

    /// Makes the default canvas, for a pipe that is about to exist; `nil` if there is none. Throws `invalidParameter` if its
    /// description is invalid.
    func makeDefault() throws(MediaGraphError) -> Canvas? {
        try defaultText.map { text throws(MediaGraphError) in try make(text) }
    }

    /// Shows the frames on the default canvas while the pipe exists, unless another canvas is set.
    func pipeExists(_ exists: Bool, _ defaultCanvas: Canvas? = nil) {
        state.withLock { state in
            state.hasPipe = exists
            if state.chosen == nil { show(on: defaultCanvas, &state) }
        }
    }

    /// Removes the canvas if `element`, which has failed, is part of it. Returns whether it is part of this or an earlier
    /// canvas.
    func forget(ifItContains element: Element) -> Bool {
        let parts = Array(sequence(first: element, next: \.parent))
        return state.withLock { state in
            if state.retired.contains(where: parts.contains) { return true }
            guard let current = state.current?.element, parts.contains(current) else { return false }
            state.chosen = nil
            show(on: nil, &state)
            // At once: a pipeline that is starting fails with each of its elements that fails.
            detach(current)
            return true
        }
    }

    /// Replaces the canvas. The elements are added and removed later. The lock, which the caller holds, keeps these changes
    /// in the order of the calls.
    private func show(on new: Canvas?, _ state: inout State) {
        if let old = state.current?.element {
            state.retired.append(old)
            sessionGraph.enqueue { [self] sessionGraph in
                sessionGraph.unlink(pad, from: old)
                sessionGraph.stop(old)
                self.state.withLock { state in
                    detach(old)
                    state.retired.removeAll { $0 == old }
                }
            }
        }
        if let new { sessionGraph.addLater(new.element, behind: pad) }
        state.current = new
    }

    /// Takes a bin out of the pipeline, unless it isn't in it. Called with the lock held.
    private func detach(_ element: Element) {
        if element.parent != nil { sessionGraph.graph.pipeline.remove(element) }
    }

    /// The canvas as part of a description; `nil` if there is none.
    var text: String? { state.withLock { $0.current }.map { "\(Self.queue) ! \($0.text)" } }
}
