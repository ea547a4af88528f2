/// `resolution=` is a string for GStreamer, which takes any.
struct ResolutionCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == RawDataPipeElement.declaration.factoryName,
            let property = element.property("resolution"), let text = property.value, Resolution(text: text) == nil
        else { return [] }
        return [
            property.diagnostic(
                "\"\(text)\" isn't a valid value for resolution of \(element.factory)", hint: Resolution.expected)
        ]
    }
}
