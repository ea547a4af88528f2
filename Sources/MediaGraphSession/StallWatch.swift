import MediaGraphCore

/// Decides when a stream that should be sending has stalled. A pure value; all times are microseconds of one monotonic
/// clock.
struct StallWatch: Sendable {
    /// How often frames should arrive.
    enum Pace: Sendable, Equatable {
        /// Audio, whose buffers are short. Also assumed until the format is known.
        case continuous
        /// Video at a fixed frame rate; the value is the frame duration in microseconds.
        case frames(Int64)
        /// Video at a variable rate, sent only when the picture changes.
        case variable
    }

    /// The shortest gap that counts as a stall.
    static let shortestLimit: Int64 = 2_000_000
    /// The number of frame durations, or longest intervals, that must pass before a stream has stalled.
    private static let frameCount: Int64 = 3

    private(set) var isStalled = false
    private var isExpected = false
    private var pace = Pace.continuous
    /// When waiting began: at the last arrival, or when the watch started or restarted if that was later.
    private var waitingSince: Int64?
    private var hasArrived = false
    private var lastArrival: Int64?
    private var longestInterval: Int64?

    /// Expects the stream to send from now on. Earlier arrivals, such as a late frame of the previous stream, don't
    /// count.
    mutating func expect(at now: Int64) {
        guard !isExpected else { return }
        (isExpected, waitingSince, lastArrival, hasArrived) = (true, now, nil, false)
    }

    /// Stops watching, because a stream that is off can't stall.
    mutating func stop() {
        let pace = pace
        self = StallWatch()
        self.pace = pace
    }

    /// Restarts the watch for a new run, in which the stream may still be expected.
    mutating func restart() {
        let isExpected = isExpected
        stop()
        self.isExpected = isExpected
    }

    /// Interrupts the watch while nothing can arrive, as during a pause. The next check or arrival resumes it.
    mutating func interrupt() { (waitingSince, lastArrival) = (nil, nil) }

    /// Sets how often frames should arrive.
    mutating func setPace(_ pace: Pace) {
        guard pace != self.pace else { return }
        (self.pace, longestInterval) = (pace, nil)
    }

    /// Records an arrival. Returns true if it ends a stall, whose length says nothing about the stream's rate.
    mutating func recordArrival(at now: Int64) -> Bool {
        if let lastArrival, !isStalled { longestInterval = max(longestInterval ?? 0, now - lastArrival) }
        (waitingSince, lastArrival, hasArrived) = (now, now, true)
        defer { isStalled = false }
        return isStalled
    }

    /// Returns true if a stall has begun since the last check.
    mutating func check(at now: Int64) -> Bool {
        guard isExpected, !isStalled else { return false }
        guard let waitingSince else {
            self.waitingSince = now
            return false
        }
        guard let limit, now - waitingSince >= limit else { return false }
        isStalled = true
        return true
    }

    /// The gap from which the stream has stalled. `nil` while a variable-rate stream has sent only one frame, so that
    /// its interval isn't known yet.
    private var limit: Int64? {
        guard hasArrived else { return Self.shortestLimit }
        switch pace {
        case .continuous: return Self.shortestLimit
        case .frames(let duration): return max(Self.shortestLimit, Self.frameCount * duration)
        case .variable: return longestInterval.map { max(Self.shortestLimit, Self.frameCount * $0) }
        }
    }
}
