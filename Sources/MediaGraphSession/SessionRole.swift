import GStreamer

/// A user's role in a room.
public enum SessionRole: Int32, PropertyEnum {
    /// A user who takes part in the session.
    case participant
    /// A user who runs the session. A host who may stream raw data can enable the alpha channel.
    case host

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphSessionRole"
    /// The value's description, which `inspect` prints.
    public var blurb: String { self == .host ? "Runs the session" : "Takes part in the session" }
}
