import GStreamer

/// A property that holds an element takes a description as its value: `video-sink="videoconvert ! fakesink"`. GStreamer
/// takes what it can of a wrong one and drops the error. So does a `devicesource`, which makes the elements itself.
enum NestedDescriptionCheck {
    static func isDescription(_ info: PropertyInfo, of factory: String) -> Bool {
        info.kind == .element || (factory == DeviceSourceElement.declaration.factoryName && info.name == "source")
    }

    static func problem(_ property: ParsedProperty, _ info: PropertyInfo) -> Problem? {
        let bytes = Array(property.value.utf8)
        guard !bytes.contains(0) else { return nil }
        let problems = DescriptionChecks.problems(in: DescriptionParser.parse(bytes)).filter { $0.severity == .error }
        if let first = problems.first {
            return Problem(
                place: .expanded(property.valueRange), message: "in \(info.name): \(first.message)", hint: first.hint)
        }
        return nil
    }
}
