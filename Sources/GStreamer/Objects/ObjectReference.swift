import CGStreamer

/// A strong reference on a GStreamer object.
///
/// `@unchecked Sendable`: the pointer never changes, reference counts are atomic, and every call that the subclasses make
/// through it is documented by GStreamer as safe from any thread.
public class ObjectReference: @unchecked Sendable, Hashable, CustomStringConvertible {
    package let raw: UnsafeMutableRawPointer

    /// Takes over one reference; a floating one is sunk, so that it belongs to this object and no one else.
    package init(taking raw: UnsafeMutableRawPointer) {
        self.raw = raw
        if g_object_is_floating(raw) != 0 { g_object_ref_sink(raw) }
    }

    /// Takes over one reference on an object that somebody else made and may hold floating.
    package init(adopting raw: UnsafeMutableRawPointer) { self.raw = raw }

    /// Adds a reference; a floating one stays with whoever made the object.
    package init(retaining raw: UnsafeMutableRawPointer) {
        self.raw = raw
        g_object_ref(raw)
    }

    deinit {
        gst_object_unref(raw)
    }

    package var object: UnsafeMutablePointer<GstObject> { raw.assumingMemoryBound(to: GstObject.self) }

    /// The object's name, unique in its parent.
    public var name: String { takeString(gst_object_get_name(object)) ?? "" }

    /// The name with all parents', as GStreamer prints it: `/GstPipeline:pipeline0/GstAppSink:sink`.
    public var path: String { takeString(gst_object_get_path_string(object)) ?? "" }

    /// The name of the object's GType.
    public var typeName: String {
        String(cString: g_type_name_from_instance(raw.assumingMemoryBound(to: GTypeInstance.self)))
    }

    public var description: String { path }

    public static func == (a: ObjectReference, b: ObjectReference) -> Bool { a.raw == b.raw }
    public func hash(into hasher: inout Hasher) { hasher.combine(raw) }
}
