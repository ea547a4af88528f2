import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A `frameobserver` of a graph.
public struct FrameObserverNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Attaches the node's observer, at any time.
    ///
    /// While the graph runs, the new observer replaces the old one between two frames. It stays attached for later
    /// runs. It also replaces a handler named by `handler=`; the properties `handler` and `options` are empty
    /// afterwards. Throws `invalidParameter` unless the node's `mode` is `read-only`.
    public func attach<O: FrameObserver>(_ observer: consuming sending O) throws(MediaGraphError) {
        try NodeVTable.attach(MGFrameObserver(observer, name: typeName(O.self)), to: element)
    }

    /// Attaches an observer that edits frames, at any time, as the other `attach` does. Throws `invalidParameter`
    /// unless the node's `mode` is `read-write`.
    public func attach<E: FrameEditor>(_ editor: consuming sending E) throws(MediaGraphError) {
        try NodeVTable.attach(MGFrameObserver(editor, name: typeName(E.self)), to: element)
    }

    /// Removes the node's observer, whether it was attached or named by `handler=`. From the next frame on, frames pass
    /// unobserved, in later runs too. The properties `handler` and `options` are empty afterwards.
    public func detach() throws(MediaGraphError) { try NodeVTable.detach(MGFrameObserver.self, from: element) }

    /// Attaches a closure as the node's observer. It is called with each frame, on the streaming thread.
    public func observe(
        _ preference: FramePreference = FramePreference(),
        _ body: @escaping @Sendable (borrowing VideoFrame) throws -> Verdict
    ) throws(MediaGraphError) { try attach(ClosureObserver(preference: preference, body: body)) }

    /// Attaches a closure that edits each frame in place, on the streaming thread.
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
