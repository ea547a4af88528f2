import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// A pipe's `format=` must be one that its handler takes.
struct HandlerFormatCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == HandlerRegistry.Kind.consumer.node,
            let format = element.property("format"),
            let wanted = format.value.flatMap(PipeFormat.init(nick:))?.format,
            let name = element.property("handler")?.value,
            let entry = HandlerRegistry.shared.handlers(.consumer).first(where: { $0.name == name }),
            !entry.formats.isEmpty, !entry.formats.contains(wanted)
        else { return [] }
        let taken = entry.formats.map(\.gstreamerName).joined(separator: ", ")
        return [
            format.diagnostic("handler \(name) doesn't take \(wanted.gstreamerName)", hint: "it takes \(taken)")
        ]
    }
}
