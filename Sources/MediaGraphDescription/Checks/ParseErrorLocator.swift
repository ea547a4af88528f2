/// Finds the place of an error from GStreamer's parser. The error names elements, properties and values, but no place.
enum ParseErrorLocator {
    static func problem(_ message: String, _ parsed: ParsedDescription, _ bytes: [UInt8]) -> Problem {
        let context = CheckContext(parsed)
        let hint = "reported by GStreamer"
        if let match = message.wholeMatch(of: /could not link (\S+) to (\S+?)(?:,| with)?(?: .*)?/) {
            let link = parsed.links.first {
                isEnd($0.source, String(match.1), context) && isEnd($0.sink, String(match.2), context)
            }
            if let link, let source = context.element(of: link.source), let sink = context.element(of: link.sink) {
                // GStreamer's message contains generated names for unnamed elements, so replace it.
                let text = "\(context.label(source)) can't be linked to \(context.label(sink))"
                return Problem(place: .expanded(link.range), message: text, hint: hint)
            }
        }
        return Problem(place: .expanded(place(message, context, bytes)), message: message, hint: hint)
    }

    private static func place(_ message: String, _ context: CheckContext, _ bytes: [UInt8]) -> Range<Int> {
        let elements = context.parsed.elements
        let quoted = message.matches(of: /"([^"]*)"/).map { String($0.1) }
        for element in elements {
            for property in element.properties where quoted.contains(property.name) {
                if quoted.contains(element.factory) || element.name.map({ quoted.contains($0.value) }) == true {
                    return property.range
                }
            }
        }
        for text in quoted {
            if let element = elements.first(where: { $0.factory == text || $0.name?.value == text }) {
                return element.range
            }
            if let range = bytes.firstRange(of: Array(text.utf8)), !text.isEmpty { return range }
        }
        return elements.first?.range ?? 0..<bytes.count
    }

    private static func isEnd(_ end: ParsedLink.End, _ name: String, _ context: CheckContext) -> Bool {
        if case .reference(let reference) = end.target, reference.text == name { return true }
        guard let index = context.element(of: end) else { return false }
        if let given = context.parsed.elements[index].name { return given.value == name }
        return context.factories[index].map { NameCheck.isAutomatic(name, $0.defaultNamePrefix) } ?? false
    }
}
