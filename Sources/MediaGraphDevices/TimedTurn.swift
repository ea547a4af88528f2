import GStreamer
import MediaGraphCore

/// A value that one thread at a time uses, for as long as it needs. Other threads wait for their turn, but not forever: a
/// thread that asks a server which hangs never returns its turn.
final class TimedTurn<Value: Sendable>: Sendable {
    private struct State: Sendable {
        var value: Value
        var isTaken = false
    }

    private let state: BlockingMonitor<State>

    init(_ value: Value) { state = BlockingMonitor(State(value: value)) }

    /// Waits for the turn, and runs `body` with the value. Returns `nil` without running `body` if other threads have
    /// kept the turn for `limit`.
    func take<Result: Sendable>(
        within limit: Duration, on clock: TimerClock = .system, _ body: (inout Value) -> Result
    ) -> Result? {
        let value = state.wait(until: clock.time(after: limit), on: clock) { state -> Value? in
            guard !state.isTaken else { return nil }
            state.isTaken = true
            return state.value
        }
        guard var value else { return nil }
        let result = body(&value)
        state.withLock { [value] in $0 = State(value: value) }
        return result
    }
}
