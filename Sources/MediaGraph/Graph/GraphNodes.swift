import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A node of a graph as Swift sees it. It keeps its graph alive.
public protocol GraphNode: Sendable {
    var graph: Graph { get }
    var element: Element { get }
    /// What the node has counted since it left READY.
    var statistics: NodeCounts { get }
}

extension GraphNode {
    /// The element's name in its graph.
    public var name: String { element.name }

    /// What the node has counted since it left READY.
    public var statistics: NodeCounts { NodeCounts(element) ?? NodeCounts() }

    /// Sets a property; throws when the node refuses (locked while running, out of range).
    public func set<T: ValueConvertible>(_ property: String, to value: T) throws(PropertyError) {
        try element.setProperty(property, to: value)
    }

    /// Sets a property from text, as a description would.
    public func set(_ property: String, parsing text: String) throws(PropertyError) {
        try element.setProperty(property, parsing: text)
    }
}

/// A node's counters at one moment.
public struct NodeCounts: Sendable, Hashable {
    /// Frames that went through or were delivered.
    public var frames: UInt64 = 0
    /// Frames lost to a full queue or by verdict.
    public var dropped: UInt64 = 0
    /// Frames that a sender was told are refused.
    public var refused: UInt64 = 0
    /// Frames at which the handler failed, where `on-error` let the graph go on.
    public var failed: UInt64 = 0
    /// Frames for which the handler took longer than `max-time`.
    public var late: UInt64 = 0
    /// Time spent in the handler, in all.
    public var handlerTime: ClockTime = .zero
    /// How long after its running time the last frame was delivered, nanoseconds.
    public var lateness: Int64 = 0
    /// Silence that went out where a microphone's sound didn't come, or came late by its clock (`drift=skew`).
    public var silence: ClockTime = .zero
    /// Sound that a microphone left out because its source's clock ran ahead (`drift=skew`).
    public var skipped: ClockTime = .zero

    /// Samples, of each channel, that came too late for a speaker's live mix: lost to it, and heard one-way.
    public var lateSamples: UInt64 = 0

    init() {}

    /// Nothing counted yet.
    public static let none = NodeCounts()

    /// `nil` when the element has no `stats` of ours.
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
        handlerTime = ClockTime(nanoseconds: stats["handler-time"] ?? 0)
        lateness = stats["lateness"] ?? 0
        silence = ClockTime(nanoseconds: stats["silence"] ?? 0)
        skipped = ClockTime(nanoseconds: stats["skipped"] ?? 0)
        lateSamples = stats["late-samples"] ?? 0
    }
}

/// A `videosource` of a graph, or a stock `appsrc` that is used as one.
public struct VideoSourceNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element
    var stock: StockSource? = nil

    /// What the node has counted since it left READY.
    public var statistics: NodeCounts {
        stock.map { NodeCounts($0.statistics) } ?? NodeCounts(element) ?? .none
    }

    /// Gives the node its source, before the graph is started. The node holds it.
    public func attach(_ source: some VideoSource) throws(MediaGraphError) {
        try NodeVTable.attach(source, to: element)
    }

    /// Leaves the node without a source, while the graph doesn't run: the one that was attached, or that `handler=` names,
    /// goes, and `handler` and `options` read empty.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoSource.self, from: element) }
}

/// A `preprocessor` of a graph.
public struct PreprocessorNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Gives the node its handler, at any time: it takes the place of the old one between two frames, and stays for the next
    /// runs. The one that `handler=` names goes too: `handler` and `options` read empty from then on.
    ///
    /// Throws `unsupported`, and leaves the old one in place, when the graph runs and upstream and downstream can't agree on
    /// a format that the new one takes. When they can, but it isn't the one that flows, the old one goes on until they do.
    public func attach(_ processor: consuming sending some VideoProcessor) throws(MediaGraphError) {
        try NodeVTable.attach(processor, to: element)
    }

    /// Leaves the node without a handler, whether it was attached or `handler=` names it: from the next frame on it touches
    /// nothing, in the next run neither, and `handler` and `options` read empty.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoProcessor.self, from: element) }

    /// Gives the node a closure as its handler, which edits each frame in place on the streaming thread.
    public func process(_ body: @escaping @Sendable (inout VideoFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(ClosureProcessor(body: body))
    }
}

private struct ClosureProcessor: VideoProcessor {
    let body: @Sendable (inout VideoFrame) throws -> Verdict
    func process(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
}

/// A `rawdatapipe` of a graph, or a stock `appsink` that is used as one.
public struct RawDataPipeNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element
    var stock: StockPipe? = nil

    /// What the node has counted since it left READY.
    public var statistics: NodeCounts {
        stock.map { NodeCounts($0.statistics) } ?? NodeCounts(element) ?? .none
    }

    /// Gives the pipe its handler, before the graph is started.
    public func attach(_ consumer: consuming sending some VideoConsumer) throws(MediaGraphError) {
        try NodeVTable.attach(consumer, memoryMode: nil, to: element)
    }

    /// Leaves the pipe without a handler, while the graph doesn't run: the one that was attached, or that `handler=` names,
    /// goes, and `handler` and `options` read empty. Delegates stay.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGVideoConsumer.self, from: element) }

    /// Gives the pipe a closure that borrows each frame (`memory-mode=stack`). Its thread is `backpressure`'s to say.
    public func receive(_ body: @escaping @Sendable (borrowing VideoFrame) throws -> Void) throws(MediaGraphError) {
        try NodeVTable.attach(ClosureConsumer(body: body), memoryMode: .stack, to: element)
    }

    /// Gives a pipe with `buffer-type=native` a closure that borrows each frame in the memory that it came in.
    public func receiveNative(
        _ body: @escaping @Sendable (borrowing NativeVideoFrame) throws -> Void
    ) throws(MediaGraphError) {
        try checkBufferType(.native)
        try attach(NativeConsumer(body: body))
    }

    /// Gives a pipe with `buffer-type=encoded` a closure that borrows each access unit.
    public func receiveEncoded(
        _ body: @escaping @Sendable (borrowing EncodedVideoFrame) throws -> Void
    ) throws(MediaGraphError) {
        try checkBufferType(.encoded)
        try attach(EncodedConsumer(body: body))
    }

    private func checkBufferType(_ type: BufferType) throws(MediaGraphError) {
        guard stock != nil else { return }
        throw .unsupported(
            .init("\(name)'s frames", expected: "a rawdatapipe with buffer-type=\(type.nick)", actual: "an appsink"))
    }

    /// Sends the pipe's frames to `delegate`, at most `resolution` high, from the next one on; before the graph runs or while
    /// it does. A pipe may have many delegates, each with its own resolution, and a delegate many pipes. The pipe holds it
    /// weakly. Where a session scales for the pipe, frames that are under way when more is asked for are still smaller.
    ///
    /// Throws, and then no frame comes: `alreadyInUse` for a delegate that is subscribed to this pipe, `invalidParameter`
    /// where `memory-mode=heap` rules a borrowing delegate out.
    public func subscribe(_ delegate: some RawDataDelegate, resolution: Resolution) throws(MediaGraphError) {
        try NodeVTable.subscribe(delegate, PipeIdentity(name: name), resolution, to: element)
    }

    /// When it returns no callback is in flight and none will come. From inside a callback of this delegate it returns at
    /// once, and none follows. Don't hold a lock that the callback takes. Throws `wrongUsage` for a delegate that isn't
    /// subscribed.
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try NodeVTable.unsubscribe(delegate, from: element)
    }

    /// The pipe's frames, owned (`memory-mode=heap`): each may be kept and sent to other tasks. One sequence a pipe, read
    /// by one task. It holds up to the pipe's `max-frames`; then a live stream loses its oldest frames, counted in
    /// `statistics.dropped`, and any other waits. It throws the graph's error, and ends when the graph does.
    ///
    /// It also ends, for good, when the task that reads it is cancelled, or when nobody holds it any more: the graph goes on,
    /// and the pipe's frames are lost and counted. To read again, stop the graph, ``detach()``, and ask for `frames` anew.
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
    /// A `videosource`, or a stock `appsrc`: that keeps the properties of the description, but for `format`, which becomes
    /// `time`, and `min-percent`, which becomes 0. Its pace is live where `is-live=true`, and else fast: then it is the
    /// source's first frame that lets ``start()`` return. `leaky-type`, `block` and `max-buffers` are what `backpressure` and
    /// `max-frames` are of a `videosource`; `caps` limits what may be sent; signals aren't emitted.
    ///
    /// Throws `wrongUsage` for an appsrc that is first looked up while the graph runs, whose `caps` aren't fixed, or that says
    /// by its `stream-type` that it can seek.
    public func videoSource(_ name: String) throws(GraphError) -> VideoSourceNode {
        let element = try element(name)
        guard StockNodes.isSource(element) else {
            return VideoSourceNode(graph: self, element: try node(name, "videosource"))
        }
        return VideoSourceNode(
            graph: self, element: element,
            stock: try stockNode { () throws(StockNodeError) in try stock.source(element) })
    }

    /// The `preprocessor` of that name. Throws `noSuchNode` or `wrongKind`.
    public func preprocessor(_ name: String) throws(GraphError) -> PreprocessorNode {
        PreprocessorNode(graph: self, element: try node(name, "preprocessor"))
    }

    /// A `rawdatapipe`, or a stock `appsink`: that keeps the properties of the description. Frames come in the format that the
    /// stream has (what the nodes don't carry is made I420) and are scaled only for a delegate that asks for it. `sync` is
    /// the appsink's; `drop=true` drops old frames, `max-buffers` alone blocks, and neither is what `backpressure=auto` is of
    /// a `rawdatapipe`; the bound is `max-buffers`, or 2. Signals aren't emitted.
    ///
    /// Throws `wrongUsage` for an appsink that is first looked up while the graph runs.
    public func rawDataPipe(_ name: String) throws(GraphError) -> RawDataPipeNode {
        let element = try element(name)
        guard StockNodes.isPipe(element) else {
            return RawDataPipeNode(graph: self, element: try node(name, "rawdatapipe"))
        }
        return RawDataPipeNode(
            graph: self, element: element, stock: try stockNode { () throws(StockNodeError) in try stock.pipe(element) }
        )
    }

    /// The `frameobserver` of that name. Throws `noSuchNode` or `wrongKind`.
    public func frameObserver(_ name: String) throws(GraphError) -> FrameObserverNode {
        FrameObserverNode(graph: self, element: try node(name, "frameobserver"))
    }

    /// Any element by its name.
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

    /// The nodes (not stock elements) with their counters, sources first.
    public var nodes: [(name: String, factory: String, counts: NodeCounts)] {
        pipeline.allElements.compactMap { element in
            guard let factory = element.factoryName, Nodes.factoryNames.contains(factory),
                let counts = NodeCounts(element)
            else { return nil }
            return (element.name, factory, counts)
        }
    }
}
