import Foundation
import GStreamer

/// The `drift` of a microphone: what becomes of sound whose sender's clock isn't the graph's.
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

/// How far a live sender's clock has run off the graph's, told by when its blocks come, and what is to be done about it. Pure:
/// times are seconds.
///
/// Method: what is observed of each block is how much later it came than the samples before it come to. The mean of that is
/// free of jitter after some 30 blocks; as long as it stays within `tolerance` nothing is done, so that sound which only
/// jitters is left alone. Beyond that `resample` has a loop that brings the mean to zero and holds it there: proportional and
/// integral, critically damped, behind a low pass. It is quick at first and slow later, when it knows 200 ppm of drift to a
/// few although single blocks are ±30 ms off. `skew` takes the mean off at once.
struct ClockDrift: Sendable {
    /// Sound and picture are out of step at 20 ms; half of that is left to the picture and to what isn't known yet.
    static let tolerance = 0.010
    /// The most by which a rate is changed, 1.7 cents: clocks are within a tenth of that, and ears don't notice.
    static let greatest = 1000e-6
    /// The same in the first seconds, where first blocks that came off their time are to be made up for.
    static let greatestAtFirst = 5000e-6
    /// By how much it changes in a second.
    static let slope = 2000e-6

    private let correction: DriftCorrection
    /// What further ahead of its time than this is sent by the room that there is, rather than by a clock.
    private let aheadLimit: Double
    /// Of what was observed since the last break: cumulative at first, then of the last five seconds.
    private var mean = 0.0
    private var observed = 0.0
    private var blocks = 0
    /// Blocks may be short: a step takes several.
    private var pending = (sum: 0.0, duration: 0.0)
    /// The loop's, since it closed behind the last break.
    private var age: Double?
    private var filtered = 0.0
    /// By how much the clock is off, in the loop's eyes: stays over a break, for the clock is the same.
    private var integral = 0.0
    /// So many samples are to go out for each that comes; `nil` as long as they are to be left alone.
    private(set) var ratio: Double?

    init(_ correction: DriftCorrection, aheadLimit: Double) {
        self.correction = correction
        self.aheadLimit = aheadLimit
    }

    /// By how much sound is late, without the jitter; `nil` until that can be told.
    var offset: Double? { observed >= 0.5 && blocks >= 30 ? mean : nil }

    /// A block that lasts so long came so much later than its place among the samples.
    mutating func observe(_ lateness: Double, lasting duration: Double) {
        guard lateness > -aheadLimit else { return pause() }
        pending.sum += lateness * duration
        pending.duration += duration
        blocks += 1
        guard pending.duration >= 0.01 else { return }
        step(pending.sum / pending.duration, pending.duration)
        pending = (0, 0)
    }

    /// Sound doesn't go on where it was: when its next block comes is looked at as if it were the first.
    mutating func pause() {
        (mean, observed, blocks, pending, age) = (0, 0, 0, (0, 0), nil)
        if ratio != nil { ratio = 1 + integral }
    }

    /// What `skew` has to put in now, as if it had been; what it has to leave out is less than nothing.
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
            // As if it had run for ten seconds: before that it would follow the jitter.
            (age, filtered) = (10, offset)
        }
        let change = control(lateness, duration) + 1 - (ratio ?? 1)
        ratio = (ratio ?? 1) + max(-Self.slope * duration, min(Self.slope * duration, change))
    }

    private mutating func control(_ lateness: Double, _ duration: Double) -> Double {
        let time = (age ?? 10) + duration
        age = time
        let bandwidth = max(0.003, 1 / (.pi * time))
        filtered += (lateness - filtered) * (1 - exp(-2 * .pi * 8 * bandwidth * duration))
        // A long block is a step that a quick loop would go beyond.
        let omega = min(2 * .pi * bandwidth, 0.2 / duration)
        let limit = observed < 20 ? Self.greatestAtFirst : Self.greatest
        let wanted = 2 * omega * filtered + integral
        let given = max(-limit, min(limit, wanted))
        // What was off before the loop closed says nothing about the rate.
        if time > 20, given == wanted {
            let next = integral + omega * omega * filtered * duration
            integral = max(-Self.greatest, min(Self.greatest, next))
        }
        return given
    }
}
