/// Decides when a stream that should be sending has stalled. A pure value; times are microseconds of one monotonic clock.
struct StallWatch: Sendable {
    /// How often frames should arrive.
    enum Pace: Sendable, Equatable {
        /// Nothing is known yet, or sound, whose blocks are short.
        case steady
        /// Frames with this duration, in microseconds.
        case frames(Int64)
        /// Whenever there is something new.
        case variable
    }

    /// Shorter gaps are never called a stall.
    static let shortestLimit: Int64 = 2_000_000
    /// A stall lasts at least as long as this many frames.
    private static let frameCount: Int64 = 3

    private(set) var isStalled = false
    private var isExpected = false
    private var pace = Pace.steady
    /// The last arrival, or when the watch began if that was later.
    private var reference: Int64?
    private var hasArrived = false
    private var lastArrival: Int64?
    private var longestInterval: Int64?

    /// The stream should send from now on.
    mutating func expect(at now: Int64) { (isExpected, reference) = (true, reference ?? now) }

    /// The stream is off, so it can't stall.
    mutating func stop() {
        let pace = pace
        self = StallWatch()
        self.pace = pace
    }

    /// Time passes in which nothing can arrive, as in a pause. The next check begins the watch anew.
    mutating func interrupt() { (reference, lastArrival) = (nil, nil) }

    mutating func setPace(_ pace: Pace) {
        guard pace != self.pace else { return }
        (self.pace, longestInterval) = (pace, nil)
    }

    /// True when a stall has ended.
    mutating func arrive(at now: Int64) -> Bool {
        if let lastArrival { longestInterval = max(longestInterval ?? 0, now - lastArrival) }
        (reference, lastArrival, hasArrived) = (now, now, true)
        defer { isStalled = false }
        return isStalled
    }

    /// True when a stall has begun.
    mutating func check(at now: Int64) -> Bool {
        guard isExpected, !isStalled else { return false }
        guard let reference else {
            self.reference = now
            return false
        }
        guard let limit, now - reference >= limit else { return false }
        isStalled = true
        return true
    }

    /// `nil` while a second frame is awaited that tells how often they come.
    private var limit: Int64? {
        guard hasArrived else { return Self.shortestLimit }
        switch pace {
        case .steady: return Self.shortestLimit
        case .frames(let duration): return max(Self.shortestLimit, Self.frameCount * duration)
        case .variable: return longestInterval.map { max(Self.shortestLimit, Self.frameCount * $0) }
        }
    }
}
