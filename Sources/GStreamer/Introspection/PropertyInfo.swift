import CGStreamer
import CGStreamerShims

/// A property of an element or a pad, as its class documents it.
public struct PropertyInfo: Sendable, Hashable {
    /// What its values are, as far as writing one as text goes.
    public enum Kind: Sendable, Hashable {
        case boolean, integer, number, string, fraction, caps, structure, array
        /// One of these.
        case enumeration([Choice])
        /// Any of these, joined by `+`.
        case flags([Choice])
        /// An element, which text gives as a description of one.
        case element
        /// A type that no text can give.
        case other
    }

    /// A value of an enumeration or a flag.
    public struct Choice: Sendable, Hashable {
        /// What a description writes.
        public let nick: String
        public let value: Int64
        /// What it means, in the class's words.
        public let meaning: String
    }

    public let name: String
    /// The GType of its values.
    public let typeName: String
    /// What it is for, in the class's words.
    public let blurb: String
    public let kind: Kind
    public let isReadable: Bool
    public let isWritable: Bool
    /// Given once, when the element is made.
    public let isConstruct: Bool
    /// Can't be changed after the element was made.
    public let isConstructOnly: Bool
    /// Its value may be driven by a `GstController`.
    public let isControllable: Bool
    public let isDeprecated: Bool
    /// Whether the element says that it can't be set in PAUSED and PLAYING; most stock elements say nothing.
    public let isLockedWhileRunning: Bool
    /// A number's limits.
    public let range: (minimum: String, maximum: String)?
    /// The default, as text; `nil` when it is nothing, or can't be written.
    public let defaultText: String?

    /// The class that declares it: the element's own, or one that it inherits from.
    public let declaringTypeName: String

    /// The class that was asked.
    package let owner: GType

    /// Whether its values are nanoseconds. GObject has no units: a whole number is in the first one that its blurb names.
    package var isInNanoseconds: Bool {
        guard kind == .integer else { return false }
        let unit = blurb.firstMatch(of: /\b(?:(?:nano|micro|milli)?seconds?|[nmuµ]s)\b/.ignoresCase())?.output
        return unit.map { $0.first == "n" || $0.first == "N" } ?? false
    }

    private init(_ specification: UnsafeMutablePointer<GParamSpec>, owner: GType) {
        self.owner = owner
        declaringTypeName = String(cString: g_type_name(specification.pointee.owner_type))
        let flags = specification.pointee.flags.rawValue
        func has(_ flag: GParamFlags) -> Bool { flags & flag.rawValue != 0 }
        name = String(cString: specification.pointee.name)
        typeName = String(cString: g_type_name(specification.pointee.value_type))
        blurb = g_param_spec_get_blurb(specification).map { String(cString: $0) } ?? ""
        isReadable = has(G_PARAM_READABLE)
        isWritable = has(G_PARAM_WRITABLE)
        isConstruct = has(G_PARAM_CONSTRUCT)
        isConstructOnly = has(G_PARAM_CONSTRUCT_ONLY)
        isDeprecated = has(G_PARAM_DEPRECATED)
        isControllable = flags & cgst_param_controllable.rawValue != 0
        isLockedWhileRunning = flags & cgst_param_locked_when_running.rawValue != 0
        kind = Self.kind(specification)
        range = Self.range(specification)
        var value = Value(type: specification.pointee.value_type)
        g_param_value_set_default(specification, &value.raw)
        defaultText = Self.serialized(value)
    }

    /// The property of that class with this name, by GObject's rules for names; `nil` when there is none.
    package static func find(_ name: String, of type: GType) -> PropertyInfo? {
        ClassReference(type).map { klass in
            g_object_class_find_property(klass.assumingMemoryBound(to: GObjectClass.self), name).map {
                PropertyInfo($0, owner: type)
            }
        }
    }

    /// All properties of a class, sorted by name.
    package static func all(of type: GType) -> [PropertyInfo] {
        ClassReference(type).map { klass in
            var count: UInt32 = 0
            let list = g_object_class_list_properties(klass.assumingMemoryBound(to: GObjectClass.self), &count)
            defer { g_free(list) }
            return (0..<Int(count)).compactMap { index in list?[index].map { PropertyInfo($0, owner: type) } }
                .sorted { $0.name < $1.name }
        }
    }

    /// GStreamer's serialisers complain about a NULL structure or caps.
    static func serialized(_ value: borrowing Value) -> String? {
        let isNull = value.read { g_value_fits_pointer($0) != 0 && g_value_peek_pointer($0) == nil }
        return isNull ? nil : value.serialized
    }

    private static func range(_ specification: UnsafeMutablePointer<GParamSpec>) -> (String, String)? {
        var minimum: UnsafeMutablePointer<CChar>?
        var maximum: UnsafeMutablePointer<CChar>?
        guard cgst_param_spec_range(specification, &minimum, &maximum) != 0 else { return nil }
        return (takeString(minimum) ?? "", takeString(maximum) ?? "")
    }

    private static func kind(_ specification: UnsafeMutablePointer<GParamSpec>) -> Kind {
        let type = specification.pointee.value_type
        return switch cgst_param_spec_kind(specification) {
        case CGST_VALUE_BOOLEAN: .boolean
        case CGST_VALUE_INTEGER: .integer
        case CGST_VALUE_NUMBER: .number
        case CGST_VALUE_STRING: .string
        case CGST_VALUE_FRACTION: .fraction
        case CGST_VALUE_CAPS: .caps
        case CGST_VALUE_STRUCTURE: .structure
        case CGST_VALUE_ARRAY: .array
        case CGST_VALUE_ELEMENT: .element
        case CGST_VALUE_ENUM: .enumeration(choices(ofEnumeration: type))
        case CGST_VALUE_FLAGS: .flags(choices(ofFlags: type))
        default: .other
        }
    }

    private static func choices(ofEnumeration type: GType) -> [Choice] {
        ClassReference(type).map { klass in
            let klass = klass.assumingMemoryBound(to: GEnumClass.self).pointee
            return (0..<Int(klass.n_values)).map { index in
                let value = klass.values[index]
                return Choice(
                    nick: String(cString: value.value_nick), value: Int64(value.value),
                    meaning: String(cString: value.value_name))
            }
        }
    }

    private static func choices(ofFlags type: GType) -> [Choice] {
        ClassReference(type).map { klass in
            let klass = klass.assumingMemoryBound(to: GFlagsClass.self).pointee
            return (0..<Int(klass.n_values)).map { index in
                let value = klass.values[index]
                return Choice(
                    nick: String(cString: value.value_nick), value: Int64(value.value),
                    meaning: String(cString: value.value_name))
            }
        }
    }

    public static func == (a: PropertyInfo, b: PropertyInfo) -> Bool { a.owner == b.owner && a.name == b.name }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(name)
    }
}
