import GStreamer

/// Whose memory a pipe's frames are (the SDKs' raw data memory mode).
public enum MemoryMode: Int32, PropertyEnum {
    /// Borrowed: valid only inside the call.
    case stack
    /// Owned: may be kept and sent to other threads.
    case heap

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphMemoryMode"
    /// What the value means, for `inspect`.
    public var blurb: String {
        self == .stack ? "Frames are borrowed, valid only inside the call" : "Frames are owned and may be kept"
    }
}
