import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `virtualmic` of a graph.
public struct VirtualMicNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Attaches the node's microphone. Call this before the graph is started. The node keeps a strong reference to it.
    /// If the node's `sink` is linked, the microphone replaces the audio that arrives there.
    public func attach(_ microphone: some VirtualMic) throws(MediaGraphError) {
        try NodeVTable.attach(microphone, to: element)
    }

    /// Attaches an editor of the audio that arrives at the node's `sink`. Call this before the graph is started.
    public func attach<P: AudioProcessor>(_ processor: consuming sending P) throws(MediaGraphError) {
        try NodeVTable.attach(MGAudioProcessor(processor, name: typeName(P.self)), to: element)
    }

    /// Attaches a closure that edits each block of that audio in place, on the device's streaming thread. Call this
    /// before the graph is started.
    public func process(_ body: @escaping @Sendable (inout AudioFrame) throws -> Verdict) throws(MediaGraphError) {
        try attach(ClosureAudioProcessor(body: body))
    }

    /// Removes the attached editor. Call this while the graph isn't running.
    public func detachProcessor() throws(MediaGraphError) {
        try NodeVTable.detach(MGAudioProcessor.self, from: element)
    }

    /// Removes the attached microphone. Call this while the graph isn't running.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGAudioSource.self, from: element) }
}

extension Graph {
    /// Returns the `virtualmic` of that name. Throws `noSuchNode` or `wrongKind`.
    public func virtualMic(_ name: String) throws(GraphError) -> VirtualMicNode {
        VirtualMicNode(graph: self, element: try node(name, "virtualmic"))
    }
}

private struct ClosureAudioProcessor: AudioProcessor {
    let body: @Sendable (inout AudioFrame) throws -> Verdict
    func process(_ frame: inout AudioFrame) throws -> Verdict { try body(&frame) }
}
