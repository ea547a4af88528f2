import GStreamer

/// The clock of time limits and pauses: the system's monotonic clock or, in tests, one that the test advances. All times
/// are in nanoseconds.
@usableFromInline
package struct TimerClock: Sendable {
    /// `nil` for the system's clock. Reading that clock is then a direct call after one comparison, cheap enough for
    /// each frame.
    @usableFromInline let virtual: (any VirtualTime)?

    /// The system's monotonic clock.
    package static var system: TimerClock { TimerClock(virtual: nil) }

    /// A clock that a test advances.
    package init(_ virtual: any VirtualTime) { self.init(virtual: virtual) }

    private init(virtual: (any VirtualTime)?) { self.virtual = virtual }

    /// The current time.
    @inlinable
    package var now: UInt64 { if let virtual { virtual.now } else { monotonicNanoseconds() } }

    /// Returns the current time plus `duration`, or the last time if that is beyond it.
    package func time(after duration: Duration) -> UInt64 {
        let (time, isBeyond) = now.addingReportingOverflow(duration.nanoseconds)
        return isBeyond ? .max : time
    }
}

/// A time that passes only when a test says so.
@usableFromInline
package protocol VirtualTime: AnyObject, Sendable {
    /// The current time.
    var now: UInt64 { get }

    /// Registers a thread that is about to wait, and returns a number for `endWait`. Calls `wake` once the time has
    /// reached `deadline`, unless the wait has ended.
    func beginWait(until deadline: UInt64, _ wake: @escaping @Sendable () -> Void) -> Int

    /// Removes a thread that no longer waits.
    func endWait(_ number: Int)
}

extension BlockingMonitor {
    private enum Outcome<Result> {
        case result(Result)
        case timeIsOver
    }

    /// Blocks until `body` returns a value, and returns that value; `nil` if `body` still returns `nil` when the clock
    /// has reached the deadline.
    ///
    /// - Parameters:
    ///   - deadline: `nil` for no limit.
    ///   - body: Reads and changes the state, as in `wait(timeout:_:)`.
    package func wait<Result>(
        until deadline: UInt64?, on clock: TimerClock, _ body: (inout sending State) -> sending Result?
    ) -> sending Result? {
        guard let deadline else { return wait(body) }
        guard let virtual = clock.virtual else {
            let now = clock.now
            // Rounded up, so that the deadline isn't in the future when the time is over.
            return wait(timeout: .nanoseconds(now < deadline ? deadline - now + 1000 : 0), body)
        }
        let number = virtual.beginWait(until: deadline) { [self] in withLock { _ in } }
        defer { virtual.endWait(number) }
        let outcome = wait { state -> Outcome<Result>? in
            // Read first: `body` has to run once more after the deadline.
            let isOver = virtual.now >= deadline
            if let result = body(&state) { return .result(result) }
            return isOver ? .timeIsOver : nil
        }
        guard case .result(let result)? = outcome else { return nil }
        return result
    }
}
