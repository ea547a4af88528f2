import GStreamer

/// The format in which a pipe delivers frames: its `format` property, or the format of one subscription. It is one
/// format, a series of formats (`yuv`, `rgb`), or the default (`auto`).
public enum PipeFormat: Int32, PropertyEnum {
    /// As a property, the handler's first format, or I420 if the handler accepts all. If that is I420, A420 frames stay
    /// A420, if the handler accepts A420 and frames aren't turned or mirrored. With `buffer-type=native`, the stream's
    /// format. For a subscription, the pipe's format.
    case auto
    /// Exactly this format.
    case i420, nv12, nv21, i422, bgra, rgba, argb, abgr, rgb24, bgr24, a420
    /// The usual YUV format, I420.
    case yuv
    /// The usual RGB format, BGRA.
    case rgb

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphPixelFormat"

    /// The format that the pipe delivers; `nil` for the handler's first format, or I420 if the handler accepts all
    /// formats.
    public var format: VideoFormat? {
        switch self {
        case .auto: nil
        case .i420, .yuv: .i420
        case .nv12: .nv12
        case .nv21: .nv21
        case .i422: .i422
        case .bgra, .rgb: .bgra
        case .rgba: .rgba
        case .argb: .argb
        case .abgr: .abgr
        case .rgb24: .rgb24
        case .bgr24: .bgr24
        case .a420: .a420
        }
    }

    /// Reads a number from another copy of the code. Throws `invalidParameter` if it isn't a format.
    package init(checking number: Int32) throws(MediaGraphError) {
        guard let format = PipeFormat(rawValue: number) else {
            throw .invalidParameter(
                .init("format", expected: Self.allCases.map(\.nick).joined(separator: ", "), actual: "\(number)"))
        }
        self = format
    }

    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .auto: "auto"
        case .yuv: "yuv"
        case .rgb: "rgb"
        case .i422: "I422"
        case .rgb24: "RGB24"
        case .bgr24: "BGR24"
        default: format?.gstreamerName ?? "auto"
        }
    }

    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .auto:
            """
            The handler's first format, or I420 if it accepts all (A420 then stays A420); the stream's own with \
            buffer-type=native
            """
        case .yuv: "The usual YUV format, I420"
        case .rgb: "The usual RGB format, BGRA"
        case .a420: "A420 in caps; frames without alpha are delivered as I420"
        default: "\(format?.gstreamerName ?? "") in caps"
        }
    }
}
