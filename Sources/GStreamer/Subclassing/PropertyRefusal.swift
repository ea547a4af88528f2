import CGStreamer

/// Tells a Swift caller why an element refused a property's value: `set_property` itself can't return an error.
///
/// The reason is stored on the element as qdata, so that a caller in another copy of this code finds it too. Each
/// thread has its own quark: `set_property` runs on its caller's thread, and other threads may set properties at the
/// same time.
enum PropertyRefusal {
    private static var quark: GQuark {
        g_quark_from_string("mediagraph-property-refusal-\(UInt(bitPattern: g_thread_self()))")
    }

    private static var detailsQuark: GQuark {
        g_quark_from_string("mediagraph-property-refusal-details-\(UInt(bitPattern: g_thread_self()))")
    }

    private static var quietQuark: GQuark {
        g_quark_from_string("mediagraph-property-quiet-\(UInt(bitPattern: g_thread_self()))")
    }

    private static var awaitedQuark: GQuark {
        g_quark_from_string("mediagraph-property-awaited-\(UInt(bitPattern: g_thread_self()))")
    }

    /// Calls `body`, which sets a property of `element`. A refusal is stored for the caller, and no warning is posted.
    static func quietly<R>(_ element: Element, _ body: () throws(PropertyError) -> R) throws(PropertyError) -> R {
        let object = element.raw.assumingMemoryBound(to: GObject.self)
        let quark = quietQuark
        g_object_set_qdata(object, quark, UnsafeMutableRawPointer(object))
        defer { g_object_set_qdata(object, quark, nil) }
        return try body()
    }

    /// Returns whether this thread is inside `quietly`, whose caller reports a refusal itself.
    static func isQuiet(_ object: UnsafeMutableRawPointer) -> Bool {
        g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), quietQuark) != nil
    }

    /// Returns whether this thread is inside `during`, whose caller receives the reason. False if the property is
    /// set through GObject: that caller receives no reason.
    static func isAwaited(_ object: UnsafeMutableRawPointer) -> Bool {
        g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), awaitedQuark) != nil
    }

    /// Stores the reason of a refusal. Called by the element that refuses the value.
    static func leave(_ refusal: PropertyRefused, on object: UnsafeMutableRawPointer) {
        let object = object.assumingMemoryBound(to: GObject.self)
        g_object_set_qdata_full(object, quark, g_strdup(refusal.reason), { g_free($0) })
        guard let details = refusal.details else { return }
        g_object_set_qdata_full(
            object, detailsQuark, gst_structure_copy(details.raw),
            { gst_structure_free($0!.assumingMemoryBound(to: GstStructure.self)) })
    }

    /// Returns what `leave` stored for programs on this thread, and removes it.
    static func takeDetails(_ element: Element) -> Structure? {
        let object = element.raw.assumingMemoryBound(to: GObject.self)
        return g_object_steal_qdata(object, detailsQuark).map {
            Structure(taking: $0.assumingMemoryBound(to: GstStructure.self))
        }
    }

    /// Calls `body`, which sets a property of `element`. Returns the reason if the element refused the value, otherwise
    /// `nil`. During the call, `isAwaited` is true.
    static func during(_ element: Element, _ body: () -> Void) -> String? {
        let object = element.raw.assumingMemoryBound(to: GObject.self)
        let quark = quark
        let awaited = awaitedQuark
        g_object_set_qdata(object, quark, nil)
        g_object_set_qdata(object, detailsQuark, nil)
        g_object_set_qdata(object, awaited, UnsafeMutableRawPointer(object))
        body()
        g_object_set_qdata(object, awaited, nil)
        guard let reason = g_object_steal_qdata(object, quark) else { return nil }
        return takeString(reason.assumingMemoryBound(to: CChar.self))
    }
}

/// A value that a property of an element in NULL refused.
///
/// GObject's functions report no refusal to their caller, and the element may have no bus for a warning yet, as under
/// `gst-launch-1.0`. So the element tries the value again before it starts: by then another property may permit it. If
/// the value is refused again, the element fails to start.
///
/// `@unchecked Sendable`: the value is a copy with no other owner, and is only read.
final class RefusedValue: @unchecked Sendable {
    let property: PropertyDeclaration
    let value: Value

    init(_ value: consuming Value, of property: PropertyDeclaration) {
        self.property = property
        self.value = value
    }

    /// Sets the property again. Returns the error's text if the value is refused again.
    func retry(on implementation: ElementImplementation) -> String? {
        do throws(PropertyRefused) {
            try property.write?(implementation, value)
            return nil
        } catch {
            return "\(property.name)=\(text) was refused: \(error.reason)"
        }
    }

    private var text: String { String(value) ?? value.serialized ?? "" }
}
