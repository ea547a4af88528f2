import Foundation
import GStreamer

/// The property `drift` of a microphone: how to correct sound whose sender's clock isn't the graph's clock.
enum DriftCorrection: Int32, PropertyEnum {
    case resample, skew, none

    static let typeName = "MediaGraphDriftCorrection"

    var nick: String {
        switch self {
        case .resample: "resample"
        case .skew: "skew"
        case .none: "none"
        }
    }

    var blurb: String {
        switch self {
        case .resample: "After a drift of 10 ms, resample as little as needed to stay in sync"
        case .skew: "After each drift of 10 ms, skip or insert 10 ms"
        case .none:
            "Don't correct drift; only gaps of more than 40 ms between given timestamps are filled with silence"
        }
    }
}

/// Measures how far a live sender's clock has drifted from the graph's clock, and controls the correction. Pure: all
/// times are in seconds.
///
/// Method: for each block, the lateness is the arrival time minus the end of the samples before the block. After about
/// 30 blocks the mean lateness is free of jitter. Within `tolerance` nothing is corrected, so that sound which only
/// jitters isn't changed. Beyond that, `resample` uses a control loop that brings the mean to zero and holds it there:
/// proportional and integral, critically damped, with a low-pass filter at its input. The loop is fast at first and
/// slow later. By then it knows a drift of 200 ppm to within a few ppm, even if single blocks are ±30 ms off. `skew`
/// corrects the whole mean at once.
struct ClockDrift: Sendable {
    /// The mean lateness that isn't corrected. Sound and picture are out of sync at 20 ms; half of that is left for the
    /// picture and for the measurement's error.
    static let tolerance = 0.010
    /// The largest change of the rate, 1.7 cents. Clocks deviate by less than a tenth of that, and listeners don't
    /// notice it.
    static let greatest = 1000e-6
    /// The largest change in the first 20 seconds, to correct first blocks that didn't arrive at their time.
    static let greatestAtFirst = 5000e-6
    /// The largest change of the ratio in a second.
    static let slope = 2000e-6

    private let correction: DriftCorrection
    /// A sender that is further ahead than this sends whenever there is room in the queue, instead of by a clock.
    private let aheadLimit: Double
    /// The mean lateness since the last break: cumulative at first, later over the last five seconds.
    private var mean = 0.0
    /// The duration of the blocks since the last break.
    private var observed = 0.0
    private var blocks = 0
    /// Blocks since the last step of the control loop. Blocks may be short, so a step takes several of them.
    private var pending = (sum: 0.0, duration: 0.0)
    /// How long the control loop has been closed since the last break; `nil` while it is open.
    private var age: Double?
    private var filtered = 0.0
    /// The control loop's estimate of the clock's deviation. Kept over a break, because the clock stays the same.
    private var integral = 0.0
    /// How many samples go out for each sample that arrives; `nil` while sound isn't resampled.
    private(set) var ratio: Double?

    init(_ correction: DriftCorrection, aheadLimit: Double) {
        self.correction = correction
        self.aheadLimit = aheadLimit
    }

    /// The sound's lateness without the jitter; `nil` while there are too few blocks.
    var offset: Double? { observed >= 0.5 && blocks >= 30 ? mean : nil }

    /// Records the lateness of a block with this duration.
    mutating func observe(_ lateness: Double, lasting duration: Double) {
        guard lateness > -aheadLimit else { return pause() }
        pending.sum += lateness * duration
        pending.duration += duration
        blocks += 1
        guard pending.duration >= 0.01 else { return }
        step(pending.sum / pending.duration, pending.duration)
        pending = (0, 0)
    }

    /// Records a break in the sound: the measurement starts anew with the next block.
    mutating func pause() {
        (mean, observed, blocks, pending, age) = (0, 0, 0, (0, 0), nil)
        if ratio != nil { ratio = 1 + integral }
    }

    /// Returns the duration that `skew` must insert now, or must drop if negative; `nil` for none. Assumes that the
    /// caller does so.
    mutating func takeSkew() -> Double? {
        guard correction == .skew, let offset, abs(offset) > Self.tolerance else { return nil }
        mean = 0
        return offset
    }

    private mutating func step(_ lateness: Double, _ duration: Double) {
        observed += duration
        mean += (lateness - mean) * max(duration / observed, 1 - exp(-duration / 5))
        guard correction == .resample else { return }
        if age == nil {
            guard let offset, ratio != nil || abs(offset) > Self.tolerance else { return }
            // Start with an age of ten seconds: a younger loop would follow the jitter.
            (age, filtered) = (10, offset)
        }
        let change = control(lateness, duration) + 1 - (ratio ?? 1)
        ratio = (ratio ?? 1) + max(-Self.slope * duration, min(Self.slope * duration, change))
    }

    /// A step of the control loop. Returns the deviation of the ratio from 1.
    private mutating func control(_ lateness: Double, _ duration: Double) -> Double {
        let time = (age ?? 10) + duration
        age = time
        let bandwidth = max(0.003, 1 / (.pi * time))
        filtered += (lateness - filtered) * (1 - exp(-2 * .pi * 8 * bandwidth * duration))
        // A long block is a long step, with which a fast loop would overshoot.
        let omega = min(2 * .pi * bandwidth, 0.2 / duration)
        let limit = observed < 20 ? Self.greatestAtFirst : Self.greatest
        let wanted = 2 * omega * filtered + integral
        let given = max(-limit, min(limit, wanted))
        // The lateness from before the loop closed says nothing about the rate, so don't integrate at first.
        if time > 20, given == wanted {
            let next = integral + omega * omega * filtered * duration
            integral = max(-Self.greatest, min(Self.greatest, next))
        }
        return given
    }
}
