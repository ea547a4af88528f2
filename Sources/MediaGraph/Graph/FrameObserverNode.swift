import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `frameobserver` of a graph.
public struct FrameObserverNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Gives the node its observer, at any time: it takes the place of the old one between two frames, and stays for the next
    /// runs; `handler` and `options` read empty from then on. The node's `mode` must be read-only, or `invalidParameter` is
    /// thrown.
    public func attach<O: FrameObserver>(_ observer: consuming sending O) throws(MediaGraphError) {
        try NodeVTable.attach(MGFrameObserver(observer, name: typeName(O.self)), to: element)
    }

    /// The same for an observer that edits; the node's `mode` must be read-write.
    public func attach<E: FrameEditor>(_ editor: consuming sending E) throws(MediaGraphError) {
        try NodeVTable.attach(MGFrameObserver(editor, name: typeName(E.self)), to: element)
    }

    /// Leaves the node without an observer, whether it was attached or `handler=` names it: from the next frame on all go by,
    /// in the next run too, and `handler` and `options` read empty.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGFrameObserver.self, from: element) }

    /// Shows each frame to a closure, on the streaming thread.
    public func observe(
        _ preference: FramePreference = FramePreference(),
        _ body: @escaping @Sendable (borrowing VideoFrame) throws -> Verdict
    ) throws(MediaGraphError) { try attach(ClosureObserver(preference: preference, body: body)) }

    /// Lets a closure edit each frame, on the streaming thread.
    public func edit(
        _ preference: FramePreference = FramePreference(),
        _ body: @escaping @Sendable (inout VideoFrame) throws -> Verdict
    ) throws(MediaGraphError) { try attach(ClosureEditor(preference: preference, body: body)) }
}

private struct ClosureObserver: FrameObserver {
    let preference: FramePreference
    let body: @Sendable (borrowing VideoFrame) throws -> Verdict
    func observe(_ frame: borrowing VideoFrame) throws -> Verdict { try body(frame) }
}

private struct ClosureEditor: FrameEditor {
    let preference: FramePreference
    let body: @Sendable (inout VideoFrame) throws -> Verdict
    func edit(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
}
