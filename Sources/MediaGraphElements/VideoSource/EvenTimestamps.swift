import GStreamer

/// Timestamps for frames that come at a known rate but unevenly, as from a pump that sleeps between them.
///
/// Method: frames stand on a grid of the nominal period. How far arrivals are from their places is averaged, and so is how
/// much that changes from frame to frame; the grid is moved only when the mean is further off than the jitter explains, and
/// by less than a millisecond a frame. A pump that jitters by ±20 ms around its rate so gets an exact grid, and one whose
/// clock is up to 2 % off gets a grid that follows within some 15 ms, after ten seconds. A pause starts a new grid; a source that doesn't keep its rate at all
/// is stamped as its frames arrive. Timestamps never go backwards. A frame can be stamped earlier than it arrived, by its jitter: sinks have as
/// much to spare (their processing deadline).
///
/// Pure: times are nanoseconds of running time.
struct EvenTimestamps: Sendable {
    private let rate: Fraction
    private let period: Int64
    private var anchor: Int64 = 0
    private var index = 0
    private var last: Int64 = -1
    /// Grids that didn't last.
    private var failures = 0
    /// Of arrival minus grid.
    private var mean = 0.0
    private var previousError: Double?
    /// The mean change of arrival minus grid from one frame to the next; at first as if arrivals jittered much: for uniform
    /// jitter of ±20 ms it is 13.3.
    private var change = Self.largestChange
    private static let largestChange = 13.3e6

    /// Moves by which evenness is kept: "within 1 ms" of the period.
    private static let largestStep = 0.9e6

    init(rate: Fraction) {
        self.rate = rate
        period = Int64(ClockTime.frame(1, at: rate).nanoseconds)
    }

    /// The timestamp of the frame that arrives now.
    mutating func stamp(arrival: ClockTime) -> ClockTime {
        let now = Int64(arrival.nanoseconds)
        let place = anchor + offset
        guard failures < 3 else { return give(now) }
        guard last >= 0, abs(now - place) < 3 * period + 100_000_000 else { return restart(at: now) }
        let error = Double(now - place)
        mean += (error - mean) / 32
        if let previousError { change += (abs(error - previousError) - change) / 32 }
        previousError = error
        // With its first frame at one end of the jitter the mean is 20 ms off for good, which is no reason to move.
        let excess = abs(mean) - 2.2 * change - 2e6
        if excess > 0 {
            let step = min(excess / 16, Self.largestStep) * (mean < 0 ? -1 : 1)
            anchor += Int64(step)
            previousError = error - step
        }
        return give(anchor + offset)
    }

    /// The next place, whenever the frame comes: where the pace isn't the clock's.
    mutating func next(from start: ClockTime) -> ClockTime {
        last < 0 ? restart(at: Int64(start.nanoseconds)) : give(anchor + offset)
    }

    private var offset: Int64 { Int64(ClockTime.frame(index, at: rate).nanoseconds) }

    private mutating func restart(at now: Int64) -> ClockTime {
        if last >= 0, index < 100 { failures += 1 }
        anchor = max(now, last + 1)
        index = 0
        mean = 0
        previousError = nil
        change = Self.largestChange
        return give(anchor)
    }

    private mutating func give(_ time: Int64) -> ClockTime {
        index += 1
        last = max(time, last + 1)
        return ClockTime(nanoseconds: UInt64(last))
    }
}

/// Whether frames come faster than a rate, by their timestamps (the generic cell rate algorithm).
///
/// On average at most 5 % more than the rate gets through (pumps that sleep whole milliseconds are faster than they say),
/// and a frame may come two periods early once in a while, as those of a jittering pump do.
struct RateLimit: Sendable {
    private let period: UInt64
    /// When the next frame is due.
    private var due: UInt64?

    init(rate: Fraction) { period = UInt64(Double(ClockTime.frame(1, at: rate).nanoseconds) / 1.05) }

    func allows(_ time: ClockTime) -> Bool {
        guard let due, due > time.nanoseconds else { return true }
        return due - time.nanoseconds <= 2 * period
    }

    // Timestamps are the sender's, and may be any number.
    mutating func count(_ time: ClockTime) {
        let (next, isBeyond) = max(due ?? 0, time.nanoseconds).addingReportingOverflow(period)
        due = isBeyond ? .max : next
    }
}
