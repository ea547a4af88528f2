import GStreamer
import Synchronization

/// A question to a driver or a server that may never answer, on a thread of its own that can be abandoned. The caller waits
/// for a limited time, so a graph that waits for the caller isn't blocked either.
package final class DeviceCall<Answer: Sendable>: AbandonableCall, Sendable {
    private enum Progress: Sendable {
        case waiting
        case answered(Answer)
        case abandoned
    }
    private let progress = BlockingMonitor<Progress>(.waiting)
    private let thread: NativeThread

    /// Starts the call. If the caller no longer waits when the answer comes, `late` gets the answer, on the call's thread.
    /// `late` gets `nil` if the thread is stuck for good: no answer will come, and what the thread holds is never released.
    package init(
        _ question: @escaping @Sendable () -> Answer, late: @escaping @Sendable (Answer?) -> Void = { _ in }
    ) {
        DeviceCalls.begin()
        thread = NativeThread("device-call") { [progress] in
            let entry = DeviceCalls.enter {
                progress.withLock { if case .waiting = $0 { $0 = .abandoned } }
                late(nil)
            }
            defer {
                entry.end()
                DeviceCalls.end()
            }
            let answer = question()
            let isLate = progress.withLock { progress in
                if case .abandoned = progress { return true }
                progress = .answered(answer)
                return false
            }
            if isLate { late(answer) }
        }
    }

    /// Once. It blocks: `nil` when there was no answer after so many milliseconds, or when the call was abandoned.
    package func answer(within milliseconds: UInt64) -> Answer? {
        _ = progress.wait(timeout: Int64(milliseconds) * 1000) { progress -> Bool? in
            if case .waiting = progress { return nil }
            return true
        }
        // It may have answered just now.
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

package protocol AbandonableCall: Sendable {
    /// Whoever waits for it goes on without, unless it has answered. Any thread.
    func abandon()
}

/// Those of this process.
package enum DeviceCalls {
    private static let underWay = Atomic<Int>(0)

    package static func begin() { underWay.wrappingAdd(1, ordering: .relaxed) }
    package static func end() { underWay.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether calls are running. Then end the process with `_exit`: the destructors that `exit` runs would free what a
    /// driver's or server's library still uses.
    package static var areUnderWay: Bool { underWay.load(ordering: .relaxed) > 0 }

    private struct Forsaking: Sendable {
        var body: @Sendable () -> Void
    }
    /// By the calls' threads.
    private static let forsakings = Mutex<[UInt: Forsaking]>([:])

    fileprivate struct Entry {
        fileprivate let thread: UInt
        func end() { _ = forsakings.withLock { $0.removeValue(forKey: thread) } }
    }

    fileprivate static func enter(_ forsaken: @escaping @Sendable () -> Void) -> Entry {
        let entry = Entry(thread: currentThread())
        forsakings.withLock { $0[entry.thread] = Forsaking(body: forsaken) }
        return entry
    }

    /// Whether this thread runs a device call.
    package static var isOnCallThread: Bool { forsakings.withLock { $0[currentThread()] != nil } }

    /// Abandons the call on this thread, which can't go on: the caller stops waiting, and the thread blocks forever. Returns
    /// at once if the thread runs no call.
    package static func abandonCurrentCall() {
        let forsaking = forsakings.withLock { $0.removeValue(forKey: currentThread()) }
        guard let forsaking else { return }
        forsaking.body()
        BlockingMonitor(()).wait { _ -> Void? in nil }
    }
}
