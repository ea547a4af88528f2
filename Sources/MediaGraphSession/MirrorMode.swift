import GStreamer
import MediaGraphCore

/// Where a user's camera appears mirrored (ZEGO's `ZegoVideoMirrorMode`). Frames are only marked (``Flip``); the
/// renderer has to flip them.
public enum MirrorMode: Int32, PropertyEnum {
    /// The preview is mirrored, as in a mirror; the other users see the camera unmirrored. This is the default.
    case previewOnly
    /// The preview and the other users' video are mirrored.
    case both
    /// Nothing is mirrored.
    case none
    /// The other users' video is mirrored, the preview isn't.
    case publishOnly

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphMirrorMode"

    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .previewOnly: "preview-only"
        case .both: "both"
        case .none: "none"
        case .publishOnly: "publish-only"
        }
    }

    /// The value's description, which `inspect` prints.
    public var blurb: String {
        switch self {
        case .previewOnly: "Only the preview's frames"
        case .both: "The preview's frames and the frames that other users receive"
        case .none: "No frames"
        case .publishOnly: "Only the frames that other users receive"
        }
    }

    /// Whether the preview's frames are mirrored.
    var mirrorsPreview: Bool { self == .previewOnly || self == .both }
    /// Whether the frames that other users receive are mirrored.
    var mirrorsPublished: Bool { self == .publishOnly || self == .both }
}
