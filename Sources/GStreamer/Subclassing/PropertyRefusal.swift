import CGStreamer
import Synchronization

/// How an element's `set_property`, which can't return anything, tells a Swift caller that it refused.
///
/// The reason is left on the element as qdata, where a caller in another copy of this code (see "several copies" in the
/// documentation) finds it too.
enum PropertyRefusal {
    private static let quark = g_quark_from_static_string("mediagraph-property-refusal")
    private static let oneCallerAtATime = Mutex(())

    /// Called by the element that refuses.
    static func leave(_ reason: String, on object: UnsafeMutableRawPointer) {
        g_object_set_qdata_full(object.assumingMemoryBound(to: GObject.self), quark, g_strdup(reason), { g_free($0) })
    }

    /// Runs `body`, which sets a property of `element`, and gives the reason when the element refused.
    static func during(_ element: Element, _ body: () -> Void) -> String? {
        oneCallerAtATime.withLock { _ in
            let object = element.raw.assumingMemoryBound(to: GObject.self)
            g_object_set_qdata(object, quark, nil)
            body()
            guard let reason = g_object_steal_qdata(object, quark) else { return nil }
            return takeString(reason.assumingMemoryBound(to: CChar.self))
        }
    }
}
