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

/// Checks that the `buffer-type=` of a pipe allows the conversions that its other properties ask for, and that frames in
/// its `format=` can be turned and mirrored.
struct PipeConversionCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == NodeName.rawDataPipe,
            let type = BufferType(nick: element.property("buffer-type")?.value ?? BufferType.raw.nick)
        else { return [] }
        func text(_ property: String) -> String? { element.property(property)?.value }
        var settings = PipeSettings()
        settings.bufferType = type
        settings.resolution = text("resolution").flatMap(Resolution.init(text:)) ?? .native
        settings.format = text("format").flatMap(PipeFormat.init(nick:)) ?? .auto
        settings.appliesRotation = element.sets("apply-rotation", to: true)
        settings.appliesMirror = element.sets("apply-mirror", to: true)
        settings.sourceFormat = text("src-format").flatMap(SourceFormat.init(nick:)) ?? .unchanged
        do throws(MediaGraphError) {
            try settings.checkBufferType()
            if let format = settings.format.format { try settings.checkTurning(format) }
            return []
        } catch {
            let property = element.property(error.detail.subject)
            return [
                property?.diagnostic("\(error)", hint: hint(type, error)) ?? element.diagnostic("\(error)")
            ]
        }
    }

    private func hint(_ type: BufferType, _ error: MediaGraphError) -> String? {
        guard error.code == .invalidParameter else { return nil }
        return type == .native
            ? "native frames are converted only to a format; for anything else, use buffer-type=raw"
            : "\(type.nick) frames aren't converted; leave it out, or use buffer-type=raw behind a decoder"
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
