import GStreamer

/// Sources that give bytes, linked to what takes only raw video or sound: the decoder between them is missing. GStreamer links
/// them, since such a source may give anything, and the run ends with an error about formats.
enum MissingDecoderCheck {
    private static let sources = [
        "filesrc": "the bytes of a file", "giosrc": "the bytes of a file", "fdsrc": "bytes",
        "souphttpsrc": "the bytes of a file", "curlhttpsrc": "the bytes of a file",
    ]
    /// They pass on what they get, whatever it is.
    private static let passing: Set = ["queue", "queue2", "identity", "tee"]

    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.flatMap { index, factory -> [Problem] in
            guard let bytes = sources[factory.name] else { return [] }
            var problems: [Problem] = []
            var seen: Set<Int> = []
            var open = [index]
            while let element = open.popLast() {
                guard seen.insert(element).inserted else { continue }
                // A filter says what the bytes are: some headerless files can be read so.
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

    /// What the element takes, where that is nothing but raw video or sound.
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
            message: "\(context.label(source)) gives \(bytes), but \(context.label(sink)) takes raw \(media)",
            hint: "put decodebin between them: \(factories[source]) … ! decodebin ! \(factories[sink]); "
                + "for headerless data, use \(parser)")
    }
}
