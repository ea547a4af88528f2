import GStreamer

/// The `pace` property of a source node.
public enum Pace: Int32, PropertyEnum {
    /// Media leaves the source at the clock's pace.
    case live
    /// Media leaves the source as fast as downstream accepts it.
    case fast

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphPace"
    /// The value's name in descriptions.
    public var nick: String { self == .live ? "live" : "fast" }
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        self == .live ? "At the clock's pace" : "As fast as downstream accepts; nothing is dropped"
    }
}
