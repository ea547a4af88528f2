import CGStreamer

/// The names of GStreamer's formats of raw media, as used in caps.
package enum RawFormatNames {
    /// The pixel formats: `I420`, `NV12` …
    package static let video: [String] = {
        var count: UInt32 = 0
        let formats = gst_video_formats_raw(&count)
        return (0..<Int(count)).map { String(cString: gst_video_format_to_string(formats![$0])) }
    }()

    /// The sample formats: `S16LE`, `F32LE` …
    package static let audio: [String] = {
        var count: UInt32 = 0
        let formats = gst_audio_formats_raw(&count)
        return (0..<Int(count)).map { String(cString: gst_audio_format_to_string(formats![$0])) }
    }()
}
