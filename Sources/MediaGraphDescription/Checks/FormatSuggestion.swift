import GStreamer

/// The raw format that a name from elsewhere means: FFmpeg's, V4L2's, or one of GStreamer's mistyped.
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
