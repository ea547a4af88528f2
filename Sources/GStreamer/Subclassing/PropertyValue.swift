import CGStreamer
import CGStreamerShims

/// The values that a property may have.
public struct PropertyRange<Value: Sendable>: Sendable {
    public let lowerBound: Value
    public let upperBound: Value
    let contains: @Sendable (Value) -> Bool

    public static func values(_ range: ClosedRange<Value>) -> PropertyRange where Value: Comparable {
        PropertyRange(lowerBound: range.lowerBound, upperBound: range.upperBound) { range.contains($0) }
    }
}

/// A type that an element's property can have.
public protocol PropertyValue: ValueConvertible {
    static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec>
    /// As it is written in a description.
    var text: String { get }
    /// The reason given when a value can't be converted to this type. Begins with "expected".
    static var conversionFailure: String { get }
}

extension PropertyValue {
    public var text: String { "\(self)" }
    public static var conversionFailure: String { "expected a value of type \(Self.self)" }
}

extension Bool: PropertyValue {
    public static func specification(
        _ name: String, _ blurb: String, default: Bool, range: PropertyRange<Bool>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_boolean(name, name, blurb, `default` ? 1 : 0, flags)
    }

}

extension Int32: PropertyValue {
    public static func specification(
        _ name: String, _ blurb: String, default: Int32, range: PropertyRange<Int32>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        cgst_param_spec_ranged_int(
            name, name, blurb, range?.lowerBound ?? .min, range?.upperBound ?? .max, `default`, flags)
    }
}

extension UInt64: PropertyValue {
    public static func specification(
        _ name: String, _ blurb: String, default: UInt64, range: PropertyRange<UInt64>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        cgst_param_spec_ranged_uint64(
            name, name, blurb, guint64(range?.lowerBound ?? 0), guint64(range?.upperBound ?? .max), guint64(`default`),
            flags)
    }
}

extension String: PropertyValue {
    public static func specification(
        _ name: String, _ blurb: String, default: String, range: PropertyRange<String>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_string(name, name, blurb, `default`.isEmpty ? nil : `default`, flags)
    }
    public var text: String { self }
}

/// A type that is a string property to GObject. GObject accepts any string; the element refuses those that `init(text:)`
/// can't read.
public protocol PropertyString: PropertyValue {
    init?(text: String)
}

extension PropertyString {
    public static var gtype: GType { String.gtype }

    public static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        String.specification(name, blurb, default: `default`.text, range: nil, flags: flags)
    }

    public init?(_ value: borrowing Value) {
        guard let text = String(value) else { return nil }
        self.init(text: text)
    }

    public func store(in value: inout Value) { text.store(in: &value) }
}

/// An enum whose cases are an element property's nicks.
public protocol PropertyEnum: PropertyValue, CaseIterable, RawRepresentable, Equatable where RawValue == Int32 {
    /// The GType's name, unique in the process.
    static var typeName: String { get }
    /// The case as it is written in a description; by default as it is in Swift.
    var nick: String { get }
    /// The case in words.
    var blurb: String { get }
}

extension PropertyEnum {
    public var nick: String { "\(self)" }
    public var text: String { nick }

    public init?(nick: String) {
        guard let match = Self.allCases.first(where: { $0.nick == nick }) else { return nil }
        self = match
    }

    public static var gtype: GType {
        // Several copies of this code may live in one process: the first one registers.
        let known = g_type_from_name(typeName)
        if known != 0 { return known }
        // GObject keeps the table for the life of the process.
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

    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self.init(rawValue: value.read { g_value_get_enum($0) })
    }

    public func store(in value: inout Value) { g_value_set_enum(&value.raw, rawValue) }

    public static func specification(
        _ name: String, _ blurb: String, default: Self, range: PropertyRange<Self>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_enum(name, name, blurb, gtype, `default`.rawValue, flags)
    }
}

extension Structure: PropertyValue {
    public static var gtype: GType { gst_structure_get_type() }

    public convenience init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype), let boxed = value.read({ g_value_get_boxed($0) }) else { return nil }
        self.init(copying: UnsafePointer(boxed.assumingMemoryBound(to: GstStructure.self)))
    }

    public func store(in value: inout Value) { g_value_set_boxed(&value.raw, raw) }

    public static func specification(
        _ name: String, _ blurb: String, default: Structure, range: PropertyRange<Structure>?, flags: GParamFlags
    ) -> UnsafeMutablePointer<GParamSpec> {
        g_param_spec_boxed(name, name, blurb, gtype, flags)
    }
}
