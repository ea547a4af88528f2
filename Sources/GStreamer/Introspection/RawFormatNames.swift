import CGStreamer

/// The names that GStreamer has for formats of raw media, as caps write them.
public enum RawFormatNames {
    /// `I420`, `NV12` …
    public static let video: [String] = {
        var count: UInt32 = 0
        let formats = gst_video_formats_raw(&count)
        return (0..<Int(count)).map { String(cString: gst_video_format_to_string(formats![$0])) }
    }()

    /// `S16LE`, `F32LE` …
    public static let audio: [String] = {
        var count: UInt32 = 0
        let formats = gst_audio_formats_raw(&count)
        return (0..<Int(count)).map { String(cString: gst_audio_format_to_string(formats![$0])) }
    }()
}
