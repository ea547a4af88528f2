import GStreamer

/// Warns of raw video that x264enc and x265enc refuse, or encode in a form that most players can't play. A converter
/// before these encoders converts any format that they don't support to 4:4:4, even one with less chroma (measured with
/// GStreamer 1.22).
enum EncoderFormatCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.flatMap { index, factory -> [Problem] in
            guard ["x264enc", "x265enc"].contains(factory.name), !asksForProfile(index, context) else { return [] }
            let input = RawVideoInput(of: index, context)
            let chroma = input.format.map { Self.chroma(of: $0, in: factory) } ?? (input.isAnyFormat ? .full : nil)
            let place = Problem.Place.expanded(context.parsed.elements[index].range)
            let texts = [
                chroma.flatMap { chromaProblem($0, context.label(index)) },
                input.size.flatMap { sizeProblem($0, chroma, context.label(index)) },
            ]
            return texts.compactMap(\.self).map {
                Problem(place: place, severity: .warning, message: $0.message, hint: $0.hint)
            }
        }
    }

    private typealias Text = (message: String, hint: String)

    private enum Chroma: String { case full = "4:4:4", half = "4:2:2", quarter = "4:2:0" }

    private static func chroma(of format: String, in factory: ElementFactoryInfo) -> Chroma {
        let asked = try? Caps(checking: "video/x-raw,format=\(format)")
        let isKnown = factory.padTemplates.contains { template in
            template.direction == .sink && asked.map(template.caps.canIntersect) == true
        }
        guard isKnown, !format.hasPrefix("Y444") else { return .full }
        return format.hasPrefix("Y42B") || format.hasPrefix("I422") ? .half : .quarter
    }

    private static func chromaProblem(_ chroma: Chroma, _ encoder: String) -> Text? {
        guard chroma != .quarter else { return nil }
        return (
            "\(encoder) will encode \(chroma.rawValue), which browsers, phones and most players can't play",
            "write `videoconvert ! video/x-raw,format=I420` before it"
        )
    }

    private static func sizeProblem(_ size: (width: Int, height: Int), _ chroma: Chroma?, _ encoder: String) -> Text? {
        let (width, height) = size
        // chromaProblem warns of other chroma formats.
        guard chroma == nil || chroma == .quarter, !width.isMultiple(of: 2) || !height.isMultiple(of: 2) else {
            return nil
        }
        let (evenWidth, evenHeight) = (max(2, width - width % 2), max(2, height - height % 2))
        return (
            "\(encoder) can't encode \(width)×\(height): in 4:2:0, width and height must be even",
            "write `videoscale ! video/x-raw,width=\(evenWidth),height=\(evenHeight)` before it"
        )
    }

    /// Returns whether a filter after the encoder, or after a parser or queue behind it, asks for a profile. If so, the
    /// author has chosen the format.
    private static func asksForProfile(_ index: Int, _ context: CheckContext) -> Bool {
        var open = [index]
        var seen: Set<Int> = []
        while let index = open.popLast() {
            guard seen.insert(index).inserted else { continue }
            for link in context.links(from: index) {
                let sink = context.element(of: link.sink)
                let filters = [link.filter?.text, sink.flatMap(context.filterText)]
                if filters.contains(where: { $0?.contains("profile") == true }) { return true }
                guard let sink, let factory = context.factories[sink] else { continue }
                if factory.classification.contains("Parser") || factory.classification == "Generic" {
                    open.append(sink)
                }
            }
        }
        return false
    }
}

/// The size and format of the raw video that an element receives, as far as the text determines them.
private struct RawVideoInput {
    /// The size, if a filter fixes it.
    var size: (width: Int, height: Int)?
    /// The format, if a filter fixes it.
    var format: String?
    /// Whether the source outputs any format that is asked for.
    var isAnyFormat = false

    /// Follows the chain upstream of `encoder`, past elements that keep size and format unless a filter asks for
    /// others.
    package init(of encoder: Int, _ context: CheckContext) {
        var width: Structure?
        var format: Structure?
        for (link, source) in context.chain(into: encoder) {
            let filters = [link.filter?.text, context.filterText(source)].compactMap(\.self)
            for caps in filters.compactMap({ try? Caps(checking: $0) }) where caps.count == 1 {
                if width == nil, caps[0].fieldNames.contains("width") { width = caps[0] }
                if format == nil, caps[0].fieldNames.contains("format") { format = caps[0] }
            }
            guard let factory = context.factories[source] else { break }
            isAnyFormat = format == nil && ["videotestsrc", "ximagesrc", "pngdec"].contains(factory.name)
            guard Self.passes(factory) else { break }
        }
        if let w = width?["width", as: Int32.self], let h = width?["height", as: Int32.self] { size = (Int(w), Int(h)) }
        self.format = format?["format", as: String.self]
    }

    private static func passes(_ factory: ElementFactoryInfo) -> Bool {
        factory.classification == "Generic" || factory.classification.contains("Converter/Video")
            || ["videorate", "valve", "preprocessor", "frameobserver"].contains(factory.name)
            || factory.classification == "Filter/Editor/Video"
    }
}

extension CheckContext {
    /// Returns the caps of a `capsfilter`; `nil` for other elements.
    fileprivate func filterText(_ index: Int) -> String? {
        guard factories[index]?.name == "capsfilter" else { return nil }
        return parsed.elements[index].properties.last { $0.name == "caps" && !$0.isUnknown }?.value
    }
}
