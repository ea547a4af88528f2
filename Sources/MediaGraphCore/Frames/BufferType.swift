import GStreamer

/// The kind of frames that a pipe delivers (ZEGO's `ZegoVideoBufferType`).
public enum BufferType: Int32, PropertyEnum {
    /// Pixels in system memory: ``VideoFrame``.
    case raw
    /// The stream's buffers, in whatever memory they have: ``NativeVideoFrame``.
    case native
    /// The stream's access units of encoded video: ``EncodedVideoFrame``.
    case encoded

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphBufferType"

    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .raw: "Raw pixels in system memory, in the pipe's format and resolution"
        case .native: "Raw video as it comes, in whatever memory (DMABuf, GL)"
        case .encoded: "Access units of encoded video as they come"
        }
    }

    /// The caps that a pipe of this type accepts.
    package var caps: Caps {
        switch self {
        case .raw: Caps.anyRawVideo
        case .native: Caps("video/x-raw(ANY)")!
        case .encoded: Caps(VideoCodec.allCases.map(\.capsText).joined(separator: "; "))!
        }
    }
}

/// A video codec. The raw value is the name of its caps.
public enum VideoCodec: String, Sendable, CaseIterable, Hashable {
    /// H.264 (AVC).
    case h264 = "video/x-h264"
    /// H.265 (HEVC).
    case h265 = "video/x-h265"
    /// VP8.
    case vp8 = "video/x-vp8"
    /// VP9.
    case vp9 = "video/x-vp9"
    /// AV1.
    case av1 = "video/x-av1"
    /// Motion JPEG.
    case jpeg = "image/jpeg"

    /// Caps in which one buffer is one access unit.
    var capsText: String {
        switch self {
        case .h264, .h265: "\(rawValue), alignment=au"
        case .av1: "\(rawValue), alignment=tu"
        case .vp8, .vp9, .jpeg: rawValue
        }
    }
}
