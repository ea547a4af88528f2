import CGStreamer

/// How an element's `set_property`, which can't return anything, tells a Swift caller that it refused.
///
/// The reason is left on the element as qdata, where a caller in another copy of this code finds it too, under a quark of
/// the thread's own: `set_property` runs on its caller's thread, and others may set properties at the same time.
enum PropertyRefusal {
    private static var quark: GQuark {
        g_quark_from_string("mediagraph-property-refusal-\(UInt(bitPattern: g_thread_self()))")
    }

    private static var quietQuark: GQuark {
        g_quark_from_string("mediagraph-property-quiet-\(UInt(bitPattern: g_thread_self()))")
    }

    private static var awaitedQuark: GQuark {
        g_quark_from_string("mediagraph-property-awaited-\(UInt(bitPattern: g_thread_self()))")
    }

    /// Runs `body`, which sets a property of `element`: a refusal is left for the caller, and no warning posted.
    static func quietly<R>(_ element: Element, _ body: () throws(PropertyError) -> R) throws(PropertyError) -> R {
        let object = element.raw.assumingMemoryBound(to: GObject.self)
        let quark = quietQuark
        g_object_set_qdata(object, quark, UnsafeMutableRawPointer(object))
        defer { g_object_set_qdata(object, quark, nil) }
        return try body()
    }

    /// Whether this thread's caller tells of refusals itself.
    static func isQuiet(_ object: UnsafeMutableRawPointer) -> Bool {
        g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), quietQuark) != nil
    }

    /// Whether this thread is inside `during`, whose caller receives the refusal. False when GObject's functions set the
    /// property directly: their caller learns nothing.
    static func isAwaited(_ object: UnsafeMutableRawPointer) -> Bool {
        g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), awaitedQuark) != nil
    }

    /// Called by the element that refuses.
    static func leave(_ reason: String, on object: UnsafeMutableRawPointer) {
        g_object_set_qdata_full(object.assumingMemoryBound(to: GObject.self), quark, g_strdup(reason), { g_free($0) })
    }

    /// Runs `body`, which sets a property of `element`, and returns the reason if the element refused. Marks the refusal as
    /// awaited meanwhile.
    static func during(_ element: Element, _ body: () -> Void) -> String? {
        let object = element.raw.assumingMemoryBound(to: GObject.self)
        let quark = quark
        let awaited = awaitedQuark
        g_object_set_qdata(object, quark, nil)
        g_object_set_qdata(object, awaited, UnsafeMutableRawPointer(object))
        body()
        g_object_set_qdata(object, awaited, nil)
        guard let reason = g_object_steal_qdata(object, quark) else { return nil }
        return takeString(reason.assumingMemoryBound(to: CChar.self))
    }
}
