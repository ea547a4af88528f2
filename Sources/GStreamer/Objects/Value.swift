import CGStreamer
import CGStreamerShims

/// A type whose values GObject properties, fields of structures and signals can contain.
public protocol ValueConvertible: Sendable {
    /// The corresponding GType.
    static var gtype: GType { get }
    /// Reads the content of a `GValue`; `nil` if the `GValue` has another type.
    init?(_ value: borrowing Value)
    /// Writes to a `GValue`, which must be initialized with `gtype`.
    func store(in value: inout Value)
}

/// A `GValue`, freed at the end of its scope.
public struct Value: ~Copyable {
    package var raw = GValue()

    /// Creates a value of the type `type` with the type's initial content, such as 0.
    package init(type: GType) {
        g_value_init(&raw, type)
    }

    /// Creates a value with the GType of `T`.
    package init<T: ValueConvertible>(_ value: T) {
        self.init(type: T.gtype)
        value.store(in: &self)
    }

    /// Copies `other` with its type.
    package init(copying other: UnsafePointer<GValue>) {
        g_value_init(&raw, other.pointee.g_type)
        g_value_copy(other, &raw)
    }

    deinit {
        var value = raw
        if value.g_type != 0 { g_value_unset(&value) }
    }

    /// The value as text, as in a description; `nil` if its type can't be written as text.
    public var serialized: String? {
        withUnsafePointer(to: raw) { takeString(gst_value_serialize($0)) }
    }

    /// Calls `body` with a pointer to the `GValue`.
    package func read<R>(_ body: (UnsafePointer<GValue>) -> R) -> R {
        withUnsafePointer(to: raw) { body($0) }
    }

    /// Returns whether the value's type is `type` or derived from it.
    package func holds(_ type: GType) -> Bool {
        read { g_type_check_value_holds($0, type) != 0 }
    }
}

extension Bool: ValueConvertible {
    /// `G_TYPE_BOOLEAN`.
    public static var gtype: GType { cgst_type_boolean }

    /// Reads the boolean from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_boolean($0) != 0 }
    }

    /// Writes the boolean to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_boolean(&value.raw, self ? 1 : 0) }
}

extension Int32: ValueConvertible {
    /// `G_TYPE_INT`.
    public static var gtype: GType { cgst_type_int }

    /// Reads the integer from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_int($0) }
    }

    /// Writes the integer to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_int(&value.raw, self) }
}

extension UInt32: ValueConvertible {
    /// `G_TYPE_UINT`.
    public static var gtype: GType { cgst_type_uint }

    /// Reads the integer from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_uint($0) }
    }

    /// Writes the integer to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_uint(&value.raw, self) }
}

extension UInt64: ValueConvertible {
    /// `G_TYPE_UINT64`.
    public static var gtype: GType { cgst_type_uint64 }

    /// Reads the integer from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = UInt64(value.read { g_value_get_uint64($0) })
    }

    /// Writes the integer to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_uint64(&value.raw, guint64(self)) }
}

extension Int64: ValueConvertible {
    /// `G_TYPE_INT64`.
    public static var gtype: GType { cgst_type_int64 }

    /// Reads the integer from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = Int64(value.read { g_value_get_int64($0) })
    }

    /// Writes the integer to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_int64(&value.raw, gint64(self)) }
}

extension Double: ValueConvertible {
    /// `G_TYPE_DOUBLE`.
    public static var gtype: GType { cgst_type_double }

    /// Reads the number from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_double($0) }
    }

    /// Writes the number to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_double(&value.raw, self) }
}

/// A NULL string is read as an empty string, and an empty string is written as NULL.
extension String: ValueConvertible {
    /// `G_TYPE_STRING`.
    public static var gtype: GType { cgst_type_string }

    /// Reads the string from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { g_value_get_string($0).map { String(cString: $0) } ?? "" }
    }

    /// Writes the string to a value of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_string(&value.raw, isEmpty ? nil : self) }
}

/// A NULL `GBytes` is read as an empty array.
extension [UInt8]: ValueConvertible {
    /// `G_TYPE_BYTES`.
    public static var gtype: GType { g_bytes_get_type() }

    /// Copies the bytes from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { value in
            guard let bytes = g_value_get_boxed(value) else { return [] }
            var size: gsize = 0
            let start = g_bytes_get_data(OpaquePointer(bytes), &size)
            return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(size)))
        }
    }

    /// Writes a copy of the bytes to a value of the type `gtype`.
    public func store(in value: inout Value) {
        g_value_take_boxed(&value.raw, UnsafeRawPointer(g_bytes_new(self, gsize(count))))
    }
}
