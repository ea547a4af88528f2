import MediaGraphCore
import MediaGraphDescription

/// `resolution=` is a string for GStreamer, which takes any.
struct ResolutionCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.rawDataPipe,
            let property = element.property("resolution"), let text = property.value, Resolution(text: text) == nil
        else { return [] }
        return [
            property.diagnostic(
                "\"\(text)\" isn't a valid value for resolution of \(element.factory)",
                hint: Self.meant(text).map { "did you mean \"\($0)\"?" } ?? Resolution.expected)
        ]
    }

    /// For `360`, `1080P` and `640x360`.
    private static func meant(_ text: String) -> String? {
        guard let match = text.wholeMatch(of: /(?:\d+[xX*])?(\d+)[pP]?/) else { return nil }
        let name = "\(match.1)p"
        return Resolution(text: name) == nil ? nil : name
    }
}
