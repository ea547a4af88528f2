import GStreamer

/// Checks descriptions in the values of properties. A property whose type is an element accepts a description:
/// `video-sink="videoconvert ! fakesink"`. GStreamer uses the valid part of a wrong description and drops the error. A
/// node may also have a string property for the description of its source (``NodeTraits/sourceProperty``).
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
        // An empty description stands for the default source.
        guard !bytes.contains(0), !(isSource && bytes.isEmpty) else { return nil }
        let parsed = DescriptionParser.parse(bytes)
        func problem(_ message: String, _ hint: String?) -> Problem {
            Problem(place: .expanded(property.valueRange), message: "in \(info.name): \(message)", hint: hint)
        }
        if let first = firstError(in: parsed) { return problem(first.message, first.hint) }
        if isSource, let element = elementWithoutInput(DescriptionOutline(parsed)) {
            return problem("\(element) isn't a source", "write a device's element, such as v4l2src device=/dev/video0")
        }
        return nil
    }

    /// Returns the first error of a description in a property, whose text has no variables; `nil` if there is none.
    package static func firstError(in text: String) -> (message: String, hint: String?)? {
        firstError(in: DescriptionParser.parse(Array(text.utf8))).map { ($0.message, $0.hint) }
    }

    private static func firstError(in parsed: ParsedDescription) -> Problem? {
        DescriptionChecks.problems(in: parsed).first { $0.severity == .error }
    }

    /// Returns the first element that has a sink pad and no link to it in the description.
    private static func elementWithoutInput(_ outline: DescriptionOutline) -> String? {
        outline.elements.indices.first { index in
            let templates = ElementFactoryInfo.find(outline.elements[index].factory)?.padTemplates ?? []
            return templates.contains { $0.direction == .sink && $0.presence == .always }
                && !outline.links.contains { $0.sink == index }
        }.map { outline.elements[$0].factory }
    }
}
