import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `virtualspeaker` of a graph.
///
/// Between its `src` and a device belongs a `queue`: GStreamer's audio sinks wait for the time of a silent block before they
/// take the next, and a mix that waits with them hears its users too late.
public struct VirtualSpeakerNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Gives the node its handler, before the graph is started.
    public func attach(_ speaker: consuming sending some VirtualSpeaker) throws(MediaGraphError) {
        try NodeVTable.attach(consumer(speaker), to: element)
    }

    private func consumer<S: VirtualSpeaker>(_ speaker: consuming sending S) -> MGAudioConsumer {
        MGAudioConsumer(speaker, name: typeName(S.self))
    }

    /// Takes the handler away that was attached, while the graph doesn't run.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGAudioConsumer.self, from: element) }

    /// Gives the node a closure that borrows each block of each stream (`memory-mode=stack`).
    public func receive(
        _ body: @escaping @Sendable (borrowing AudioFrame, SpeakerStream) throws -> Void
    ) throws(MediaGraphError) {
        try NodeVTable.attach(
            MGAudioConsumer(ClosureSpeaker(body: body), name: "closure", memoryMode: .stack), to: element)
    }

    /// Gives the node an editor of the mix, at any time: it takes the place of the old one between two blocks. What it makes
    /// of the mix is what the handler gets and what leaves `src`; the one-way streams are as they were.
    ///
    /// It isn't the handler's own business, since a handler may be late, on a thread of its own, and what plays can't wait.
    public func attach(editor: consuming sending some AudioProcessor) throws(MediaGraphError) {
        try NodeVTable.attach(processor(editor), to: element)
    }

    private func processor<P: AudioProcessor>(_ editor: consuming sending P) -> MGAudioProcessor {
        MGAudioProcessor(editor, name: typeName(P.self))
    }

    /// Leaves the mix as it is, from the next block on.
    public func detachEditor() throws(MediaGraphError) { try NodeVTable.detach(MGAudioProcessor.self, from: element) }

    /// Gives the node a closure that edits each block of the mix in place, on the mix's streaming thread.
    public func edit(_ body: @escaping @Sendable (inout AudioFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(editor: ClosureEditor(body: body))
    }

    /// All streams' blocks as they come, owned (`memory-mode=heap`): each may be kept and sent to other tasks. One sequence a
    /// node, read by one task. It holds up to the node's `max-frames`; then a live graph loses its oldest blocks, counted in
    /// `statistics.dropped`, and any other waits. It throws the graph's error, and ends when the graph does.
    public var audio: FrameSequence<SpeakerAudio> {
        get throws(MediaGraphError) {
            let channel = FrameChannel<SpeakerAudio>()
            try NodeVTable.attach(MGAudioConsumer(channel), to: element)
            graph.streams.add(channel)
            return FrameSequence(channel, graph: graph)
        }
    }

    /// Samples that came too late for a live mix, of each channel, since the node left READY.
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
    /// A `virtualspeaker`.
    public func virtualSpeaker(_ name: String) throws(GraphError) -> VirtualSpeakerNode {
        VirtualSpeakerNode(graph: self, element: try node(name, "virtualspeaker"))
    }
}
