import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `virtualspeaker` of a graph.
///
/// Put a `queue` between its `src` pad and an audio sink. GStreamer's audio sinks wait until a silent block is due
/// before they accept the next one, and without a queue the mix waits with them and receives its users' audio too late.
public struct VirtualSpeakerNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Attaches the node's handler. Call this before the graph is started.
    public func attach(_ speaker: consuming sending some VirtualSpeaker) throws(MediaGraphError) {
        try NodeVTable.attach(consumer(speaker), to: element)
    }

    private func consumer<S: VirtualSpeaker>(_ speaker: consuming sending S) -> MGAudioConsumer {
        MGAudioConsumer(speaker, name: typeName(S.self))
    }

    /// Removes the node's handler. Call this while the graph isn't running.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGAudioConsumer.self, from: element) }

    /// Attaches a closure that borrows each block of each stream. Call this before the graph is started.
    public func receive(
        _ body: @escaping @Sendable (borrowing AudioFrame, SpeakerStream) throws -> Void
    ) throws(MediaGraphError) {
        try NodeVTable.attach(
            MGAudioConsumer(ClosureSpeaker(body: body), name: "closure"), to: element)
    }

    /// Attaches an editor of the mix, at any time. While the graph runs, it replaces the old editor between two blocks.
    ///
    /// The handler and the `src` pad get the edited mix; the one-way streams aren't edited. The editor is separate from
    /// the handler because a handler may run late on a thread of its own, and playback can't wait for it.
    public func attach(editor: consuming sending some AudioProcessor) throws(MediaGraphError) {
        try NodeVTable.attach(processor(editor), to: element)
    }

    private func processor<P: AudioProcessor>(_ editor: consuming sending P) -> MGAudioProcessor {
        MGAudioProcessor(editor, name: typeName(P.self))
    }

    /// Removes the editor. From the next block on, the mix isn't edited.
    public func detachEditor() throws(MediaGraphError) { try NodeVTable.detach(MGAudioProcessor.self, from: element) }

    /// Attaches a closure that edits each block of the mix in place, on the mix's streaming thread.
    public func edit(_ body: @escaping @Sendable (inout AudioFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(editor: ClosureEditor(body: body))
    }

    /// The blocks of all streams as an asynchronous sequence. The blocks are owned: they may be kept and sent to other
    /// tasks. Throws `invalidParameter` if the node has `memory-mode=stack`, and `alreadyInUse` if it has a handler.
    ///
    /// A node has one sequence, which one task reads. The sequence queues up to the node's `max-frames`. When the queue
    /// is full, a live graph drops its oldest blocks and counts them in `statistics.dropped`; any other graph waits.
    /// The sequence ends with the graph, and throws the graph's error.
    public var audio: FrameSequence<SpeakerAudio> {
        get throws(MediaGraphError) {
            let channel = FrameChannel<SpeakerAudio>()
            try NodeVTable.attach(MGAudioConsumer(channel), to: element)
            graph.streams.add(channel)
            return FrameSequence(channel, graph: graph)
        }
    }

    /// Samples per channel that arrived too late for a live mix, since the node left READY.
    public var lateSamples: UInt64 {
        (try? element.property("stats", as: Structure.self))?["late-samples"] ?? 0
    }
}

private struct ClosureSpeaker: VirtualSpeaker {
    let body: @Sendable (borrowing AudioFrame, SpeakerStream) throws -> Void

    func mixedAudioReceived(_ frame: borrowing AudioFrame) throws { try body(frame, .mixed) }
    func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws { try body(frame, .oneWay(user)) }
    func sharedAudioReceived(_ frame: borrowing AudioFrame) throws { try body(frame, .shared) }
}

private struct ClosureEditor: AudioProcessor {
    let body: @Sendable (inout AudioFrame) throws -> Verdict
    func process(_ frame: inout AudioFrame) throws -> Verdict { try body(&frame) }
}

extension Graph {
    /// Returns the `virtualspeaker` of that name. Throws `noSuchNode` or `wrongKind`.
    public func virtualSpeaker(_ name: String) throws(GraphError) -> VirtualSpeakerNode {
        VirtualSpeakerNode(graph: self, element: try node(name, "virtualspeaker"))
    }
}
