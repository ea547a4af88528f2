import GStreamer

/// Recognizes values in the syntax of a shell, which removes single quotes and expands `$NAME`. For GStreamer, both are
/// ordinary text.
package enum ShellValue {
    /// Returns a message and a hint for such a value; `nil` if the value may be intended as written.
    package static func advice(_ name: String, _ value: String) -> (message: String, hint: String)? {
        if value.count > 2, value.hasPrefix("'"), value.hasSuffix("'") {
            let inner = DescriptionText.quoted(String(value.dropFirst().dropLast()))
            return ("the single quotes are part of the value of \(name)", "write \(name)=\(inner)")
        }
        guard let variable = variable(in: value) else { return nil }
        return (
            "$\(variable) isn't expanded: a variable needs braces",
            "write ${\(variable)}, and set \(variable)=… on the command line"
        )
    }

    /// Returns the name in a `$NAME` that is the whole value, or the beginning of a folder's or file's name. Elsewhere,
    /// a dollar sign may be intended.
    private static func variable(in value: String) -> Substring? {
        if let whole = value.wholeMatch(of: /\$([A-Za-z_][A-Za-z0-9_]*)/) { return whole.1 }
        return value.firstMatch(of: /(?:^|\/)\$([A-Z_][A-Z0-9_]*)/)?.1
    }
}

/// Warns of shell syntax in the values of string properties, which GStreamer accepts as ordinary text.
package struct ShellValueCheck: DescriptionCheck {
    package init() {}

    package func problems(in element: DescribedElement) -> [Diagnostic] {
        guard let factory = ElementFactoryInfo.find(element.factory) else { return [] }
        return element.properties.compactMap { property in
            // Don't check the value of a variable, which a shell has already expanded.
            guard let value = property.value, factory.property(property.name)?.kind == .string,
                property.locator.variable(at: property.offsets) == nil,
                let advice = ShellValue.advice(property.name, value)
            else { return nil }
            return property.diagnostic(advice.message, hint: advice.hint, severity: .warning)
        }
    }
}
