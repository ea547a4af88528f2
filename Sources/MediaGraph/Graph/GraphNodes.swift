import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A handle on one node of a graph. It keeps the graph alive.
public protocol GraphNode: Sendable {
    /// The graph that the node belongs to.
    var graph: Graph { get }
    /// The node's element.
    var element: Element { get }
    /// The node's counters since it left READY.
    var statistics: NodeCounts { get }
}

extension GraphNode {
    /// The element's name in its graph.
    public var name: String { element.name }

    /// The node's counters since it left READY.
    public var statistics: NodeCounts { NodeCounts(element) ?? NodeCounts() }

    /// Sets a property of the node.
    ///
    /// Throws if the node refuses the value, because it is out of range or the property can't change while the graph
    /// runs.
    public func set<T: ValueConvertible>(_ property: String, to value: T) throws(PropertyError) {
        try element.setProperty(property, to: value)
    }

    /// Sets a property from text, as a description does. Throws as the other `set` does, and if the text can't be
    /// parsed.
    public func set(_ property: String, parsing text: String) throws(PropertyError) {
        try element.setProperty(property, parsing: text)
    }
}

/// A node's counters at one moment.
public struct NodeCounts: Sendable, Hashable {
    /// Frames that passed through the node or were delivered.
    public var frames: UInt64 = 0
    /// Frames dropped because a queue was full or a handler's verdict was to drop them.
    public var dropped: UInt64 = 0
    /// Frames that were refused, of which the sender was told.
    public var refused: UInt64 = 0
    /// Frames for which the handler failed while `on-error` let the graph continue.
    public var failed: UInt64 = 0
    /// Frames for which the handler took longer than `max-time`.
    public var late: UInt64 = 0
    /// Total time spent in the handler.
    public var handlerTime: Duration = .zero
    /// How long after its running time the last frame was delivered; negative if it was delivered early.
    public var lateness: Duration = .zero
    /// Silence that a microphone node sent because its source's audio was missing, or late by the source's clock
    /// (`drift=skew`).
    public var silence: Duration = .zero
    /// Audio that a microphone node left out because its source's clock ran ahead (`drift=skew`).
    public var skipped: Duration = .zero
    /// Frames or blocks that weren't sent because the session's user had turned the camera or the microphone off.
    public var muted: UInt64 = 0

    /// Samples per channel that arrived too late for a speaker's live mix. They are missing from the mix, but are
    /// delivered in the user's one-way stream.
    public var lateSamples: UInt64 = 0

    init() {}

    /// All counters at zero.
    public static let none = NodeCounts()

    /// Reads the counters of an element; `nil` if the element isn't one of MediaGraph's nodes with a `stats` property.
    public init?(_ element: Element) {
        guard let stats = try? element.property("stats", as: Structure.self), stats.name == NodeStatistics.name else {
            return nil
        }
        self.init(stats)
    }

    init(_ stats: Structure) {
        frames = stats["frames"] ?? 0
        dropped = stats["dropped"] ?? 0
        refused = stats["refused"] ?? 0
        failed = stats["failed"] ?? 0
        late = stats["late"] ?? 0
        func time(_ field: String) -> Duration { .nanoseconds(stats[field] ?? UInt64(0)) }
        handlerTime = time("handler-time")
        lateness = .nanoseconds(stats["lateness"] ?? Int64(0))
        silence = time("silence")
        skipped = time("skipped")
        muted = stats["muted"] ?? 0
        lateSamples = stats["late-samples"] ?? 0
    }
}

/// A `videosource` of a graph, or a stock `appsrc` used as one.
public struct VideoSourceNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element
    var stock: StockSource? = nil

    /// The node's counters since it left READY.
    public var statistics: NodeCounts {
        stock.map { NodeCounts($0.statistics) } ?? NodeCounts(element) ?? .none
    }

    /// Attaches the node's source. Call this before the graph is started. The node keeps a strong reference to it.
    public func attach(_ source: some VideoSource) throws(MediaGraphError) {
        try NodeVTable.attach(source, to: element)
    }

    /// Removes the node's source, whether it was attached or named by `handler=`. The properties `handler` and
    /// `options` are empty afterwards. Call this while the graph isn't running.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoSource.self, from: element) }
}

/// A `preprocessor` of a graph.
public struct PreprocessorNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Attaches the node's handler, at any time.
    ///
    /// While the graph runs, the new handler replaces the old one between two frames. It stays attached for later runs.
    /// It also replaces a handler named by `handler=`; the properties `handler` and `options` are empty afterwards.
    ///
    /// If the new handler needs a format other than the current one, the old handler processes frames until upstream
    /// and downstream have agreed on that format. Throws `unsupported`, and keeps the old handler, if they can't agree.
    public func attach(_ processor: consuming sending some VideoProcessor) throws(MediaGraphError) {
        try NodeVTable.attach(processor, to: element)
    }

    /// Removes the node's handler, whether it was attached or named by `handler=`. From the next frame on, frames pass
    /// unchanged, in later runs too. The properties `handler` and `options` are empty afterwards.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoProcessor.self, from: element) }

    /// Attaches a closure as the node's handler. It edits each frame in place, on the streaming thread.
    public func process(_ body: @escaping @Sendable (inout VideoFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(ClosureProcessor(body: body))
    }
}

private struct ClosureProcessor: VideoProcessor {
    let body: @Sendable (inout VideoFrame) throws -> Verdict
    func process(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
}

/// A `rawdatapipe` of a graph, or a stock `appsink` used as one.
public struct RawDataPipeNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element
    var stock: StockPipe? = nil

    /// The node's counters since it left READY.
    public var statistics: NodeCounts {
        stock.map { NodeCounts($0.statistics) } ?? NodeCounts(element) ?? .none
    }

    /// Attaches the pipe's handler. Call this before the graph is started.
    public func attach(_ consumer: consuming sending some VideoConsumer) throws(MediaGraphError) {
        try NodeVTable.attach(consumer, to: element)
    }

    /// Removes the pipe's handler, whether it was attached or named by `handler=`. The properties `handler` and
    /// `options` are empty afterwards. Delegates stay subscribed. Call this while the graph isn't running.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoConsumer.self, from: element) }

    /// Attaches a closure that borrows each frame. The pipe's `backpressure` decides on which thread it is called. Call
    /// this before the graph is started.
    public func receive(_ body: @escaping @Sendable (borrowing VideoFrame) throws -> Void) throws(MediaGraphError) {
        try NodeVTable.attach(ClosureConsumer(body: body), to: element)
    }

    /// Attaches a closure that borrows each frame in the memory in which it arrived. The pipe must have
    /// `buffer-type=native`. Call this before the graph is started.
    public func receiveNative(
        _ body: @escaping @Sendable (borrowing NativeVideoFrame) throws -> Void
    ) throws(MediaGraphError) {
        try checkBufferType(.native)
        try attach(NativeConsumer(body: body))
    }

    /// Attaches a closure that borrows each access unit. The pipe must have `buffer-type=encoded`. Call this before the
    /// graph is started.
    public func receiveEncoded(
        _ body: @escaping @Sendable (borrowing EncodedVideoFrame) throws -> Void
    ) throws(MediaGraphError) {
        try checkBufferType(.encoded)
        try attach(EncodedConsumer(body: body))
    }

    private func checkBufferType(_ type: BufferType) throws(MediaGraphError) {
        guard stock != nil else { return }
        throw .unsupported(
            .init(name, actual: "is an appsink; \(type.nick) frames need a rawdatapipe with buffer-type=\(type.nick)"))
    }

    /// Sends the pipe's frames to `delegate`, from the next frame on, scaled down to the height of `resolution` if they
    /// are higher. Call this before the graph is started or while it runs.
    ///
    /// A pipe may have many delegates, each with its own resolution and format, and a delegate may subscribe to many
    /// pipes. The pipe keeps only a weak reference. If a session scales the frames before the pipe and the resolution
    /// grows, frames already on their way still have the smaller size.
    ///
    /// Throws `alreadyInUse` if the delegate is already subscribed to this pipe (``SessionPipe/subscribe(_:resolution:format:)``
    /// changes the resolution instead), `invalidParameter` if the pipe's
    /// `buffer-type` doesn't allow this resolution or format, and `unsupported` if the frames can't be delivered in
    /// this format.
    ///
    /// - Parameters:
    ///   - resolution: The greatest height of the frames; with `buffer-type=native` and `encoded`, it must be `native`.
    ///   - format: The format of the frames; `auto` is the pipe's format. With `buffer-type=encoded`, it must be `auto`.
    public func subscribe(
        _ delegate: some RawDataDelegate, resolution: Resolution, format: PipeFormat = .auto
    ) throws(MediaGraphError) {
        try NodeVTable.subscribe(delegate, PipeIdentity(name: name), resolution, format, to: element)
    }

    /// Stops delivery to `delegate`. When this returns, no callback is running and none will follow.
    ///
    /// Waits for a running callback to return. Throws `wrongUsage` if the delegate isn't subscribed.
    public func unsubscribe(_ delegate: some RawDataDelegate) async throws(MediaGraphError) {
        let element = element
        try await runBlocking { () throws(MediaGraphError) in try NodeVTable.unsubscribe(delegate, from: element) }
    }

    /// Stops delivery to `delegate`. When this returns, no callback is running and none will follow.
    ///
    /// Blocks until a running callback has returned, unless it is called from inside a callback of this delegate. Don't
    /// hold a lock that the callback takes. Throws `wrongUsage` if the delegate isn't subscribed.
    @available(*, noasync, message: "blocks while a callback runs; write `await` for the asynchronous form")
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try NodeVTable.unsubscribe(delegate, from: element)
    }

    /// The pipe's frames as an asynchronous sequence. The frames are owned: they may be kept and sent to other tasks.
    /// Throws `invalidParameter` if the pipe has `memory-mode=stack`, `unsupported` with a `buffer-type` other than
    /// `raw`, and `alreadyInUse` if the pipe has a handler.
    ///
    /// A pipe has one sequence, which one task reads. The sequence queues up to the pipe's `max-frames`. When the queue
    /// is full, a live stream drops its oldest frames and counts them in `statistics.dropped`; any other stream waits.
    /// The sequence ends with the graph, and throws the graph's error.
    ///
    /// The sequence also ends when the task that reads it is cancelled or its last reference is released. The graph
    /// then continues and counts the pipe's frames as dropped. To read again, stop the graph, call ``detach()``, and
    /// get `frames` again.
    public var frames: FrameSequence<OwnedVideoFrame> {
        get throws(MediaGraphError) {
            let channel = FrameChannel<OwnedVideoFrame>()
            try NodeVTable.attach(MGVideoConsumer(channel), to: element)
            graph.streams.add(channel)
            return FrameSequence(channel, graph: graph)
        }
    }
}

private struct ClosureConsumer: VideoConsumer {
    let body: @Sendable (borrowing VideoFrame) throws -> Void
    func receive(_ frame: borrowing VideoFrame) throws { try body(frame) }
}

private struct NativeConsumer: VideoConsumer {
    let body: @Sendable (borrowing NativeVideoFrame) throws -> Void
    func receive(_ frame: borrowing NativeVideoFrame) throws { try body(frame) }
}

private struct EncodedConsumer: VideoConsumer {
    let body: @Sendable (borrowing EncodedVideoFrame) throws -> Void
    func receive(_ frame: borrowing EncodedVideoFrame) throws { try body(frame) }
}

extension Graph {
    /// Returns the `videosource` or stock `appsrc` of that name.
    ///
    /// An `appsrc` keeps the properties that the description sets, except `format`, which becomes `time`, and
    /// `min-percent`, which becomes 0. With `is-live=true` it paces frames live; otherwise it sends them as fast as
    /// possible, and ``start()`` returns after the source's first frame. Its `leaky-type`, `block` and `max-buffers`
    /// take the place of `backpressure` and `max-frames` of a `videosource`. Its `caps` limit which formats may be
    /// sent. It doesn't emit its signals.
    ///
    /// Throws `noSuchNode` or `wrongKind`, and `wrongUsage` for an `appsrc` that is first looked up while the graph
    /// runs, whose `caps` aren't fixed, or whose `stream-type` says that it can seek.
    public func videoSource(_ name: String) throws(GraphError) -> VideoSourceNode {
        let element = try element(name)
        guard StockNodes.isSource(element) else {
            return VideoSourceNode(graph: self, element: try node(name, "videosource"))
        }
        return VideoSourceNode(
            graph: self, element: element,
            stock: try stockNode { () throws(StockNodeError) in try stock.source(element) })
    }

    /// Returns the `preprocessor` of that name. Throws `noSuchNode` or `wrongKind`.
    public func preprocessor(_ name: String) throws(GraphError) -> PreprocessorNode {
        PreprocessorNode(graph: self, element: try node(name, "preprocessor"))
    }

    /// Returns the `rawdatapipe` or stock `appsink` of that name.
    ///
    /// An `appsink` keeps the properties that the description sets, `sync` among them. Frames have the stream's own
    /// format; formats that MediaGraph doesn't support are converted to I420. Only a delegate's subscription can ask
    /// for another resolution or format. The queue holds `max-buffers` frames, or 2 if that isn't set. With `drop=true`
    /// a full queue drops old frames, with only `max-buffers` set it blocks, and with neither it behaves as a
    /// `rawdatapipe` with `backpressure=auto`. The `appsink` doesn't emit its signals.
    ///
    /// Throws `noSuchNode` or `wrongKind`, and `wrongUsage` for an `appsink` that is first looked up while the graph
    /// runs.
    public func rawDataPipe(_ name: String) throws(GraphError) -> RawDataPipeNode {
        let element = try element(name)
        guard StockNodes.isPipe(element) else {
            return RawDataPipeNode(graph: self, element: try node(name, "rawdatapipe"))
        }
        return RawDataPipeNode(
            graph: self, element: element, stock: try stockNode { () throws(StockNodeError) in try stock.pipe(element) }
        )
    }

    /// Returns the `frameobserver` of that name. Throws `noSuchNode` or `wrongKind`.
    public func frameObserver(_ name: String) throws(GraphError) -> FrameObserverNode {
        FrameObserverNode(graph: self, element: try node(name, "frameobserver"))
    }

    /// Returns the element of that name, whether it is a node or a stock element. Throws `noSuchNode`.
    public func element(_ name: String) throws(GraphError) -> Element {
        guard let element = pipeline.element(named: name) else {
            throw .noSuchNode(name: name, known: pipeline.elements.map(\.name).sorted())
        }
        return element
    }

    private func stockNode<Node>(_ look: () throws(StockNodeError) -> Node) throws(GraphError) -> Node {
        do throws(StockNodeError) { return try look() } catch {
            switch error {
            case .wrongKind(let name, let expected, let actual):
                throw .wrongKind(name: name, expected: expected, actual: actual)
            case .wrongUsage(let text): throw .wrongUsage(text)
            }
        }
    }

    func node(_ name: String, _ factory: String) throws(GraphError) -> Element {
        let element = try element(name)
        guard element.factoryName == factory else {
            throw .wrongKind(name: name, expected: factory, actual: element.factoryName ?? element.typeName)
        }
        return element
    }

    /// The counters of all nodes, without stock elements, sources first.
    public var nodes: [(name: String, factory: String, counts: NodeCounts)] {
        pipeline.allElements.compactMap { element in
            guard let factory = element.factoryName, Nodes.factoryNames.contains(factory),
                let counts = NodeCounts(element)
            else { return nil }
            return (element.name, factory, counts)
        }
    }
}
