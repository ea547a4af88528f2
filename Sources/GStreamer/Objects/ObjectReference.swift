import CGStreamer

/// A strong reference to a GStreamer object.
///
/// `@unchecked Sendable`: the pointer never changes, reference counts are atomic, and the subclasses call only
/// functions that GStreamer documents as thread-safe.
public class ObjectReference: @unchecked Sendable, Hashable, CustomStringConvertible {
    package let raw: UnsafeMutableRawPointer

    /// Takes ownership of one reference. A floating reference is sunk.
    package init(taking raw: UnsafeMutableRawPointer) {
        self.raw = raw
        if g_object_is_floating(raw) != 0 { g_object_ref_sink(raw) }
    }

    /// Takes ownership of one reference to an object that other code has created, and whose reference may still be
    /// floating. Doesn't sink it.
    package init(adopting raw: UnsafeMutableRawPointer) { self.raw = raw }

    /// Adds a reference. A floating reference is left to the code that created the object.
    package init(retaining raw: UnsafeMutableRawPointer) {
        self.raw = raw
        g_object_ref(raw)
    }

    deinit {
        gst_object_unref(raw)
    }

    package var object: UnsafeMutablePointer<GstObject> { raw.assumingMemoryBound(to: GstObject.self) }

    /// The object's name, which is unique in its parent.
    public var name: String { takeString(gst_object_get_name(object)) ?? "" }

    /// The types and names of the object and its parents, as GStreamer prints them:
    /// `/GstPipeline:pipeline0/GstAppSink:sink`.
    public var path: String { takeString(gst_object_get_path_string(object)) ?? "" }

    /// The name of the object's GType.
    public var typeName: String {
        String(cString: g_type_name_from_instance(raw.assumingMemoryBound(to: GTypeInstance.self)))
    }

    /// The object's `path`.
    public var description: String { path }

    /// Whether both references are to the same object.
    public static func == (a: ObjectReference, b: ObjectReference) -> Bool { a.raw == b.raw }
    /// Hashes the object's address.
    public func hash(into hasher: inout Hasher) { hasher.combine(raw) }
}
