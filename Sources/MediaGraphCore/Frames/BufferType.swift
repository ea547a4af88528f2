import GStreamer

/// What a pipe hands over (ZEGO's `ZegoVideoBufferType`).
public enum BufferType: Int32, PropertyEnum {
    /// Pixels in memory that the CPU reads: ``VideoFrame``.
    case raw
    /// The stream's buffer as it comes, with memory of its own kind: ``NativeVideoFrame``.
    case native
    /// Access units of encoded video as they come: ``EncodedVideoFrame``.
    case encoded

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphBufferType"

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .raw: "Raw pixels in system memory, in the pipe's format and resolution"
        case .native: "Raw video as it comes, in whatever memory (DMABuf, GL)"
        case .encoded: "Access units of encoded video as they come"
        }
    }

    /// What a pipe of this type takes.
    package var caps: Caps {
        switch self {
        case .raw: Caps.anyRawVideo
        case .native: Caps("video/x-raw(ANY)")!
        case .encoded: Caps(VideoCodec.allCases.map(\.capsText).joined(separator: "; "))!
        }
    }
}

/// How encoded video is coded.
public enum VideoCodec: String, Sendable, CaseIterable, Hashable {
    case h264 = "video/x-h264"
    case h265 = "video/x-h265"
    case vp8 = "video/x-vp8"
    case vp9 = "video/x-vp9"
    case av1 = "video/x-av1"
    /// Motion JPEG.
    case jpeg = "image/jpeg"

    /// One buffer is one access unit.
    var capsText: String {
        switch self {
        case .h264, .h265: "\(rawValue), alignment=au"
        case .av1: "\(rawValue), alignment=tu"
        case .vp8, .vp9, .jpeg: rawValue
        }
    }
}
