import GStreamer

/// Fields of raw video and audio in a filter's caps, or in a property, that are mistyped: `widht=320`. GStreamer takes any
/// field, and none of its elements looks at such a one.
enum CapsFieldCheck {
    /// What GStreamer's raw media types document (`design/mediatype-video-raw`, `mediatype-audio-raw`), and what its own
    /// elements add.
    private static let fields: [String: [String]] = [
        "video/x-raw": [
            "format", "width", "height", "framerate", "max-framerate", "pixel-aspect-ratio", "interlace-mode",
            "field-order", "views", "multiview-mode", "multiview-flags", "colorimetry", "chroma-site",
            "texture-target", "drm-format", "mastering-display-info", "content-light-level", "alpha-mode",
        ],
        "audio/x-raw": ["format", "rate", "channels", "channel-mask", "layout", "channel-positions"],
    ]

    static func problems(in context: CheckContext) -> [Problem] {
        let filters = context.parsed.links.compactMap { link in link.filter.map { ($0.text, $0.range) } }
        let properties = context.factories.flatMap { index, factory in
            context.parsed.elements[index].properties.filter {
                !$0.isOfChild && !$0.isUnknown && factory.property($0.name)?.kind == .caps
            }.map { ($0.value, $0.valueRange) }
        }
        return (filters + properties).flatMap(problems)
    }

    private static func problems(_ text: String, _ place: Range<Int>) -> [Problem] {
        guard !text.contains("…"), let caps = try? Caps(checking: text) else { return [] }
        var seen: Set<String> = []
        return (0..<caps.count).flatMap { index -> [Problem] in
            let structure = caps[index]
            guard let known = fields[structure.name] else { return [] }
            return valueProblems(of: structure, text, place)
                + structure.fieldNames.compactMap { field in
                    guard !known.contains(field), seen.insert(field).inserted,
                        let nearest = NearestName.find(field, among: known)
                    else { return nil }
                    return Problem(
                        place: .expanded(range(of: field, in: text, place)), severity: .warning,
                        message: "\(structure.name) has no field \"\(field)\", and nothing here looks at one",
                        hint: "did you mean \"\(nearest)\"?")
                }
        }
    }

    /// Values that no raw media has: GStreamer only says that two elements can't be linked.
    private static func valueProblems(of structure: Structure, _ text: String, _ place: Range<Int>) -> [Problem] {
        var problems: [Problem] = []
        func add(_ field: String, _ message: String, _ suggestion: String?) {
            problems.append(
                Problem(
                    place: .expanded(range(of: field, in: text, place)), message: message,
                    hint: suggestion.map { "did you mean \(field)=\($0)?" }, isCertain: false))
        }
        let isVideo = structure.name.hasPrefix("video")
        let formats = isVideo ? RawFormatNames.video : RawFormatNames.audio
        if let format = structure["format", as: String.self], !formats.contains(format), format != "DMA_DRM" {
            let exact = [format.uppercased(), format.uppercased() + "LE"].first(where: formats.contains)
            add(
                "format", "there is no \(isVideo ? "video" : "audio") format \"\(format)\"",
                exact ?? NearestName.find(format.uppercased(), among: formats))
        }
        for field in ["framerate", "max-framerate", "pixel-aspect-ratio"] where isVideo {
            guard let number = structure[field, as: Double.self] ?? structure[field, as: Int32.self].map(Double.init)
            else {
                continue
            }
            add(field, "\(field) must be a fraction", fraction(number))
        }
        return problems
    }

    /// `30/1`; rounded NTSC rates become n/1001.
    private static func fraction(_ number: Double) -> String? {
        guard number > 0, number < 100_000 else { return nil }
        if number == number.rounded() { return "\(Int(number))/1" }
        let whole = number.rounded(.up)
        if abs(whole / 1.001 - number) < 0.01 { return "\(Int(whole) * 1000)/1001" }
        return "\(Int((number * 1000).rounded()))/1000"
    }

    /// Where the field's name stands; all of the text where a backslash keeps offsets from carrying over.
    private static func range(of field: String, in text: String, _ place: Range<Int>) -> Range<Int> {
        let bytes = Array(text.utf8)
        let name = Array(field.utf8)
        guard bytes.count == place.count, name.count < bytes.count else { return place }
        for start in 1...(bytes.count - name.count)
        where bytes[start...].starts(with: name) && !isWord(bytes[start - 1])
            && bytes[(start + name.count)...].first(where: { !$0.isSpace }) == UInt8(ascii: "=")
        {
            return place.lowerBound + start..<place.lowerBound + start + name.count
        }
        return place
    }

    private static func isWord(_ byte: UInt8) -> Bool { byte.isAlphanumeric || byte == UInt8(ascii: "-") }
}
