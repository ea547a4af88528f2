import CGStreamer
import CGStreamerShims

/// A type in parentheses before a value in caps: `(string)320`.
enum ValueCast: Equatable {
    case structure, caps
    case other(GType)

    /// GStreamer's abbreviations, and the GTypes' names that they stand for.
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
    /// Types whose text GStreamer complains about through GLib, or whose text is never written by people.
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
            // A type that isn't registered yet may be one that GStreamer loads by its name.
            guard type == 0 || g_type_check_is_value_type(type) != 0 else { throw .malformed }
            self = .other(type)
        }
    }

    fileprivate func isType(_ type: GType) -> Bool { self == .other(type) }
}

/// What an array property says its elements are. GStreamer fails assertions where the text says something else.
indirect enum ElementShape {
    case any
    case scalar(GType)
    case array(ElementShape)

    /// The shape of a property's values.
    init(_ specification: UnsafeMutablePointer<GParamSpec>) {
        guard cgst_param_spec_kind(specification) == CGST_VALUE_ARRAY else {
            self = .scalar(specification.pointee.value_type)
            return
        }
        self = .array(cgst_param_spec_element(specification).map(ElementShape.init) ?? .any)
    }

    /// What is inside brackets of a value of this shape.
    func element() throws(StructureTextError) -> ElementShape {
        switch self {
        case .any: .any
        case .scalar: throw .malformed
        case .array(let element): element
        }
    }

    func check(_ cast: ValueCast?) throws(StructureTextError) {
        guard case .scalar(let type) = self, let cast, !cast.isType(type) else { return }
        throw .malformed
    }
}

/// A single value as text, in quotes or not.
struct ScalarText {
    let text: ArraySlice<UInt8>
    let cast: ValueCast?

    private var string: String { String(decoding: text, as: UTF8.self) }

    /// What GStreamer takes a value for that names no type, in the order in which it tries.
    private static let guesses: [GType] = [
        cgst_type_int, cgst_type_double, gst_fraction_get_type(), gst_flagset_get_type(), cgst_type_boolean,
    ]

    /// Refuses a string in quotes that GStreamer would read as a number: it warns, and will read a string one day.
    func refuseMisread() throws(StructureTextError) {
        guard text.first == UInt8(ascii: "\""), text.count >= 2 else { return }
        let content = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        for type in Self.guesses {
            var value = Value(type: type)
            guard value.parse(content) else { continue }
            let name = String(cString: g_type_name(type))
            throw .misread(
                "GStreamer takes \(string) for a \(name): write \(content) without quotes, or (string)\(string)")
        }
    }

    /// The bounds of a range must be of one type, the smaller one first; a step must divide both.
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
            guard isAscending else { throw .misread("the range \(range) needs its smaller end first") }
            if bounds.count == 3 {
                let numbers = bounds.compactMap { Int64($0.string) }
                guard numbers.count == 3, numbers[2] > 0, numbers[0] % numbers[2] == 0, numbers[1] % numbers[2] == 0
                else {
                    throw .misread("in the range \(range) both ends must be multiples of the step")
                }
            }
            return
        }
        throw .malformed
    }
}

extension Value {
    /// Reads `text` into a value of this type. For the types used here GStreamer does that without complaints.
    fileprivate mutating func parse(_ text: String) -> Bool { gst_value_deserialize(&raw, text) != 0 }
}
