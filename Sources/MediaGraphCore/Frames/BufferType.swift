import GStreamer

/// The kind of frames that a pipe delivers (ZEGO's `ZegoVideoBufferType`).
public enum BufferType: Int32, PropertyEnum {
    /// Pixels in system memory: ``VideoFrame``.
    case raw
    /// The stream's buffers, in any kind of memory: ``NativeVideoFrame``. If the pipe or a subscription asks for
    /// another format than the stream's, the buffers are converted, and are then in system memory.
    case native
    /// The stream's access units of encoded video: ``EncodedVideoFrame``.
    case encoded

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphBufferType"

    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .raw: "Raw pixels in system memory, in the pipe's format and resolution"
        case .native: "Raw video in whatever memory it comes (DMABuf, GL), converted only if a format is set"
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

    /// Returns caps of these formats in any memory, in this order of preference.
    package static func nativeCaps(of formats: [VideoFormat]) -> Caps {
        Caps("video/x-raw(ANY), format={ \(formats.map(\.gstreamerName).joined(separator: ", ")) }")!
    }

    /// Returns the caps of the streams that a pipe with `buffer-type=native` can deliver in `format`: first that format
    /// in any memory, then all formats in memory from which they can be converted.
    package static func nativeCaps(deliverableIn format: VideoFormat) -> Caps {
        readable.reduce(nativeCaps(of: [format])) { $0.appending($1) }
    }

    /// The kinds of memory that the CPU can read.
    package static let readableMemory = ["memory:SystemMemory", "memory:DMABuf", "memory:GLMemory"]

    private static let readable = readableMemory.map { Caps.anyRawVideo(in: $0).constant }
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
