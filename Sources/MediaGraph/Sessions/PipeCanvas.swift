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
        /// The bins of earlier canvases that are still to be removed, and whether a thread has taken on to take each out of
        /// the pipeline.
        var retired: [(bin: Element, isDetached: Bool)] = []

        /// Returns whether the caller has to take the bin out of the pipeline.
        mutating func detach(_ bin: Element) -> Bool {
            guard let index = retired.firstIndex(where: { $0.bin == bin }), !retired[index].isDetached else {
                return false
            }
            retired[index].isDetached = true
            return true
        }
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
    /// alone, and by the graph's latency in addition, for which a sink holds frames back.
    private static let queue = "queue leaky=downstream max-size-buffers=0 max-size-bytes=0 max-size-time=1000000000"
    private static let slack = Duration.seconds(1)

    /// Throws `invalidParameter` if the description is invalid or has no sink.
    static func validate(_ text: String) throws(MediaGraphError) { _ = try makeBin(text) }

    /// Returns a bin that shows what its pad `sink` gets.
    private static func makeBin(_ text: String) throws(MediaGraphError) -> Element {
        let factories = Description(text).resolved().factories
        let element: Element
        do throws(GLibError) {
            element = try ScreenTurn.make(factories, within: ScreenTurn.graphTimeLimit) { () throws(GLibError) in
                try Element(parsing: "\(queue) name=canvas_inlet ! \(text)", inlet: "canvas_inlet")
            }
        } catch {
            throw .invalidParameter(.init("the canvas \"\(text)\"", actual: error.message))
        }
        guard element.isSink else {
            throw .invalidParameter(
                .init("the canvas \"\(text)\"", actual: "ends without a sink; add one, such as autovideosink"))
        }
        return element
    }

    private func make(_ text: String) throws(MediaGraphError) -> Canvas {
        let element = try Self.makeBin(text)
        guard let sink = element.staticPad("sink"), let queue = sink.innermost.parent else {
            throw .internalError(.init("the canvas \"\(text)\"", actual: "has no input"))
        }
        let queueReference = WeakElement(ElementInstance(UnsafeMutableRawPointer(queue.element)))
        sink.onLatency { latency in
            queueReference.element?.configure("max-size-time", to: (latency + Self.slack).nanoseconds)
        }
        let owner = WeakElement(ElementInstance(UnsafeMutableRawPointer(element.element)))
        sink.isolateUpstream { [pad] caps in
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
        let wanted = text ?? (state.withLock { $0.hasPipe } ? defaultText : nil)
        let new = try wanted.map { text throws(MediaGraphError) in try make(text) }
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
        let (isPart, failed) = state.withLock { state -> (Bool, Element?) in
            if state.retired.contains(where: { parts.contains($0.bin) }) { return (true, nil) }
            guard let current = state.current?.element, parts.contains(current) else { return (false, nil) }
            state.chosen = nil
            show(on: nil, &state)
            return (true, state.detach(current) ? current : nil)
        }
        // At once: a pipeline that is starting fails with each of its elements that fails.
        if let failed, failed.parent != nil { sessionGraph.graph.pipeline.remove(failed) }
        return isPart
    }

    /// Replaces the canvas. The elements are added and removed later. The lock, which the caller holds, keeps these changes
    /// in the order of the calls.
    private func show(on new: Canvas?, _ state: inout State) {
        if let old = state.current?.element {
            state.retired.append((old, false))
            sessionGraph.enqueue { [self] sessionGraph in
                sessionGraph.unlink(pad, from: old)
                sessionGraph.stop(old)
                let isInPipeline = self.state.withLock { $0.detach(old) }
                if isInPipeline, old.parent != nil { sessionGraph.graph.pipeline.remove(old) }
                self.state.withLock { $0.retired.removeAll { $0.bin == old } }
            }
        }
        if let new { sessionGraph.addLater(new.element, behind: pad) }
        state.current = new
    }

    /// The canvas as part of a description; `nil` if there is none.
    var text: String? { state.withLock { $0.current }.map { "\(Self.queue) ! \($0.text)" } }
}
