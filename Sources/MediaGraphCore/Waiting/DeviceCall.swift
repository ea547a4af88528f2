import GStreamer
import Synchronization

/// A call to a driver or a server that may never return, on its own thread, which can be abandoned. The caller waits
/// for a limited time, so a graph that waits for the caller isn't blocked either.
package final class DeviceCall<Answer: Sendable>: AbandonableCall, Sendable {
    private enum Progress: Sendable {
        case waiting
        case answered(Answer)
        case abandoned
    }
    private let progress = BlockingMonitor<Progress>(.waiting)
    private let thread: NativeThread

    /// Starts the call. If the caller no longer waits when the answer arrives, `late` gets the answer, on the call's
    /// thread.
    package init(
        _ question: @escaping @Sendable () -> Answer, late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) {
        DeviceCalls.begin()
        thread = NativeThread("device-call") { [progress] in
            defer { DeviceCalls.end() }
            let answer = question()
            let isLate = progress.withLock { progress in
                if case .abandoned = progress { return true }
                progress = .answered(answer)
                return false
            }
            if isLate { late(answer) }
        }
    }

    /// Blocks until the call returns, and returns its answer; `nil` after the given time, or if the call was abandoned.
    /// Call it once. Without a time, only `abandon` ends the wait.
    package func answer(within time: Duration? = nil, on clock: TimerClock = .system) -> Answer? {
        _ = progress.wait(until: time.map(clock.time(after:)), on: clock) { progress -> Bool? in
            if case .waiting = progress { return nil }
            return true
        }
        // The answer may have arrived just now; then `abandon` changes nothing.
        abandon()
        guard case .answered(let answer) = progress.withLock({ $0 }) else {
            thread.detach()
            return nil
        }
        thread.join()
        return answer
    }

    package func abandon() {
        progress.withLock { if case .waiting = $0 { $0 = .abandoned } }
    }
}

/// A call whose caller can stop waiting for it.
package protocol AbandonableCall: Sendable {
    /// Ends the caller's wait without an answer, unless the answer has arrived. May be called on any thread.
    func abandon()
}

/// All device calls of this process.
package enum DeviceCalls {
    private static let underWay = Atomic<Int>(0)

    package static func begin() { underWay.wrappingAdd(1, ordering: .relaxed) }
    package static func end() { underWay.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether calls are running. If so, end the process with `_exit`: the destructors that `exit` runs would free
    /// memory that a driver's or server's library still uses.
    package static var areRunning: Bool { underWay.load(ordering: .relaxed) > 0 }
}
