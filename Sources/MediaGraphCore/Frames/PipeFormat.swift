import GStreamer

/// The `format` property of a pipe: one format, a series of which the pipe gives the usual one, or the handler's choice.
public enum PipeFormat: Int32, PropertyEnum {
    case auto, i420, nv12, nv21, i422, bgra, rgba, argb, abgr, rgb24, bgr24, a420, yuv, rgb

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphPixelFormat"

    /// What the pipe delivers; `nil` leaves it to the handler, or else it is I420.
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

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .auto: "The first of the handler's formats, or I420 where it takes all, whatever comes in"
        case .yuv: "The YUV series: I420"
        case .rgb: "The RGB series: BGRA"
        case .a420: "A420 in caps; frames that come without alpha are I420"
        default: "\(format?.gstreamerName ?? "") in caps"
        }
    }
}
