import GStreamer

/// Finds files whose content doesn't match their name, or that no player opens: `wavenc ! filesink location=x.mp3`, an
/// encoder without a muxer, several pictures in one file. GStreamer writes any data to any file. Also finds elements
/// that read a file of another kind: `filesrc location=x.mp4 ! h264parse`.
enum FileKindCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            guard let location = context.parsed.elements[index].properties.last(where: { $0.name == "location" }),
                !location.isUnknown
            else { return nil }
            let text: Text? =
                switch factory.name {
                case "filesink": Writer(before: index, context).flatMap { problem($0, location.value, context) }
                case "filesrc": readingProblem(index, location.value, context)
                default: nil
                }
            return text.map {
                Problem(
                    place: .expanded(location.valueRange), severity: .warning, message: $0.message, hint: $0.hint)
            }
        }
    }

    private typealias Text = (message: String, hint: String)

    private static func problem(_ writer: Writer, _ path: String, _ context: CheckContext) -> Text? {
        guard let kind = FileKind.of(path) else {
            guard writer.isBareAAC else { return nil }
            return (
                "\(writer.label) outputs AAC without headers, so players can't open the file",
                "put `aacparse ! audio/mpeg,stream-format=adts` before filesink"
            )
        }
        guard Set(kind.types).isDisjoint(with: writer.types) else { return pictures(writer, path, context) }
        guard let other = FileKind.of(types: writer.types) else {
            let isRaw = writer.types.contains { $0.hasSuffix("/x-raw") }
            let isReplaced =
                writer.isEncoder
                && ElementFactoryInfo.find(kind.element)?.classification.contains("Encoder") == true
            return (
                "\"\(path)\" won't be \(kind.name) file: \(writer.label) outputs \(FormatConflict.list(writer.types))",
                isReplaced
                    ? "replace \(writer.label) with \(kind.element)"
                    : "put \(isRaw && kind.isContainer ? "an encoder and " : "")\(kind.element) before filesink"
            )
        }
        let encoder = kind.isContainer && !other.isContainer ? "an encoder and " : ""
        let remedy =
            writer.isEncoder && kind.isContainer
            ? "put \(kind.element) before filesink" : "replace \(writer.label) with \(encoder)\(kind.element)"
        return (
            "\(writer.label) makes \"\(path)\" \(other.name) file, in spite of its name",
            "name it \(FileKind.renamed(path, to: other.fileExtensions[0])), or \(remedy)"
        )
    }

    /// Returns the problem of a parser or decoder that reads a container, or of the wrong demuxer for a container.
    private static func readingProblem(_ source: Int, _ path: String, _ context: CheckContext) -> Text? {
        let links = context.links(from: source)
        guard let kind = FileKind.of(path), let demuxer = kind.demuxer, links.count == 1, links[0].filter == nil,
            let reader = context.element(of: links[0].sink), let factory = context.factories[reader], !factory.isBin
        else { return nil }
        let inputs = factory.padTemplates.filter { $0.direction == .sink }.map(\.caps)
        let types = inputs.flatMap(\.mediaTypes)
        guard !inputs.isEmpty, inputs.allSatisfy({ !$0.isAny }), Set(types).isDisjoint(with: kind.types) else {
            return nil
        }
        let label = context.label(reader)
        let hint: String
        if FileKind.demuxers.contains(factory.name) {
            hint = "replace \(label) with \(demuxer)"
        } else if ["Parser", "Decoder"].contains(where: factory.classification.contains) {
            hint = "put \(demuxer) before \(label)"
        } else {
            return nil
        }
        return (
            "\"\(path)\" looks like \(kind.name) file, but \(label) accepts \(FormatConflict.list(types))", hint
        )
    }

    /// Returns the problem of several pictures in one file, of which viewers show only the first.
    private static func pictures(_ writer: Writer, _ path: String, _ context: CheckContext) -> Text? {
        guard writer.factory.classification.contains("Image"), !context.sets("snapshot", to: true, on: writer.index),
            let source = sourceOfSeveralPictures(before: writer.index, context)
        else { return nil }
        let fileExtension = FileKind.fileExtension(of: path)
        return (
            "\"\(path)\" gets all pictures, one after another; viewers show only the first",
            "to write one picture, set num-buffers=1 on \(source); to write one file per picture, use multifilesink location="
                + FileKind.renamed(path, to: "").dropLast() + "-%05d.\(fileExtension)"
        )
    }

    /// Returns the label of the video source at the beginning of an unbranched chain; `nil` if there is none, or if it
    /// outputs a single picture.
    private static func sourceOfSeveralPictures(before element: Int, _ context: CheckContext) -> String? {
        let index = context.chain(into: element).reduce(element) { $1.source }
        guard context.links(into: index).isEmpty, let factory = context.factories[index],
            factory.classification.hasPrefix("Source/Video"),
            !context.parsed.elements[index].properties.contains(where: { $0.name == "num-buffers" && $0.value == "1" })
        else { return nil }
        return context.label(index)
    }
}

/// The element whose output a file contains.
private struct Writer {
    let index: Int
    let factory: ElementFactoryInfo
    let label: String
    let types: [String]
    /// Whether the output is AAC without ADTS headers.
    let isBareAAC: Bool

    /// Finds the element whose data `sink` writes, past elements that pass data on unchanged; `nil` if the description
    /// doesn't determine its output.
    init?(before sink: Int, _ context: CheckContext) {
        var isParsed = false
        for (_, source) in context.chain(into: sink) {
            guard let factory = context.factories[source] else { return nil }
            let isParser = factory.classification.contains("Parser")
            isParsed = isParsed || isParser
            if isParser || factory.classification == "Generic" { continue }
            let caps = factory.padTemplates.filter { $0.direction == .source }.map(\.caps)
            guard !caps.isEmpty, caps.allSatisfy({ !$0.isAny && !$0.isEmpty }), !factory.isBin else { return nil }
            (self.index, self.factory, label) = (source, factory, context.label(source))
            let isAAC = caps.allSatisfy(Self.isAAC)
            types = isAAC ? [FileKind.aac] : caps.flatMap(\.mediaTypes)
            isBareAAC = isAAC && !isParsed && !caps.contains { $0.description.contains("adts") }
            return
        }
        return nil
    }

    var isEncoder: Bool { factory.classification.contains("Encoder") }

    /// Returns whether the caps are AAC, and no other kind of MPEG audio.
    private static func isAAC(_ caps: Caps) -> Bool {
        func isMPEG(_ version: Int) -> Bool {
            (try? Caps(checking: "audio/mpeg,mpegversion=\(version)")).map(caps.canIntersect) ?? false
        }
        return isMPEG(4) && !isMPEG(1)
    }
}
