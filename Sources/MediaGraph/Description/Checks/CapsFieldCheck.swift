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
            return structure.fieldNames.compactMap { field in
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
