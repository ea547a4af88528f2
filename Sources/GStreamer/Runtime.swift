import CGStreamer

/// The GStreamer library in this process.
public enum GStreamerRuntime {
    /// Initializes GStreamer. Only the first call does anything; later calls just test a flag. May be called from any
    /// thread.
    public static func initialize() {
        _ = initialized
    }

    private static let initialized: Void = {
        gst_init(nil, nil)
    }()

    /// The version of the library that is loaded, such as "1.22.0".
    public static var version: String {
        var major: UInt32 = 0
        var minor: UInt32 = 0
        var micro: UInt32 = 0
        var nano: UInt32 = 0
        gst_version(&major, &minor, &micro, &nano)
        return "\(major).\(minor).\(micro)"
    }

    /// Frees GStreamer's own resources, which makes the `leaks` tracer print its report. Don't use GStreamer
    /// afterwards.
    public static func deinitialize() {
        gst_deinit()
    }
}
