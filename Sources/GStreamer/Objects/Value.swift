import CGStreamer
import CGStreamerShims

/// A type that a GObject property, a structure's field or a signal can carry.
public protocol ValueConvertible: Sendable {
    static var gtype: GType { get }
    init?(_ value: borrowing Value)
    func store(in value: inout Value)
}

/// One `GValue`, freed with its scope.
public struct Value: ~Copyable {
    package var raw = GValue()

    package init(type: GType) {
        g_value_init(&raw, type)
    }

    package init<T: ValueConvertible>(_ value: T) {
        self.init(type: T.gtype)
        value.store(in: &self)
    }

    package init(copying other: UnsafePointer<GValue>) {
        g_value_init(&raw, other.pointee.g_type)
        g_value_copy(other, &raw)
    }

    deinit {
        var value = raw
        if value.g_type != 0 { g_value_unset(&value) }
    }

    /// The value as GStreamer writes it in a description.
    public var serialized: String? {
        withUnsafePointer(to: raw) { takeString(gst_value_serialize($0)) }
    }

    package func read<R>(_ body: (UnsafePointer<GValue>) -> R) -> R {
        withUnsafePointer(to: raw) { body($0) }
    }

    package func holds(_ type: GType) -> Bool {
        read { g_type_check_value_holds($0, type) != 0 }
    }
}

extension Bool: ValueConvertible {
    public static var gtype: GType { cgst_type_boolean }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_boolean($0) != 0 }
    }
    public func store(in value: inout Value) { g_value_set_boolean(&value.raw, self ? 1 : 0) }
}

extension Int32: ValueConvertible {
    public static var gtype: GType { cgst_type_int }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_int($0) }
    }
    public func store(in value: inout Value) { g_value_set_int(&value.raw, self) }
}

extension UInt32: ValueConvertible {
    public static var gtype: GType { cgst_type_uint }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_uint($0) }
    }
    public func store(in value: inout Value) { g_value_set_uint(&value.raw, self) }
}

extension UInt64: ValueConvertible {
    public static var gtype: GType { cgst_type_uint64 }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = UInt64(value.read { g_value_get_uint64($0) })
    }
    public func store(in value: inout Value) { g_value_set_uint64(&value.raw, guint64(self)) }
}

extension Int64: ValueConvertible {
    public static var gtype: GType { cgst_type_int64 }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = Int64(value.read { g_value_get_int64($0) })
    }
    public func store(in value: inout Value) { g_value_set_int64(&value.raw, gint64(self)) }
}

extension Double: ValueConvertible {
    public static var gtype: GType { cgst_type_double }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_double($0) }
    }
    public func store(in value: inout Value) { g_value_set_double(&value.raw, self) }
}

/// An unset string property (NULL) reads as the empty string.
extension String: ValueConvertible {
    public static var gtype: GType { cgst_type_string }
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_string($0).map { String(cString: $0) } ?? "" }
    }
    public func store(in value: inout Value) { g_value_set_string(&value.raw, isEmpty ? nil : self) }
}
