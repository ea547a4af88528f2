import GStreamer

/// A property that holds an element takes a description as its value: `video-sink="videoconvert ! fakesink"`. GStreamer
/// takes what it can of a wrong one and drops the error. A node may have one for its source (``NodeTraits/sourceProperty``).
package enum NestedDescriptionCheck {
    static func isDescription(_ info: PropertyInfo, of factory: String) -> Bool {
        info.kind == .element || isSource(info, of: factory)
    }

    private static func isSource(_ info: PropertyInfo, of factory: String) -> Bool {
        KnownNodes.node(factory)?.sourceProperty == info.name
    }

    static func problem(_ property: ParsedProperty, _ info: PropertyInfo, of factory: String) -> Problem? {
        let bytes = Array(property.value.utf8)
        let isSource = isSource(info, of: factory)
        // An empty one is the default source.
        guard !bytes.contains(0), !(isSource && bytes.isEmpty) else { return nil }
        let parsed = DescriptionParser.parse(bytes)
        func problem(_ message: String, _ hint: String?) -> Problem {
            Problem(place: .expanded(property.valueRange), message: "in \(info.name): \(message)", hint: hint)
        }
        if let first = firstError(in: parsed) { return problem(first.message, first.hint) }
        if isSource, let element = elementWithoutInput(DescriptionOutline(parsed)) {
            return problem("\(element) isn't a source", "a device's element, such as v4l2src device=/dev/video0")
        }
        return nil
    }

    /// What is wrong with the text of a description that a property holds, which GStreamer takes literally; `nil` when it is fine.
    package static func firstError(in text: String) -> (message: String, hint: String?)? {
        firstError(in: DescriptionParser.parse(Array(text.utf8))).map { ($0.message, $0.hint) }
    }

    private static func firstError(in parsed: ParsedDescription) -> Problem? {
        DescriptionChecks.problems(in: parsed).first { $0.severity == .error }
    }

    /// One that waits for data which nobody in the description sends.
    private static func elementWithoutInput(_ outline: DescriptionOutline) -> String? {
        outline.elements.indices.first { index in
            let templates = ElementFactoryInfo.find(outline.elements[index].factory)?.padTemplates ?? []
            return templates.contains { $0.direction == .sink && $0.presence == .always }
                && !outline.links.contains { $0.sink == index }
        }.map { outline.elements[$0].factory }
    }
}
