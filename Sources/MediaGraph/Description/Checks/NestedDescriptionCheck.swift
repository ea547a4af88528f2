import GStreamer

/// A property that holds an element takes a description as its value: `video-sink="videoconvert ! fakesink"`. GStreamer
/// takes what it can of a wrong one and drops the error. So does a `devicesource`, which makes the elements itself.
enum NestedDescriptionCheck {
    static func isDescription(_ info: PropertyInfo, of factory: String) -> Bool {
        info.kind == .element || (factory == DeviceSourceElement.declaration.factoryName && info.name == "source")
    }

    static func problem(_ property: ParsedProperty, _ info: PropertyInfo) -> Problem? {
        let bytes = Array(property.value.utf8)
        // An empty `source` is the machine's default device.
        guard !bytes.contains(0), !(info.name == "source" && bytes.isEmpty) else { return nil }
        let parsed = DescriptionParser.parse(bytes)
        let problems = DescriptionChecks.problems(in: parsed).filter { $0.severity == .error }
        func problem(_ message: String, _ hint: String?) -> Problem {
            Problem(place: .expanded(property.valueRange), message: "in \(info.name): \(message)", hint: hint)
        }
        if let first = problems.first { return problem(first.message, first.hint) }
        if info.name == "source", let element = elementWithoutInput(DescriptionOutline(parsed)) {
            return problem("\(element) isn't a source", "a device's element, such as v4l2src device=/dev/video0")
        }
        return nil
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
