import GStreamer

/// The `pace` of a source.
public enum Pace: Int32, PropertyEnum {
    case live, fast

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphPace"
    /// The value's name in descriptions.
    public var nick: String { self == .live ? "live" : "fast" }
    /// What the value means, for `inspect`.
    public var blurb: String {
        self == .live ? "At the clock's pace" : "As fast as downstream takes; nothing is dropped"
    }
}
