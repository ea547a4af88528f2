import GStreamer

/// What a driver or a server is asked, which may never answer: on a thread that can be left behind. Whoever asks, and whoever
/// waits for him, as a graph for its elements' states, waits only so long.
package final class DeviceCall: Sendable {
    private enum Progress {
        case waiting, answered, abandoned
    }
    private let progress = BlockingMonitor(Progress.waiting)

    package init() {}

    /// Once. It blocks: `nil` when there was no answer after so many milliseconds, or when the call was abandoned. What is
    /// answered then is `late`'s, on the call's own thread.
    package func answer<Answer: Sendable>(
        within milliseconds: UInt64, _ question: @escaping @Sendable () -> Answer,
        late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) -> Answer? {
        let answer = BlockingMonitor<Answer?>(nil)
        let thread = NativeThread("device-call") { [progress] in
            let given = question()
            answer.withLock { $0 = given }
            let isLate = progress.withLock { progress in
                if progress == .waiting { progress = .answered }
                return progress == .abandoned
            }
            if isLate { late(given) }
        }
        _ = progress.wait(timeout: Int64(milliseconds) * 1000) { $0 == .waiting ? nil : true }
        // It may have answered just now.
        abandon()
        guard progress.withLock({ $0 == .answered }) else {
            thread.detach()
            return nil
        }
        thread.join()
        return answer.withLock { $0 }
    }

    /// Whoever waits for it goes on without, unless it has answered. Any thread.
    package func abandon() {
        progress.withLock { if $0 == .waiting { $0 = .abandoned } }
    }
}
