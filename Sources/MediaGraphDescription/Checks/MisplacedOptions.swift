import GStreamer

/// Options of a handler that are written as properties instead of in the value of `options`: `options=block=8, x=0.5`,
/// or `handler=blur radius=5`. Also fields of caps after a space: `caps=video/x-raw, width=320`.
struct MisplacedOptions {
    /// The indices in the element's `properties` of the misplaced options or fields.
    let members: [Int]
    /// The hint with the correct text.
    let hint: String

    /// Finds properties that the element doesn't have and that belong to another property's value; `nil` if there are
    /// none.
    init?(_ element: ParsedElement, _ factory: ElementFactoryInfo) {
        let properties = element.properties
        func isForeign(_ property: ParsedProperty) -> Bool {
            !property.isOfChild && !property.isUnknown && !property.name.contains("…")
                && factory.property(property.name) == nil
        }
        for (index, property) in properties.enumerated() where !property.isUnknown {
            let isCaps = factory.property(property.name)?.kind == .caps && property.value.hasSuffix(",")
            guard isCaps || property.name == "options" || property.name.hasSuffix("-options") else { continue }
            let members = properties.indices[(index + 1)...].prefix { isForeign(properties[$0]) }
            guard !members.isEmpty else { continue }
            self.members = Array(members)
            let text = Self.assignment(property, members.map { properties[$0] })
            hint = "put all \(isCaps ? "fields" : "options") into one quoted value: \(text)"
            return
        }
        for handler in KnownNodes.node(factory.name)?.handlers(of: element) ?? [] {
            let names = Set(handler.optionNames)
            let members = properties.indices.filter { isForeign(properties[$0]) && names.contains(properties[$0].name) }
            guard !members.isEmpty else { continue }
            self.members = members
            let given = properties.last { $0.name == handler.optionsProperty }
            let (known, unknown) = (members.map { properties[$0].name }, given?.isUnknown == true)
            let text =
                unknown
                ? "\(handler.optionsProperty)=…"
                : Self.assignment(given, members.map { properties[$0] }, to: handler.optionsProperty)
            hint =
                "\(known.joined(separator: ", ")) \(known.count == 1 ? "is an option" : "are options") of \(handler.name): "
                + text
            return
        }
        return nil
    }

    private static func assignment(
        _ given: ParsedProperty?, _ members: [ParsedProperty], to name: String? = nil
    ) -> String {
        let rest = members.map { member in
            let value = trimmed(member.value)
            return "\(member.name)=\(value.contains(",") ? DescriptionText.inQuotes(value) : value)"
        }
        let fields = [given.map { trimmed($0.value) } ?? ""] + rest
        return (given?.name ?? name ?? "")
            + "=" + DescriptionText.inQuotes(fields.filter { !$0.isEmpty }.joined(separator: ","))
    }

    private static func trimmed(_ value: String) -> String {
        var rest = value[...]
        while let last = rest.last, last == "," || last.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
