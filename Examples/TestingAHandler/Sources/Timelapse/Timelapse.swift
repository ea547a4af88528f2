import GStreamer
import MediaGraph

/// Lets one frame through for each interval: `preprocessor handler=timelapse options="every=10"`.
public struct Timelapse: VideoProcessor, NamedHandler {
    public static let name = "timelapse"
    public static let summary = "Lets one frame through for each interval"
    public static let options = [HandlerOption("every", default: "1", "seconds from one frame to the next, to 86400")]

    private let interval: UInt64
    /// Nanoseconds of running time at which the next frame is due.
    private var due: UInt64 = 0

    public init(options: HandlerOptions) throws {
        interval = UInt64(try options.double("every", in: 0.001...86400, default: 1) * 1e9)
    }

    public mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        guard let now = frame.runningTime?.nanoseconds else { return .pass }
        guard now >= due else { return .drop }
        // By the interval, not by the frame: what comes a little late doesn't delay all that follow.
        due = (now / interval + 1) * interval
        return .pass
    }
}
