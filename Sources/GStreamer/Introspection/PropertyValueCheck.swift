import CGStreamer
import CGStreamerShims

/// Why a property can't take a text as its value.
public enum PropertyValueError: Error, Sendable, Hashable {
    /// GStreamer can't read the text as a value of the property's type.
    case unreadable
    /// It is a value of that type, which the property doesn't allow.
    case outOfRange
    /// GStreamer would take it for something else than it says; the text says for what.
    case misread(String)
}

extension PropertyInfo {
    /// Checks a value as a description would set it, without an element and without GObject's warnings; `nil` when it
    /// is fine. `text` is what remains after the description's own quotes and backslashes.
    ///
    /// A property that holds an element takes a description instead, which isn't checked here.
    public func valueError(for text: String) -> PropertyValueError? {
        ClassReference(owner).map { klass in
            let klass = klass.assumingMemoryBound(to: GObjectClass.self)
            guard let specification = g_object_class_find_property(klass, name) else { return .unreadable }
            do throws(StructureTextError) {
                try checkStructure(of: text.utf8, specification)
            } catch {
                return switch error {
                case .malformed: .unreadable
                case .misread(let reason): .misread(reason)
                }
            }
            var value = Value(type: specification.pointee.value_type)
            guard gst_value_deserialize_with_pspec(&value.raw, text, specification) != 0 else {
                return kind == .element ? nil : .unreadable
            }
            guard value.read({ cgst_param_spec_is_in_range(specification, $0) }) != 0 else { return .outOfRange }
            // Setting a value that validation would change makes GObject warn, unless the property is lax about it.
            let isLax = specification.pointee.flags.rawValue & G_PARAM_LAX_VALIDATION.rawValue != 0
            if !isLax, g_param_value_validate(specification, &value.raw) != 0 { return .outOfRange }
            return nil
        }
    }

    private func checkStructure(
        of text: String.UTF8View, _ specification: UnsafeMutablePointer<GParamSpec>
    ) throws(StructureTextError) {
        switch kind {
        case .caps: try StructureTextReader.checkCaps(unquoted(text))
        case .structure: try StructureTextReader.checkStructure(unquoted(text))
        case .array: try StructureTextReader.checkArray(text, ElementShape(specification))
        case .other where ValueCast.refused.contains(typeName): throw .malformed
        default: break
        }
    }

    /// Caps and structures may stand in quotes of their own.
    private func unquoted(_ text: String.UTF8View) -> [UInt8] {
        text.first == UInt8(ascii: "\"") ? StructureTextReader.unwrapped(Array(text)[...]) : Array(text)
    }

    /// What the property takes, in words: "an integer from 0 to 100", "one of live, fast".
    public var expectation: String {
        switch kind {
        case .boolean: "true or false"
        case .integer: "an integer" + limits
        case .number: "a number" + limits
        case .string: "text"
        case .fraction: "a fraction" + limits
        case .caps: "caps, such as video/x-raw,width=320"
        case .structure: "a structure, such as name,field=value"
        case .array: "an array, such as <1,2>"
        case .enumeration(let choices): "one of " + Self.list(choices)
        case .flags(let choices): "any of " + Self.list(choices) + (choices.count > 1 ? ", joined by +" : "")
        case .element: "an element, or a description of a bin"
        case .other: "a \(typeName), which text can't give"
        }
    }

    private var limits: String { range.map { " from \($0.minimum) to \($0.maximum)" } ?? "" }

    /// videotestsrc has 26 patterns; a line holds a dozen.
    private static func list(_ choices: [Choice]) -> String {
        choices.prefix(12).map(\.nick).joined(separator: ", ") + (choices.count > 12 ? ", …" : "")
    }
}
