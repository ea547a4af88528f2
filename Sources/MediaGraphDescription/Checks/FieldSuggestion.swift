import GStreamer

/// What a field that raw media doesn't have most likely means, as a description writes it: `fps=30` for `framerate=30/1`.
enum FieldSuggestion {
    /// Without the marks that divide their words.
    private static let names: [String: [String: String]] = [
        "video/x-raw": [
            "fps": "framerate", "rate": "framerate", "pixelformat": "format", "pixfmt": "format",
            "aspectratio": "pixel-aspect-ratio", "par": "pixel-aspect-ratio", "w": "width", "h": "height",
        ],
        "audio/x-raw": [
            "samplerate": "rate", "samplingrate": "rate", "frequency": "rate", "freq": "rate", "hz": "rate",
            "sampleformat": "format", "samplefmt": "format", "channelcount": "channels", "nchannels": "channels",
        ],
    ]
    private static let sizes = ["resolution", "size", "framesize", "videosize"]

    /// `nil` for a field that may be its author's own.
    static func text(_ field: String, of structure: Structure, among known: [String]) -> String? {
        let word = field.lowercased().filter { $0 != "-" && $0 != "_" }
        let value = value(of: field, in: structure)
        if structure.name == "video/x-raw", sizes.contains(word) {
            return value.flatMap(size) ?? "width=1280,height=720"
        }
        guard let meant = names[structure.name]?[word] else { return NearestName.find(field, among: known) }
        return value.flatMap { FieldSuggestion.value($0, of: meant, isVideo: structure.name == "video/x-raw") }
            .map { "\(meant)=\($0)" } ?? meant
    }

    private static func value(of field: String, in structure: Structure) -> String? {
        structure[field, as: String.self] ?? structure[field, as: Int32.self].map { "\($0)" }
            ?? structure[field, as: Double.self].map { "\($0)" } ?? structure[field, as: Fraction.self].map { "\($0)" }
    }

    private static func value(_ text: String, of field: String, isVideo: Bool) -> String? {
        switch field {
        case "format": FormatSuggestion.find(text, isVideo: isVideo)
        case "framerate": NumberSuggestion.fraction(text, isRate: true)
        case "pixel-aspect-ratio": nil
        default: NumberSuggestion.integer(text)
        }
    }

    /// `1280x720`, or `720p`, which is 16:9.
    private static func size(_ text: String) -> String? {
        let numbers = text.lowercased().split { "x×*:".contains($0) }.map { Int($0) }
        if numbers.count == 2, let width = numbers[0], let height = numbers[1] {
            return "width=\(width),height=\(height)"
        }
        guard let height = Int(text.lowercased().trimming { $0 == "p" }), height > 0, height < 10_000 else {
            return nil
        }
        // Widths are even in 4:2:0.
        return "width=\((height * 8 + 8) / 9 * 2),height=\(height)"
    }
}

extension String {
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return rest
    }
}
