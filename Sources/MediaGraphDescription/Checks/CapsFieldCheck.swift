import GStreamer

/// Finds wrong fields in the caps of filters and properties: mistyped names, names from other programs, and values of a
/// type that no element accepts (`widht=320`, `fps=30`, `framerate=30`). GStreamer accepts any field with any type.
enum CapsFieldCheck {
    /// The fields that GStreamer documents for raw media (`design/mediatype-video-raw`, `mediatype-audio-raw`), and
    /// those that its elements add.
    private static let fields: [String: [String]] = [
        "video/x-raw": [
            "format", "width", "height", "framerate", "max-framerate", "pixel-aspect-ratio", "interlace-mode",
            "field-order", "views", "multiview-mode", "multiview-flags", "colorimetry", "chroma-site",
            "texture-target", "drm-format", "mastering-display-info", "content-light-level", "alpha-mode",
        ],
        "audio/x-raw": ["format", "rate", "channels", "channel-mask", "layout", "channel-positions"],
    ]

    private static let wholeNumbers = ["width", "height", "rate", "channels"]
    private static let fractions = ["framerate", "max-framerate", "pixel-aspect-ratio"]

    static func problems(in context: CheckContext) -> [Problem] {
        let filters = context.parsed.links.compactMap { $0.filter }.flatMap {
            problems($0.text, $0.range, isFilter: true)
        }
        let properties = context.factories.flatMap { index, factory in
            context.parsed.elements[index].properties.filter {
                !$0.isOfChild && !$0.isUnknown && factory.property($0.name)?.kind == .caps
            }
        }
        return filters + properties.flatMap { problems($0.value, $0.valueRange, isFilter: false) }
    }

    private static func problems(_ text: String, _ place: Range<Int>, isFilter: Bool) -> [Problem] {
        guard !text.contains("…"), let caps = try? Caps(checking: text) else { return [] }
        var seen: Set<String> = []
        return (0..<caps.count).flatMap { index -> [Problem] in
            let structure = caps[index]
            let wrong = numberProblems(of: structure, text, place)
            guard let known = fields[structure.name] else { return wrong }
            return wrong + formatProblem(of: structure, text, place, isFilter: isFilter)
                + structure.fieldNames.compactMap { field in
                    guard !known.contains(field), seen.insert(field).inserted,
                        let meant = FieldSuggestion.text(field, of: structure, among: known)
                    else { return nil }
                    return Problem(
                        place: .expanded(range(of: field, in: text, place)), severity: .warning,
                        message: "\(structure.name) has no field \"\(field)\", so elements ignore it",
                        hint: "did you mean \"\(meant)\"?")
                }
        }
    }

    /// Returns a problem for a format that doesn't exist. For a filter, GStreamer reports only that two elements can't
    /// be linked; for a property, it reports nothing.
    private static func formatProblem(
        of structure: Structure, _ text: String, _ place: Range<Int>, isFilter: Bool
    ) -> [Problem] {
        let isVideo = structure.name.hasPrefix("video")
        let formats = isVideo ? RawFormatNames.video : RawFormatNames.audio
        guard let format = structure["format", as: String.self], !formats.contains(format), format != "DMA_DRM" else {
            return []
        }
        let suggestion = FormatSuggestion.find(format, isVideo: isVideo)
        return [
            Problem(
                place: .expanded(range(of: "format", in: text, place)),
                message: "there is no \(isVideo ? "video" : "audio") format \"\(format)\"",
                hint: suggestion.map { "did you mean format=\($0)?" }, isCertain: !isFilter)
        ]
    }

    /// Returns problems for numbers of a type that the field never has, so that no element accepts them.
    private static func numberProblems(of structure: Structure, _ text: String, _ place: Range<Int>) -> [Problem] {
        let media = structure.name.prefix { $0 != "/" }
        guard ["video", "audio", "image"].contains(media) else { return [] }
        func problem(_ field: String, _ type: String, _ suggestion: String?) -> Problem {
            Problem(
                place: .expanded(range(of: field, in: text, place)), message: "\(field) must be \(type)",
                hint: suggestion.map { "did you mean \(field)=\($0)?" })
        }
        let wholes = wholeNumbers.compactMap { field -> Problem? in
            let number = structure[field, as: Double.self]
            guard let value = structure[field, as: String.self] ?? number.map({ "\($0)" }) else { return nil }
            return problem(field, "a whole number (int)", NumberSuggestion.integer(value))
        }
        guard media != "audio" else { return wholes }
        return wholes
            + fractions.compactMap { field -> Problem? in
                let isRate = field != "pixel-aspect-ratio"
                if let value = structure[field, as: String.self] {
                    return problem(field, "a fraction", NumberSuggestion.fraction(value, isRate: isRate))
                }
                let number = structure[field, as: Double.self] ?? structure[field, as: Int32.self].map(Double.init)
                return number.map { problem(field, "a fraction", NumberSuggestion.fraction($0, isRate: isRate)) }
            }
    }

    /// Returns the place of the field's name; the place of the whole text if backslashes make the offsets differ.
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
