import GStreamer

/// A `virtualmic` of a graph.
public struct VirtualMicNode: GraphNode {
    public let graph: Graph
    public let element: Element

    /// Gives the node its microphone, before the graph is started. The node holds it. With the node's `sink` linked it takes
    /// the device's place.
    public func attach(_ microphone: some VirtualMic) throws(MediaGraphError) {
        try NodeDoor.attach(microphone, to: element)
    }

    /// Takes the microphone away that was attached, while the graph doesn't run.
    public func detach() throws(MediaGraphError) { try NodeDoor.detachMicrophone(from: element) }
}

extension Graph {
    public func virtualMic(_ name: String) throws(GraphError) -> VirtualMicNode {
        VirtualMicNode(graph: self, element: try node(name, "virtualmic"))
    }
}
