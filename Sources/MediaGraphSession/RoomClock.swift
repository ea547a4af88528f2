import GStreamer

/// The clock by which rooms measure their limits and intervals. A test passes a clock that it moves itself, so that it
/// needn't wait.
package struct RoomClock: Sendable {
    /// Returns the time in nanoseconds. Never goes back.
    package let now: @Sendable () -> UInt64
    /// Blocks for about a millisecond: for a thread that polls.
    package let pause: @Sendable () -> Void

    package init(now: @escaping @Sendable () -> UInt64, pause: @escaping @Sendable () -> Void) {
        self.now = now
        self.pause = pause
    }

    /// The machine's monotonic clock.
    package static let machine = RoomClock(now: { monotonicNanoseconds() }, pause: { sleepBriefly() })
}
