import CGStreamer
import CGStreamerShims

/// The reason why a text isn't a valid value of a property.
package enum PropertyValueError: Error, Sendable, Hashable {
    /// GStreamer can't parse the text as a value of the property's type.
    case unreadable
    /// The text is a value of the property's type, but the property doesn't allow it.
    case outOfRange
    /// GStreamer would read the text differently from what it appears to say. The associated string explains how.
    case misread(String)
}

extension PropertyInfo {
    /// Checks a value from a description without creating an element, and without warnings from GObject. Returns `nil`
    /// if the value is valid.
    ///
    /// The value of a property of kind ``Kind/element`` can be a description, which isn't checked here.
    ///
    /// - Parameter text: the value without the description's own quotes and backslashes.
    package func valueError(for text: String) -> PropertyValueError? {
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
            // GObject warns if validation changes a value, unless the property allows lax validation.
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

    /// Removes the quotes that caps and structures may have inside of the description's own.
    private func unquoted(_ text: String.UTF8View) -> [UInt8] {
        text.first == UInt8(ascii: "\"") ? StructureTextReader.unwrapped(Array(text)[...]) : Array(text)
    }

    /// The values that the property accepts, in words, such as "an integer from 0 to 100" or "one of live, fast".
    package var expectation: String {
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
        case .other: "a \(typeName), which can't be written as text"
        }
    }

    private var limits: String { range.map { " from \($0.minimum) to \($0.maximum)" } ?? "" }

    /// Joins at most twelve names, which fit into a line; videotestsrc has 26 patterns.
    private static func list(_ choices: [Choice]) -> String {
        choices.prefix(12).map(\.nick).joined(separator: ", ") + (choices.count > 12 ? ", …" : "")
    }
}
