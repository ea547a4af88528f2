import GStreamer

/// Finds sources of bytes that are linked to an element that accepts only raw video or audio: the decoder between them
/// is missing. GStreamer links the two, since such a source may output any format, and the run ends with a negotiation
/// error.
enum MissingDecoderCheck {
    private static let sources = [
        "filesrc": "the bytes of a file", "giosrc": "the bytes of a file", "fdsrc": "bytes",
        "souphttpsrc": "the bytes of a file", "curlhttpsrc": "the bytes of a file",
    ]
    /// Elements that pass on data of any format unchanged.
    private static let passing: Set = ["queue", "queue2", "identity", "tee"]

    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.flatMap { index, factory -> [Problem] in
            guard let bytes = sources[factory.name] else { return [] }
            var problems: [Problem] = []
            var seen: Set<Int> = []
            var open = [index]
            while let element = open.popLast() {
                guard seen.insert(element).inserted else { continue }
                // A filter tells GStreamer the format of the bytes, which works for some files without a header.
                for link in context.links(from: element) where link.filter == nil {
                    guard let sink = context.element(of: link.sink), let taker = context.factories[sink] else {
                        continue
                    }
                    if passing.contains(taker.name) { open.append(sink) }
                    guard let media = rawMedia(link.sink, sink, taker, context) else { continue }
                    problems.append(problem(index, bytes, link, sink, media, context))
                }
            }
            return problems
        }
    }

    /// Returns the kind of media that the element accepts if it accepts only raw video or audio; `nil` for other
    /// elements.
    private static func rawMedia(
        _ end: ParsedLink.End, _ index: Int, _ factory: ElementFactoryInfo, _ context: CheckContext
    ) -> String? {
        let templates = factory.padTemplates.filter { template in
            template.direction == .sink && (end.pads.isEmpty || end.pads.contains { template.matches($0.text) })
        }
        let element = context.parsed.elements[index]
        let caps =
            KnownNodes.node(element.factory)?.caps(of: element, .sink).map { [$0] } ?? templates.map(\.caps)
        var types: Set<String> = []
        for caps in caps {
            if caps.isAny || caps.isEmpty { return nil }
            for structure in 0..<caps.count { types.insert(caps[structure].name) }
        }
        switch types {
        case ["video/x-raw"]: return "video"
        case ["audio/x-raw"]: return "audio"
        case ["video/x-raw", "audio/x-raw"]: return "video and audio"
        default: return nil
        }
    }

    private static func problem(
        _ source: Int, _ bytes: String, _ link: ParsedLink, _ sink: Int, _ media: String, _ context: CheckContext
    ) -> Problem {
        let factories = context.parsed.elements.map(\.factory)
        let parser = media == "audio" ? "rawaudioparse" : "rawvideoparse"
        return Problem(
            place: .expanded(link.range),
            message: "\(context.label(source)) produces \(bytes), but \(context.label(sink)) accepts raw \(media)",
            hint: "put decodebin between them: \(factories[source]) … ! decodebin ! \(factories[sink]); "
                + "for headerless data, use \(parser)")
    }
}
