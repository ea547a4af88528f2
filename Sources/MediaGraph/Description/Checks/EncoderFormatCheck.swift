import GStreamer

/// Raw video that x264enc and x265enc refuse, or encode to what most players can't play: GStreamer negotiates the richest format
/// that both sides know, and that is 4:4:4 for anything in RGB.
enum EncoderFormatCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        context.factories.sorted { $0.key < $1.key }.flatMap { index, factory in
            guard ["x264enc", "x265enc"].contains(factory.name) else { return [Problem]() }
            let input = RawVideoInput(of: index, context)
            let place = Problem.Place.expanded(context.parsed.elements[index].range)
            return [sizeProblem(input, index, context), chromaProblem(input, index, context)].compactMap { text in
                text.map { Problem(place: place, severity: .warning, message: $0.message, hint: $0.hint) }
            }
        }
    }

    private typealias Text = (message: String, hint: String)

    private static func sizeProblem(_ input: RawVideoInput, _ index: Int, _ context: CheckContext) -> Text? {
        guard let (width, height) = input.size, !width.isMultiple(of: 2) || !height.isMultiple(of: 2),
            !input.isFullChroma || profile(behind: index, context) != nil
        else { return nil }
        let even = "\(width - width % 2),height=\(height - height % 2)"
        return (
            "\(context.label(index)) can't encode \(width)×\(height): in 4:2:0, width and height must be even",
            "write `videoscale ! video/x-raw,width=\(even)` before it"
        )
    }

    private static func chromaProblem(_ input: RawVideoInput, _ index: Int, _ context: CheckContext) -> Text? {
        guard input.isFullChroma, profile(behind: index, context) == nil else { return nil }
        return (
            "\(context.label(index)) will encode 4:4:4, which browsers, phones and most players can't play",
            "write `videoconvert ! video/x-raw,format=I420` before it"
        )
    }

    /// A profile that a filter behind the encoder asks for.
    private static func profile(behind index: Int, _ context: CheckContext) -> String? {
        context.parsed.links.lazy.filter { context.element(of: $0.source) == index }
            .compactMap { $0.filter.flatMap { try? Caps(checking: $0.text) } }
            .compactMap { $0.count > 0 ? $0[0]["profile", as: String.self] : nil }.first
    }
}

/// What the text says about the raw video that an element receives.
private struct RawVideoInput {
    /// The size, where a filter fixes it.
    var size: (width: Int, height: Int)?
    /// RGB or 4:4:4 arrives, unless a converter is told otherwise.
    var isFullChroma = false

    /// Walks upstream as long as there is one way.
    init(of index: Int, _ context: CheckContext) {
        var (index, width, height) = (index, Int32?.none, Int32?.none)
        var format: String?
        var seen: Set<Int> = []
        while seen.insert(index).inserted {
            let inputs = context.parsed.links.filter { context.element(of: $0.sink) == index }
            guard inputs.count == 1, let source = context.element(of: inputs[0].source) else { break }
            let filters = [inputs[0].filter?.text, context.filterText(source)].compactMap(\.self)
            for caps in filters.compactMap({ try? Caps(checking: $0) }) where caps.count == 1 {
                width = width ?? caps[0]["width", as: Int32.self]
                height = height ?? caps[0]["height", as: Int32.self]
                format = format ?? caps[0]["format", as: String.self]
            }
            index = source
        }
        if let width, let height { size = (Int(width), Int(height)) }
        let source = context.factories[index]?.name ?? ""
        isFullChroma = format.map(Self.isFullChroma) ?? ["videotestsrc", "ximagesrc"].contains(source)
    }

    private static func isFullChroma(_ format: String) -> Bool {
        ["Y444", "RGB", "BGR", "xRGB", "xBGR", "ARGB", "ABGR", "GBR", "AYUV", "VUYA", "v308", "IYU2"].contains {
            format.hasPrefix($0)
        }
    }
}

extension CheckContext {
    /// The caps of a `capsfilter`.
    fileprivate func filterText(_ index: Int) -> String? {
        guard factories[index]?.name == "capsfilter" else { return nil }
        return parsed.elements[index].properties.last { $0.name == "caps" && !$0.isUnknown }?.value
    }
}
