import GStreamer

/// What carries the streams between a session's users.
public enum SessionTransport: Int32, PropertyEnum {
    /// Between all sessions of the machine's user: by reference within a process, in shared memory between processes.
    case room

    public static let typeName = "MediaGraphSessionTransport"
    public var nick: String { "\(self)" }
    public var blurb: String {
        switch self {
        case .room: "Users on this machine: nothing to install, and within a process no frame is copied"
        }
    }
}
