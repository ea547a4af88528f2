import GStreamer

/// Which frames of a stream a file of constant rate has, by their times: one is repeated where some are missing, and left
/// out where there are too many.
///
/// Up to three quarters of a frame's time are taken for jitter. A jump back by more than a second begins anew, and so does a
/// gap of more than ten seconds: to fill it would take one call very long, and a disk.
struct ConstantRate {
    let rate: Fraction
    /// The file's first moment, in nanoseconds of running time.
    private var begin: Double?
    /// Frames in the file so far.
    private(set) var count = 0
    private(set) var repeated = 0
    private(set) var leftOut = 0
    /// Seconds of long gaps, which aren't filled.
    private(set) var skipped = 0.0
    private static let longestGap = 10.0

    init(_ rate: Fraction) { self.rate = rate }

    /// What is to be done with a frame.
    struct Step: Equatable {
        /// How often the one before it is to be written once more.
        var repeats: Int
        var isWritten: Bool
    }

    /// A frame of that running time comes.
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
        // Where the first frame is there is none to repeat.
        let repeats = count == 0 ? 0 : max(0, Int(early + 0.25))
        repeated += repeats
        count += repeats + 1
        return Step(repeats: repeats, isWritten: true)
    }
}
