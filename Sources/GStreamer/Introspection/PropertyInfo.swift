import CGStreamer
import CGStreamerShims

/// A property of an element or a pad, as its class describes it (`GParamSpec`).
package struct PropertyInfo: Sendable, Hashable {
    /// The kind of values, which decides how they are written as text.
    package enum Kind: Sendable, Hashable {
        case boolean, integer, number, string, fraction, caps, structure, array
        /// One of these values.
        case enumeration([Choice])
        /// Any of these values, joined by `+`.
        case flags([Choice])
        /// An element, written as a description.
        case element
        /// A type that can't be written as text.
        case other
    }

    /// A value of an enumeration, or a flag.
    package struct Choice: Sendable, Hashable {
        /// The name that a description uses.
        package let nick: String
        /// The number that stands for the value.
        package let value: Int64
        /// The meaning of the value, as the class states it.
        package let meaning: String
    }

    /// The property's name.
    package let name: String
    /// The name of the values' GType.
    package let typeName: String
    /// The class's description of the property.
    package let blurb: String
    /// The kind of values.
    package let kind: Kind
    /// Whether the value can be read.
    package let isReadable: Bool
    /// Whether the value can be set.
    package let isWritable: Bool
    /// Whether the value is set when the element is created (`G_PARAM_CONSTRUCT`).
    package let isConstruct: Bool
    /// Whether the value can't be changed after the element has been created.
    package let isConstructOnly: Bool
    /// Whether a `GstController` can change the value over time.
    package let isControllable: Bool
    /// Whether the class discourages use of the property.
    package let isDeprecated: Bool
    /// Whether the class declares that the value can't be set in PAUSED and PLAYING. Most stock elements don't declare
    /// it.
    package let isLockedWhileRunning: Bool
    /// The limits of a number; `nil` for other kinds.
    package let range: (minimum: String, maximum: String)?
    /// The default as text; `nil` if there is none, or if it can't be written as text.
    package let defaultText: String?

    /// The name of the class that declares the property: the element's class or one of its superclasses.
    package let declaringTypeName: String

    /// The class whose properties were requested.
    package let owner: GType

    /// Whether the values are in nanoseconds. GObject knows no units, so this takes the first unit that the blurb of an
    /// integer property names.
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

    /// Returns the property of a class with this name, by GObject's rules for names; `nil` if there is none.
    package static func find(_ name: String, of type: GType) -> PropertyInfo? {
        ClassReference(type).map { klass in
            g_object_class_find_property(klass.assumingMemoryBound(to: GObjectClass.self), name).map {
                PropertyInfo($0, owner: type)
            }
        }
    }

    /// Returns all properties of a class, sorted by name.
    package static func all(of type: GType) -> [PropertyInfo] {
        ClassReference(type).map { klass in
            var count: UInt32 = 0
            let list = g_object_class_list_properties(klass.assumingMemoryBound(to: GObjectClass.self), &count)
            defer { g_free(list) }
            return (0..<Int(count)).compactMap { index in list?[index].map { PropertyInfo($0, owner: type) } }
                .sorted { $0.name < $1.name }
        }
    }

    /// Returns a value as text; `nil` if it is `NULL`, because GStreamer's serializers warn about `NULL` structures and
    /// caps.
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
            return UnsafeBufferPointer(start: klass.values, count: Int(klass.n_values)).map {
                Choice(
                    nick: String(cString: $0.value_nick), value: Int64($0.value),
                    meaning: String(cString: $0.value_name))
            }
        }
    }

    private static func choices(ofFlags type: GType) -> [Choice] {
        ClassReference(type).map { klass in
            let klass = klass.assumingMemoryBound(to: GFlagsClass.self).pointee
            return UnsafeBufferPointer(start: klass.values, count: Int(klass.n_values)).map {
                Choice(
                    nick: String(cString: $0.value_nick), value: Int64($0.value),
                    meaning: String(cString: $0.value_name))
            }
        }
    }

    package static func == (a: PropertyInfo, b: PropertyInfo) -> Bool { a.owner == b.owner && a.name == b.name }
    package func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(name)
    }
}
