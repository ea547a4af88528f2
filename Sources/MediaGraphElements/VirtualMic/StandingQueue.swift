/// Tells sound that only makes all behind it late from sound that came in a piece: of this, the queue is empty now and then.
///
/// The sign that a queue does nothing but delay is its shortest length over a while (CoDel, RFC 8289, calls that a standing
/// queue). Lengths are nanoseconds of sound. Pure.
struct StandingQueue: Sendable {
    private var shortest = Int.max
    /// Taken from the queue since `shortest` began.
    private var taken = 0
    private var isLeavingOut = false

    /// Whether the block just taken is to be left out, `queued` being what waits behind it: once the queue has stood for `window`,
    /// until nothing waits.
    mutating func leavesOut(_ block: Int, queued: Int, window: Int) -> Bool {
        guard !isLeavingOut else {
            isLeavingOut = queued > 0
            return isLeavingOut
        }
        shortest = min(shortest, queued)
        taken += block
        guard taken >= window else { return false }
        isLeavingOut = shortest > Int(SampleTimeline.tolerance)
        (shortest, taken) = (Int.max, 0)
        return isLeavingOut
    }
}
