import CGStreamer
import CGStreamerShims

/// The type in parentheses before a value in caps, as in `(string)320`.
enum ValueCast: Equatable {
    case structure, caps
    case other(GType)

    /// GStreamer's abbreviations for the names of GTypes.
    private static let abbreviations: [String: String] = [
        "int": "gint", "i": "gint", "uint": "guint", "u": "guint", "float": "gfloat", "f": "gfloat",
        "double": "gdouble",
        "d": "gdouble", "fraction": "GstFraction", "boolean": "gboolean", "bool": "gboolean", "b": "gboolean",
        "string": "gchararray", "str": "gchararray", "s": "gchararray", "structure": "GstStructure",
        "buffer": "GstBuffer",
        "date": "GDate", "datetime": "GstDateTime", "gdatetime": "GDateTime", "bitmask": "GstBitmask",
        "flagset": "GstFlagSet",
        "type": "GType", "array": "GstValueArray", "list": "GstValueList", "sample": "GstSample",
        "taglist": "GstTagList",
    ]
    /// Types whose text makes GStreamer warn through GLib, or that nobody writes as text.
    static let refused: Set<String> = [
        "GstIntRange", "GstInt64Range", "GstDoubleRange", "GstFractionRange", "GValueArray", "GstCapsFeatures",
        "GstTagList",
        "GstSample", "GstSegment",
    ]

    init(_ word: String) throws(StructureTextError) {
        let name = Self.abbreviations[word] ?? word
        if name == "GstStructure" {
            self = .structure
        } else if name == "GstCaps" {
            self = .caps
        } else if Self.refused.contains(name) {
            throw .misread("a value of type \(word) can't be written as text")
        } else {
            let type = g_type_from_name(name)
            // The type may not be registered yet: GStreamer can register it when it meets the name.
            guard type == 0 || g_type_check_is_value_type(type) != 0 else { throw .malformed }
            self = .other(type)
        }
    }

    fileprivate func isType(_ type: GType) -> Bool { self == .other(type) }
}

/// The types that an array property declares for its elements. GStreamer fails assertions if the text has other types.
indirect enum ElementShape {
    /// Any value: the property declares no type.
    case any
    /// A single value of this type.
    case scalar(GType)
    /// An array whose elements have this shape.
    case array(ElementShape)

    /// Creates the shape of a property's values.
    init(_ specification: UnsafeMutablePointer<GParamSpec>) {
        guard cgst_param_spec_kind(specification) == CGST_VALUE_ARRAY else {
            self = .scalar(specification.pointee.value_type)
            return
        }
        self = .array(cgst_param_spec_element(specification).map(ElementShape.init) ?? .any)
    }

    /// Returns the shape of the elements if the text has an array here.
    func element() throws(StructureTextError) -> ElementShape {
        switch self {
        case .any: .any
        case .scalar: throw .malformed
        case .array(let element): element
        }
    }

    /// Checks the type that the text states.
    func check(_ cast: ValueCast?) throws(StructureTextError) {
        guard case .scalar(let type) = self, let cast, !cast.isType(type) else { return }
        throw .malformed
    }
}

/// The text of a single value, with or without quotes.
struct ScalarText {
    let text: ArraySlice<UInt8>
    let cast: ValueCast?

    private var string: String { String(decoding: text, as: UTF8.self) }

    /// The types that GStreamer tries for a value without a type, in this order.
    private static let guesses: [GType] = [
        cgst_type_int, cgst_type_double, gst_fraction_get_type(), gst_flagset_get_type(), cgst_type_boolean,
    ]

    /// Refuses a quoted string that GStreamer would read as a number, for example. GStreamer warns about such strings,
    /// because future versions will read them as strings.
    func refuseMisread() throws(StructureTextError) {
        guard text.first == UInt8(ascii: "\""), text.count >= 2 else { return }
        let content = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        for type in Self.guesses {
            var value = Value(type: type)
            guard value.parse(content) else { continue }
            let name = String(cString: g_type_name(type))
            throw .misread(
                "GStreamer reads \(string) as a \(name): write \(content) without quotes, or (string)\(string)")
        }
    }

    /// Checks that the bounds of a range have the same type and are in ascending order, and that the step divides both.
    static func checkRange(_ bounds: [ScalarText], _ range: String) throws(StructureTextError) {
        for type in [cgst_type_int, cgst_type_int64, cgst_type_double, gst_fraction_get_type()] {
            switch bounds[0].cast {
            case .other(let given)? where given == type: break
            case nil where type != cgst_type_int64: break
            default: continue
            }
            var first = Value(type: type)
            var last = Value(type: type)
            guard first.parse(bounds[0].string), last.parse(bounds[1].string) else { continue }
            let isAscending = first.read { first in last.read { gst_value_compare(first, $0) == GST_VALUE_LESS_THAN } }
            guard isAscending else { throw .misread("the range \(range) must start with the smaller value") }
            if bounds.count == 3 {
                let numbers = bounds.compactMap { Int64($0.string) }
                guard numbers.count == 3, numbers[2] > 0, numbers[0] % numbers[2] == 0, numbers[1] % numbers[2] == 0
                else {
                    throw .misread("both ends of the range \(range) must be multiples of the step")
                }
            }
            return
        }
        throw .malformed
    }
}

extension Value {
    /// Parses `text` as a value of this type; false if that fails. For the types used here GStreamer doesn't warn.
    fileprivate mutating func parse(_ text: String) -> Bool { gst_value_deserialize(&raw, text) != 0 }
}
