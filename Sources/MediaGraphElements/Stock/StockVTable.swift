import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The vtable of a stock element that was looked up as a node. The node is a separate object, to which a second qdata entry
/// of the element points.
enum StockVTable {
    private static let quark = g_quark_from_string("mediagraph-stock-node")

    /// `node` must call `close` before it goes.
    static func open(_ vtable: VTableConstant, to node: AnyObject, on element: Element) {
        g_object_set_qdata(object(element.raw), quark, Unmanaged.passUnretained(node).toOpaque())
        NodeVTable.install(vtable.pointer, on: ElementInstance(element.raw))
    }

    static func close(on element: Element) {
        NodeVTable.remove(from: ElementInstance(element.raw))
        g_object_set_qdata(object(element.raw), quark, nil)
    }

    /// Runs `body` with the node, for a function of its vtable. Answers 1, or 0 with the error stored.
    static func answer<Node: AnyObject>(
        _ element: UnsafeMutablePointer<GstElement>?, _ error: UnsafeMutablePointer<MGError>?, as: Node.Type,
        _ body: (Node) throws(MediaGraphError) -> Void
    ) -> Int32 {
        do throws(MediaGraphError) {
            guard let node = g_object_get_qdata(object(element!), quark) else {
                throw .uninitialized(.init("the node"))
            }
            try body(Unmanaged<Node>.fromOpaque(node).takeUnretainedValue())
            return 1
        } catch let refused {
            refused.store(in: error)
            return 0
        }
    }

    private static func object(_ raw: UnsafeMutableRawPointer) -> UnsafeMutablePointer<GObject> {
        raw.assumingMemoryBound(to: GObject.self)
    }
}
