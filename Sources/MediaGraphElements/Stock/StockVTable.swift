import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The vtable of a stock element that was looked up as a node. The node is a separate Swift object; a second qdata
/// entry of the element points to it.
enum StockVTable {
    private static let quark = g_quark_from_string("mediagraph-stock-node")

    /// Installs the vtable on the element. `node` isn't retained, and must call `remove` before it is deallocated.
    static func install(_ vtable: VTableConstant, for node: AnyObject, on element: Element) {
        g_object_set_qdata(object(element.raw), quark, Unmanaged.passUnretained(node).toOpaque())
        NodeVTable.install(vtable.pointer, on: ElementInstance(element.raw))
    }

    static func remove(from element: Element) {
        NodeVTable.remove(from: ElementInstance(element.raw))
        g_object_set_qdata(object(element.raw), quark, nil)
    }

    /// Runs `body` with the element's node, for a function of its vtable. Returns 1, or stores the error and returns 0.
    static func answer<Node: AnyObject>(
        _ element: UnsafeMutablePointer<GstElement>?, _ error: UnsafeMutablePointer<MGError>?, as: Node.Type,
        _ body: (Node) throws(MediaGraphError) -> Void
    ) -> Int32 {
        do throws(MediaGraphError) {
            guard let node = g_object_get_qdata(object(element!), quark) else {
                throw .uninitialized(.init("node", actual: "its graph no longer exists"))
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
