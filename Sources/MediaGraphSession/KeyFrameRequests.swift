/// How often a key frame is asked for, at most: each costs as much as many other frames.
struct KeyFrameRequests {
    private var last: UInt64?
    private static let interval: UInt64 = 1_000_000_000

    /// True when it is to be asked now, in nanoseconds of any clock; it has been then.
    mutating func mayAsk(at now: UInt64) -> Bool {
        if let last, now < last + Self.interval { return false }
        last = now
        return true
    }
}
