import CGStreamer

/// The GStreamer library of this process.
public enum GStreamerRuntime {
    /// Initialises GStreamer once; later calls cost a flag. Any thread.
    public static func initialize() {
        _ = initialized
    }

    private static let initialized: Void = {
        gst_init(nil, nil)
    }()

    /// The version of the library that runs, such as "1.22.0".
    public static var version: String {
        var major: UInt32 = 0
        var minor: UInt32 = 0
        var micro: UInt32 = 0
        var nano: UInt32 = 0
        gst_version(&major, &minor, &micro, &nano)
        return "\(major).\(minor).\(micro)"
    }

    /// Frees what GStreamer holds, so that the `leaks` tracer reports. Nothing of GStreamer may be used afterwards.
    public static func deinitialize() {
        gst_deinit()
    }
}
