import GStreamer

/// Suggests the field that an unknown field of raw media most likely means, as a description writes it:
/// `framerate=30/1` for `fps=30`.
enum FieldSuggestion {
    /// The names of other programs, without hyphens and underscores, and GStreamer's names for them.
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

    /// Returns the suggestion; `nil` for a field that may be a custom one.
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

    /// Returns the fields for a size written `1280x720`, or `720p`, which is taken as 16:9.
    private static func size(_ text: String) -> String? {
        let numbers = text.lowercased().split { "x×*:".contains($0) }.map { Int($0) }
        if numbers.count == 2, let width = numbers[0], let height = numbers[1] {
            return "width=\(width),height=\(height)"
        }
        guard let height = Int(text.lowercased().trimming { $0 == "p" }), height > 0, height < 10_000 else {
            return nil
        }
        // Round up to an even width, which 4:2:0 requires.
        return "width=\((height * 8 + 8) / 9 * 2),height=\(height)"
    }
}

/// Suggests the raw format for a name that GStreamer doesn't know: FFmpeg's or V4L2's name, or a mistyped one.
enum FormatSuggestion {
    private static let video = [
        "YUV420P": "I420", "YUVJ420P": "I420", "YUV420": "I420", "YUV422P": "Y42B", "YUVJ422P": "Y42B",
        "I422": "Y42B", "YUV444P": "Y444", "YUVJ444P": "Y444", "YUV420P10LE": "I420_10LE", "P010LE": "P010_10LE",
        "P010": "P010_10LE", "YUYV422": "YUY2", "YUYV": "YUY2", "UYVY422": "UYVY", "RGB24": "RGB", "BGR24": "BGR",
        "RGB0": "RGBx", "BGR0": "BGRx", "GRAY": "GRAY8", "GREY": "GRAY8",
    ]
    private static let audio = ["FLT": "F32LE", "FLOAT": "F32LE", "DBL": "F64LE", "DOUBLE": "F64LE"]

    static func find(_ name: String, isVideo: Bool) -> String? {
        let word = name.uppercased()
        let formats = isVideo ? RawFormatNames.video : RawFormatNames.audio
        let pcm = word.hasPrefix("PCM_") ? String(word.dropFirst(4)) : word
        return (isVideo ? video : audio)[word] ?? [word, pcm, pcm + "LE"].first(where: formats.contains)
            ?? NearestName.find(word, among: formats)
    }
}

extension String {
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return rest
    }
}
