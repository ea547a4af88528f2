import GStreamer
import MediaGraph

/// Passes one frame in each interval: `preprocessor handler=timelapse options="every=10"`.
public struct Timelapse: VideoProcessor, NamedHandler {
    /// The handler's name in descriptions.
    public static let name = "timelapse"
    /// The line that `mediagraph inspect` shows.
    public static let summary = "Passes one frame in each interval"
    /// The options that `options=` may set.
    public static let options = [HandlerOption("every", default: "1", "the interval in seconds, up to 86400")]

    /// The interval in nanoseconds.
    private let interval: UInt64
    /// The running time in nanoseconds at which the next frame is due.
    private var due: UInt64 = 0

    /// Creates the handler; throws if an option is unknown or out of range.
    public init(options: HandlerOptions) throws {
        interval = UInt64(try options.double("every", in: 0.001...86400, default: 1) * 1e9)
    }

    /// Passes the first frame of each interval and drops the others. Called on the streaming thread.
    public mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        guard let now = frame.runningTime?.nanoseconds else { return .pass }
        guard now >= due else { return .drop }
        // Counted from the interval, not from the frame, so that a late frame doesn't delay all later ones.
        due = (now / interval + 1) * interval
        return .pass
    }
}
