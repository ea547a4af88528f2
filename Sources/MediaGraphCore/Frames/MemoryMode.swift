import GStreamer

/// Whether a pipe's frames are borrowed or owned (the SDKs' raw data memory mode).
public enum MemoryMode: Int32, PropertyEnum {
    /// Borrowed frames, which are valid only during the call.
    case stack
    /// Owned frames, which may be kept and sent to other threads.
    case heap

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphMemoryMode"
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        self == .stack ? "Frames are borrowed, valid only during the call" : "Frames are owned and may be kept"
    }
}
