import GStreamer

/// Makes even timestamps for frames that arrive at a known rate but unevenly, for example from a loop that sleeps
/// between frames.
///
/// Method: each frame is placed on a grid with the nominal period. The struct averages the error, which is the arrival
/// time minus the place on the grid, and the change of the error from frame to frame. The grid moves only if the mean
/// error is larger than the jitter explains, and then by less than a millisecond for each frame. So a source that
/// jitters by ±20 ms around its rate gets an exact grid. A source whose clock is up to 2 % off gets a grid that follows
/// within about 15 ms, after ten seconds. A pause starts a new grid. A source that doesn't keep its rate at all gets
/// the arrival times as timestamps.
///
/// Timestamps never go backwards. A timestamp can be earlier than the arrival, by the jitter: the processing deadline
/// of sinks allows for that.
///
/// Pure. All times are in nanoseconds of running time.
struct EvenTimestamps: Sendable {
    private let rate: Fraction
    private let period: Int64
    private var anchor: Int64 = 0
    private var index = 0
    private var last: Int64 = -1
    /// How many grids were given up before their hundredth frame.
    private var failures = 0
    /// The mean error (arrival minus grid).
    private var mean = 0.0
    private var previousError: Double?
    /// The mean change of the error from one frame to the next. Starts with the value for a uniform jitter of ±20 ms,
    /// which is 13.3 ms.
    private var change = Self.largestChange
    private static let largestChange = 13.3e6

    /// The largest move of the grid for a frame. Keeps the distance of frames within 1 ms of the period.
    private static let largestStep = 0.9e6

    init(rate: Fraction) {
        self.rate = rate
        period = Int64(ClockTime.frame(1, at: rate).nanoseconds)
    }

    /// Returns the timestamp of the frame that arrives now.
    mutating func stamp(arrival: ClockTime) -> ClockTime {
        let now = Int64(arrival.nanoseconds)
        let place = anchor + offset
        guard failures < 3 else { return give(now) }
        guard last >= 0, abs(now - place) < 3 * period + 100_000_000 else { return restart(at: now) }
        let error = Double(now - place)
        mean += (error - mean) / 32
        if let previousError { change += (abs(error - previousError) - change) / 32 }
        previousError = error
        // If the first frame was at one end of the jitter, the mean error stays at 20 ms. The grid needn't move for
        // that.
        let excess = abs(mean) - 2.2 * change - 2e6
        if excess > 0 {
            let step = min(excess / 16, Self.largestStep) * (mean < 0 ? -1 : 1)
            anchor += Int64(step)
            previousError = error - step
        }
        return give(anchor + offset)
    }

    /// Returns the next place on the grid, regardless of the arrival. For frames that don't arrive at the clock's pace.
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

/// Limits the rate of frames by their timestamps (the generic cell rate algorithm).
///
/// The average rate may exceed the limit by 5 %, because a source that sleeps whole milliseconds is faster than it
/// declares. Occasionally a frame may be two periods early, because of a source's jitter.
struct RateLimit: Sendable {
    private let period: UInt64
    /// When the next frame is due.
    private var due: UInt64?

    init(rate: Fraction) { period = UInt64(Double(ClockTime.frame(1, at: rate).nanoseconds) / 1.05) }

    func allows(_ time: ClockTime) -> Bool {
        guard let due, due > time.nanoseconds else { return true }
        return due - time.nanoseconds <= 2 * period
    }

    // The sum can overflow, because a sender may pass any number as a timestamp.
    mutating func count(_ time: ClockTime) {
        let (next, isBeyond) = max(due ?? 0, time.nanoseconds).addingReportingOverflow(period)
        due = isBeyond ? .max : next
    }
}
