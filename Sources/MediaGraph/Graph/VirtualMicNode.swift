import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `virtualmic` of a graph.
public struct VirtualMicNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Gives the node its microphone, before the graph is started. The node holds it. With the node's `sink` linked it takes
    /// the device's place.
    public func attach(_ microphone: some VirtualMic) throws(MediaGraphError) {
        try NodeVTable.attach(microphone, to: element)
    }

    /// Gives the node an editor of what comes in at its `sink`, before the graph is started.
    public func attach<P: AudioProcessor>(_ processor: consuming sending P) throws(MediaGraphError) {
        try NodeVTable.attach(MGAudioProcessor(processor, name: typeName(P.self)), to: element)
    }

    /// The same with a closure, which edits each block in place on the device's streaming thread.
    public func process(_ body: @escaping @Sendable (inout AudioFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(ClosureAudioProcessor(body: body))
    }

    /// Takes the processor away that was attached, while the graph doesn't run.
    public func detachProcessor() throws(MediaGraphError) {
        try NodeVTable.detach(MGAudioProcessor.self, from: element)
    }

    /// Takes the microphone away that was attached, while the graph doesn't run.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGAudioSource.self, from: element) }
}

extension Graph {
    /// The `virtualmic` of that name. Throws `noSuchNode` or `wrongKind`.
    public func virtualMic(_ name: String) throws(GraphError) -> VirtualMicNode {
        VirtualMicNode(graph: self, element: try node(name, "virtualmic"))
    }
}

private struct ClosureAudioProcessor: AudioProcessor {
    let body: @Sendable (inout AudioFrame) throws -> Verdict
    func process(_ frame: inout AudioFrame) throws -> Verdict { try body(&frame) }
}
