import GStreamer
import MediaGraph
import Synchronization

/// A clock for time limits and pauses. It stands still until the test advances it.
///
/// Time limits are then exact: a test reads from ``deadlines`` until when threads wait, and nothing happens before it
/// advances the clock that far, however busy the machine is.
public final class VirtualClock: VirtualTime {
    private struct Wait: Sendable {
        var deadline: UInt64
        var wake: @Sendable () -> Void
    }

    private struct State: Sendable {
        // A day, so that 0 is in the past, as with the system's clock.
        var now: UInt64 = 86_400_000_000_000
        var waits: [Int: Wait] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Creates a clock.
    public init() {}

    /// The current time in nanoseconds.
    public var now: UInt64 { state.withLock { $0.now } }

    /// How long after now the waits of all threads end, in order.
    public var deadlines: [Duration] {
        state.withLock { state in
            state.waits.values.map { .nanoseconds($0.deadline - min($0.deadline, state.now)) }.sorted()
        }
    }

    /// Moves the clock forward, and wakes the threads whose waits end by then.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration.nanoseconds
            return state.waits.values.filter { $0.deadline <= state.now }
        }
        // Not under the lock: the threads read the clock under locks that `wake` takes.
        for wait in due { wait.wake() }
    }

    /// Waits until a thread waits for exactly this long from now, and moves the clock forward to the end of its wait.
    /// Returns false if there is no such thread after a minute.
    public func pass(_ duration: Duration) async throws -> Bool {
        guard try await eventually({ deadlines.contains(duration) }) else { return false }
        advance(by: duration)
        return true
    }

    /// Called by threads that wait.
    @usableFromInline package func beginWait(until deadline: UInt64, _ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.waits[state.next] = Wait(deadline: deadline, wake: wake)
            return state.next
        }
    }

    /// Called by threads whose wait has ended.
    @usableFromInline package func endWait(_ number: Int) {
        state.withLock { _ = $0.waits.removeValue(forKey: number) }
    }
}

extension Graph {
    /// Makes the time limits and pauses of `devicesource` nodes follow a clock. Call it before the graph starts.
    public func useClock(_ clock: VirtualClock, ofDevices names: String...) throws {
        for name in names { try element(name).useTimerClock(TimerClock(clock)) }
    }
}
