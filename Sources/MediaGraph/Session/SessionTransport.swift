import GStreamer

/// What carries the streams between a session's users.
public enum SessionTransport: Int32, PropertyEnum {
    /// By reference, between all sessions of this process.
    case room

    public static let typeName = "MediaGraphSessionTransport"
    public var nick: String { "\(self)" }
    public var blurb: String {
        switch self {
        case .room: "Users of this process: nothing to install, and no frame is copied"
        }
    }
}
