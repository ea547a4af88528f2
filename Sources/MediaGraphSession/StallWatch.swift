import MediaGraphCore

/// Decides when a stream that should be sending has stalled. A pure value; times are microseconds of one monotonic clock.
struct StallWatch: Sendable {
    /// How often frames should arrive.
    enum Pace: Sendable, Equatable {
        /// Sound, whose buffers are short. Also assumed until the format is known.
        case continuous
        /// Frames with this duration, in microseconds.
        case frames(Int64)
        /// Whenever there is something new.
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

    /// The stream should send from now on. What arrived before, such as a frame that came late, doesn't count.
    mutating func expect(at now: Int64) {
        guard !isExpected else { return }
        (isExpected, waitingSince, lastArrival, hasArrived) = (true, now, nil, false)
    }

    /// The stream is off, so it can't stall.
    mutating func stop() {
        let pace = pace
        self = StallWatch()
        self.pace = pace
    }

    /// A new run begins, in which the stream may be expected still.
    mutating func restart() {
        let isExpected = isExpected
        stop()
        self.isExpected = isExpected
    }

    /// Time passes in which nothing can arrive, as in a pause. The next check begins the watch anew.
    mutating func interrupt() { (waitingSince, lastArrival) = (nil, nil) }

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

    /// The gap from which the stream has stalled. `nil` while a variable-rate stream has sent only one frame, so that its
    /// interval isn't known yet.
    private var limit: Int64? {
        guard hasArrived else { return Self.shortestLimit }
        switch pace {
        case .continuous: return Self.shortestLimit
        case .frames(let duration): return max(Self.shortestLimit, Self.frameCount * duration)
        case .variable: return longestInterval.map { max(Self.shortestLimit, Self.frameCount * $0) }
        }
    }
}
