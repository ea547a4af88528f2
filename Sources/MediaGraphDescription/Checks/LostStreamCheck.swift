import GStreamer

/// Finds demuxers that are linked to a muxer only once, without a pad's name: the new file contains the first stream
/// that fits, and GStreamer drops the others without a message.
enum LostStreamCheck {
    /// Elements that pass a stream on unchanged.
    private static let passing: Set = ["queue", "queue2", "identity"]

    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            guard isContainer(factory, "Demuxer", .source) else { return nil }
            let outputs = context.links(from: index)
            guard outputs.count == 1, outputs[0].source.pads.isEmpty, outputs[0].filter == nil,
                !outputs[0].linksAllPads,
                let muxer = muxer(behind: outputs[0], context)
            else { return nil }
            let given = context.parsed.elements[muxer].name?.value
            return Problem(
                place: .expanded(outputs[0].range), severity: .warning,
                message:
                    "only one stream of \(context.label(index)) goes into \(context.label(muxer)); if the input has others, "
                    + "they are lost",
                hint: hint(factory, muxer, given, context))
        }
    }

    /// Returns a hint with a link for each stream, if the names of the demuxer's pads are predictable.
    private static func hint(
        _ demuxer: ElementFactoryInfo, _ muxer: Int, _ given: String?, _ context: CheckContext
    ) -> String {
        let name = given ?? "m"
        let links = ["video", "audio"].compactMap { kind -> String? in
            guard let output = padName(kind, demuxer, .source), let factory = context.factories[muxer] else {
                return nil
            }
            return "d.\(output) ! queue ! \(name).\(padName(kind, factory, .sink) ?? "")"
        }
        guard links.count == 2 else {
            return "link each stream by the name of its pad; `mediagraph inspect \(demuxer.name)` lists them"
        }
        return "link each by name: \(demuxer.name) name=d \(links.joined(separator: " "))"
            + (given == nil ? ", with name=m on \(context.label(muxer))" : "")
    }

    /// Returns the name of the first pad for a kind of stream. The hint names the muxer's pad because a queue before
    /// the muxer accepts any format, so a link without a name would use the muxer's first pad template.
    private static func padName(
        _ kind: String, _ factory: ElementFactoryInfo, _ direction: Pad.Direction
    ) -> String? {
        let names = factory.padTemplates.filter { $0.direction == direction }.map(\.name)
        guard let name = names.first(where: { $0.hasPrefix(kind) }), name.count(where: { $0 == "%" }) < 2 else {
            return nil
        }
        return name.replacing(/%\w+/, with: "0")
    }

    private static func muxer(behind link: ParsedLink, _ context: CheckContext) -> Int? {
        var link = link
        var seen: Set<Int> = []
        while let sink = context.element(of: link.sink), seen.insert(sink).inserted,
            let factory = context.factories[sink]
        {
            if isContainer(factory, "Muxer", .sink) { return sink }
            let next = context.links(from: sink)
            guard passing.contains(factory.name) || factory.classification.contains("Parser"), next.count == 1 else {
                return nil
            }
            link = next[0]
        }
        return nil
    }

    /// Returns whether the element is a demuxer or muxer (`kind`) for a container of video and audio.
    private static func isContainer(
        _ factory: ElementFactoryInfo, _ kind: String, _ direction: Pad.Direction
    ) -> Bool {
        let templates = factory.padTemplates.filter { $0.direction == direction }
        guard factory.classification.contains(kind), templates.allSatisfy({ $0.presence != .always }) else {
            return false
        }
        return ["video", "audio"].allSatisfy { kind in templates.contains { $0.name.hasPrefix(kind) } }
            || templates.contains { $0.name.hasPrefix("sink") }
    }
}
