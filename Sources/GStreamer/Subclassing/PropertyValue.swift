import CGStreamer
import CGStreamerShims

/// The range of a property's values.
public struct PropertyRange<Value: Sendable>: Sendable {
    /// The smallest value.
    public let lowerBound: Value
    /// The largest value.
    public let upperBound: Value
    let contains: @Sendable (Value) -> Bool

    /// Creates a range that includes both bounds.
    public static func values(_ range: ClosedRange<Value>) -> PropertyRange where Value: Comparable {
        PropertyRange(lowerBound: range.lowerBound, upperBound: range.upperBound) { range.contains($0) }
    }
}

/// A type that an element's property can have.
public protocol PropertyValue: ValueConvertible {
    /// Returns a new GParamSpec, with which the property is installed in the element class.
    static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec>
    /// The value as text, as in a description.
    var text: String { get }
    /// The reason given when a value can't be converted to this type. Begins with "expected".
    static var conversionFailure: String { get }
}

extension PropertyValue {
    /// Swift's description of the value.
    public var text: String { "\(self)" }
    /// Names the Swift type, such as "expected a value of type Int32".
    public static var conversionFailure: String { "expected a value of type \(Self.self)" }
}

extension Bool: PropertyValue {
    /// Returns a GParamSpecBoolean. `range` is ignored.
    public static func specification(
        _ name: String, _ blurb: String, default: Bool, range: PropertyRange<Bool>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_boolean(name, name, blurb, `default` ? 1 : 0, flags)
    }
}

extension Int32: PropertyValue {
    /// Returns a GParamSpecInt.
    public static func specification(
        _ name: String, _ blurb: String, default: Int32, range: PropertyRange<Int32>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        cgst_param_spec_ranged_int(
            name, name, blurb, range?.lowerBound ?? .min, range?.upperBound ?? .max, `default`, flags)
    }
}

extension UInt64: PropertyValue {
    /// Returns a GParamSpecUInt64.
    public static func specification(
        _ name: String, _ blurb: String, default: UInt64, range: PropertyRange<UInt64>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        cgst_param_spec_ranged_uint64(
            name, name, blurb, guint64(range?.lowerBound ?? 0), guint64(range?.upperBound ?? .max), guint64(`default`),
            flags)
    }
}

extension String: PropertyValue {
    /// Returns a GParamSpecString. An empty default becomes NULL. `range` is ignored.
    public static func specification(
        _ name: String, _ blurb: String, default: String, range: PropertyRange<String>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_string(name, name, blurb, `default`.isEmpty ? nil : `default`, flags)
    }

    /// The string itself.
    public var text: String { self }
}

/// A Swift type for a property that is a string in GObject. GObject accepts any string; the element refuses strings
/// that `init(text:)` can't read.
public protocol PropertyString: PropertyValue {
    /// Reads a value from text; `nil` if the text is invalid.
    init?(text: String)
}

extension PropertyString {
    /// `G_TYPE_STRING`.
    public static var gtype: GType { String.gtype }

    /// Returns a GParamSpecString. `range` is ignored.
    public static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        String.specification(name, blurb, default: `default`.text, range: nil, flags: flags)
    }

    /// Reads a string from a `GValue`; `nil` if the `GValue` has another type or `init(text:)` refuses the string.
    public init?(_ value: borrowing Value) {
        guard let text = String(value) else { return nil }
        self.init(text: text)
    }

    /// Writes `text` to a `GValue`.
    public func store(in value: inout Value) { text.store(in: &value) }
}

/// An enum for a property that is an enum in GObject.
public protocol PropertyEnum: PropertyValue, CaseIterable, RawRepresentable, Equatable where RawValue == Int32 {
    /// The GType's name, unique in the process.
    static var typeName: String { get }
    /// The case's name in descriptions; by default its name in Swift.
    var nick: String { get }
    /// The case's meaning, which `gst-inspect-1.0` prints.
    var blurb: String { get }
}

extension PropertyEnum {
    /// The case's name in Swift.
    public var nick: String { "\(self)" }
    /// The case's `nick`.
    public var text: String { nick }

    /// Returns the case with this nick; `nil` if there is none.
    public init?(nick: String) {
        guard let match = Self.allCases.first(where: { $0.nick == nick }) else { return nil }
        self = match
    }

    /// The GType named `typeName`, which is registered at the first use.
    public static var gtype: GType {
        // Another copy of this code in the process may have registered the type.
        let known = g_type_from_name(typeName)
        if known != 0 { return known }
        // GObject uses the table until the process ends, so it is never freed.
        let table = UnsafeMutablePointer<GEnumValue>.allocate(capacity: allCases.count + 1)
        var next = table
        for value in allCases {
            next.initialize(
                to: GEnumValue(
                    value: value.rawValue, value_name: UnsafePointer(g_strdup(value.blurb)),
                    value_nick: UnsafePointer(g_strdup(value.nick))))
            next += 1
        }
        next.initialize(to: GEnumValue())
        return g_enum_register_static(typeName, table)
    }

    /// Reads a case from a `GValue`; `nil` if the `GValue` has another type or an unknown number.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self.init(rawValue: value.read { g_value_get_enum($0) })
    }

    /// Writes the case to a `GValue` of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_enum(&value.raw, rawValue) }

    /// Returns a GParamSpecEnum. `range` is ignored.
    public static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_enum(name, name, blurb, gtype, `default`.rawValue, flags)
    }
}

extension Structure: PropertyValue {
    /// `GST_TYPE_STRUCTURE`.
    public static var gtype: GType { gst_structure_get_type() }

    /// Copies the structure in a `GValue`; `nil` if the `GValue` has another type or no structure.
    public convenience init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype), let boxed = value.read({ g_value_get_boxed($0) }) else { return nil }
        self.init(copying: UnsafePointer(boxed.assumingMemoryBound(to: GstStructure.self)))
    }

    /// Copies the structure to a `GValue` of the type `gtype`.
    public func store(in value: inout Value) { g_value_set_boxed(&value.raw, raw) }

    /// Returns a GParamSpecBoxed. `default` and `range` are ignored.
    public static func specification(
        _ name: String, _ blurb: String, default: Structure, range: PropertyRange<Structure>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_boxed(name, name, blurb, gtype, flags)
    }
}
