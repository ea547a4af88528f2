import MediaGraphCore
import MediaGraphDescription

/// Checks that a pipe's handler supports the `format=` of the pipe.
struct HandlerFormatCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == HandlerRegistry.Kind.consumer.node,
            let format = element.property("format"),
            let wanted = format.value.flatMap(PipeFormat.init(nick:))?.format,
            let name = element.property("handler")?.value,
            let entry = HandlerRegistry.shared.handlers(.consumer).first(where: { $0.name == name }),
            !entry.formats.isEmpty, !entry.formats.contains(wanted)
        else { return [] }
        let supported = entry.formats.map(\.gstreamerName).joined(separator: ", ")
        return [
            format.diagnostic(
                "handler \(name) doesn't support \(wanted.gstreamerName)", hint: "it supports \(supported)")
        ]
    }
}

/// Checks that `resolution=` is a resolution, because GStreamer accepts any text for this string property.
struct ResolutionCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.rawDataPipe,
            let property = element.property("resolution"), let text = property.value, Resolution(text: text) == nil
        else { return [] }
        return [
            property.diagnostic(
                "\"\(text)\" isn't a valid value for resolution of \(element.factory)",
                hint: Self.suggestion(for: text).map { "did you mean \"\($0)\"?" } ?? Resolution.expected)
        ]
    }

    /// Returns the resolution that `360`, `1080P` or `640x360` probably means.
    private static func suggestion(for text: String) -> String? {
        guard let match = text.wholeMatch(of: /(?:\d+[xX*])?(\d+)[pP]?/) else { return nil }
        let name = "\(match.1)p"
        return Resolution(text: name) == nil ? nil : name
    }
}
