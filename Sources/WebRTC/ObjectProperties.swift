import CGStreamer
import GStreamer

/// Properties of the objects inside `webrtcbin`, which aren't elements. Their names and types are constants of this
/// target: GLib logs a wrong one as critical.
extension ObjectReference {
    private func value(_ name: String, _ type: GType) -> Value {
        var value = Value(type: type)
        g_object_get_property(raw.assumingMemoryBound(to: GObject.self), name, &value.raw)
        return value
    }

    /// The object that a property contains; `nil` for NULL.
    func objectProperty(_ name: String) -> ObjectReference? {
        value(name, g_object_get_type()).read { value in
            g_value_dup_object(value).map { ObjectReference(taking: UnsafeMutableRawPointer($0)) }
        }
    }

    func uint32(_ name: String) -> UInt32 { value(name, UInt32.gtype).read { g_value_get_uint($0) } }

    func uint64(_ name: String) -> UInt64 { UInt64(value(name, UInt64.gtype).read { g_value_get_uint64($0) }) }

    /// The number of an enumeration's value.
    func enumValue(_ name: String) -> Int32 { value(name, Int32.gtype).read { g_value_get_int($0) } }

    func setEnum(_ name: String, _ number: Int32) {
        Value(number).read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), name, $0) }
    }

    func setBoxed(_ name: String, _ pointer: UnsafeRawPointer, of type: GType) {
        var value = Value(type: type)
        g_value_set_boxed(&value.raw, pointer)
        value.read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), name, $0) }
    }

    func setBool(_ name: String, _ isOn: Bool) {
        Value(isOn).read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), name, $0) }
    }
}
