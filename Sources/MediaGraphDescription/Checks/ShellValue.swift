import GStreamer

/// What only a shell does with a value: it takes single quotes off and puts a variable's value for `$NAME`. To GStreamer both
/// are text.
package enum ShellValue {
    /// `nil` for a value that may be meant as it stands.
    package static func advice(_ name: String, _ value: String) -> (message: String, hint: String)? {
        if value.count > 2, value.hasPrefix("'"), value.hasSuffix("'") {
            let inner = DescriptionText.quoted(String(value.dropFirst().dropLast()))
            return ("the single quotes are part of the value of \(name)", "write \(name)=\(inner)")
        }
        guard let variable = variable(in: value) else { return nil }
        return (
            "$\(variable) isn't expanded: a variable needs braces",
            "write ${\(variable)}, and give \(variable)=… on the command line"
        )
    }

    /// `$NAME` as a value or at the beginning of a folder's or file's name; elsewhere a dollar sign may be one.
    private static func variable(in value: String) -> Substring? {
        if let whole = value.wholeMatch(of: /\$([A-Za-z_][A-Za-z0-9_]*)/) { return whole.1 }
        return value.firstMatch(of: /(?:^|\/)\$([A-Z_][A-Z0-9_]*)/)?.1
    }
}

/// Such values, where GStreamer takes them as they stand.
package struct ShellValueCheck: DescriptionCheck {
    package init() {}

    package func problems(in element: DescribedElement) -> [Diagnostic] {
        guard let factory = ElementFactoryInfo.find(element.factory) else { return [] }
        return element.properties.compactMap { property in
            // A variable's value is what a shell has made of it.
            guard let value = property.value, factory.property(property.name)?.kind == .string,
                property.locator.variable(at: property.offsets) == nil,
                let advice = ShellValue.advice(property.name, value)
            else { return nil }
            return property.diagnostic(advice.message, hint: advice.hint, severity: .warning)
        }
    }
}
