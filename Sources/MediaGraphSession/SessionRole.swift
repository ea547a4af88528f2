import GStreamer

/// What a user may do in a room.
public enum SessionRole: Int32, PropertyEnum {
    case participant
    /// Who runs the session: with the permission to stream raw data, the one who may have the alpha channel.
    case host

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphSessionRole"
    /// What the value means, for `inspect`.
    public var blurb: String { self == .host ? "Runs the session" : "Takes part in it" }
}
