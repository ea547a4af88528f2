import GStreamer

/// Selects the frames for a file of constant rate by their times: repeats frames where some are missing, and drops
/// surplus ones.
///
/// Deviations of up to three quarters of a frame's duration count as jitter. A jump back by more than a second, or a
/// gap of more than ten seconds, begins a new time line: to fill a long gap, one call would take very long and might
/// fill the disk.
struct ConstantRate {
    let rate: Fraction
    /// The running time of the file's beginning, in nanoseconds.
    private var begin: Double?
    /// The number of frames in the file, including repeated ones.
    private(set) var count = 0
    /// The number of repeated frames.
    private(set) var repeated = 0
    /// The number of dropped frames.
    private(set) var leftOut = 0
    /// The total length of gaps that were too long to fill, in seconds.
    private(set) var skipped = 0.0
    /// The longest gap that is filled, in seconds.
    private static let longestGap = 10.0

    init(_ rate: Fraction) { self.rate = rate }

    /// The action for a frame.
    struct Step: Equatable {
        /// How many times to repeat the previous frame first.
        var repeats: Int
        /// Whether to write the frame.
        var isWritten: Bool
    }

    /// Returns the action for the next frame, which has this running time.
    mutating func next(at time: ClockTime?) -> Step {
        guard let time, rate.numerator > 0 else {
            count += 1
            return Step(repeats: 0, isWritten: true)
        }
        let moment = Double(time.nanoseconds)
        let elapsed = Double(count) * 1e9 / rate.value
        var early = (moment - (begin ?? moment - elapsed) - elapsed) * rate.value / 1e9
        if begin == nil || early < -rate.value - 1 || early > rate.value * Self.longestGap {
            skipped += max(0, early / rate.value)
            begin = moment - elapsed
            early = 0
        }
        guard early > -0.75 else {
            leftOut += 1
            return Step(repeats: 0, isWritten: false)
        }
        // There is no frame to repeat before the first one.
        let repeats = count == 0 ? 0 : max(0, Int(early + 0.25))
        repeated += repeats
        count += repeats + 1
        return Step(repeats: repeats, isWritten: true)
    }
}
