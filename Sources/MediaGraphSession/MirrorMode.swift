import GStreamer
import MediaGraphCore

/// Where a user's camera is to be seen mirrored (ZEGO's `ZegoVideoMirrorMode`). Frames say so (``Flip``), and whoever shows
/// them does it: no node flips by itself.
public enum MirrorMode: Int32, PropertyEnum {
    /// As in a mirror for oneself, as it is for others.
    case previewOnly, both, none, publishOnly

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

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .previewOnly: "The preview's frames are to be flipped"
        case .both: "The preview's frames, and those that the others get"
        case .none: "None"
        case .publishOnly: "Those that the others get"
        }
    }

    var preview: Flip { self == .previewOnly || self == .both ? .x : .none }
    var published: Flip { self == .publishOnly || self == .both ? .x : .none }
}
