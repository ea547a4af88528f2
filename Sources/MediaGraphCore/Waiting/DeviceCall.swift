import GStreamer
import Synchronization

/// What a driver or a server is asked, which may never answer: on a thread that can be left behind. Whoever asks, and whoever
/// waits for him, as a graph for its elements' states, waits only so long.
package final class DeviceCall<Answer: Sendable>: AbandonableCall, Sendable {
    private enum Progress: Sendable {
        case waiting
        case answered(Answer)
        case abandoned
    }
    private let progress = BlockingMonitor<Progress>(.waiting)
    private let thread: NativeThread

    /// Asks. What is answered when nobody waits any more is `late`'s, on the call's own thread; `nil` is for an answer that will
    /// never come, from a thread that keeps what it has in its hands.
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

    /// Whether a driver or a server is being asked: libraries' destructors, which `exit` runs, would pull theirs from under it.
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

    /// Whether this thread is a call's.
    package static var canForsakeCurrent: Bool { forsakings.withLock { $0[currentThread()] != nil } }

    /// On a thread that can't go on: it stays where it is for good, and whoever waits for its call goes on without. Returns where
    /// it is no call's.
    package static func forsakeCurrent() {
        let forsaking = forsakings.withLock { $0.removeValue(forKey: currentThread()) }
        guard let forsaking else { return }
        forsaking.body()
        BlockingMonitor(()).wait { _ -> Void? in nil }
    }
}
