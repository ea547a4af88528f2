import DequeModule
import GStreamer
import Synchronization

/// A thread that runs actors and tasks, one job at a time, and wakes them after a time.
///
/// Connections to servers are kept alive on such a thread rather than on Swift's shared threads: a program that blocks
/// those, as it shouldn't, would lose its connections.
///
/// A task that starts on this thread needs `Task(executorPreference:)`. The thread never ends.
package final class EventThread: SerialExecutor, TaskExecutor {
    private typealias Sleeper = CheckedContinuation<Void, any Error>

    private struct State: Sendable {
        var jobs: Deque<UnownedJob> = []
        var sleepers: [UInt64: (deadline: UInt64, sleeper: Sleeper)] = [:]
        /// The sleeps that were cancelled before they began.
        var cancelled: Set<UInt64> = []
        var sleepCount: UInt64 = 0

        var firstDeadline: UInt64? { sleepers.values.lazy.map(\.deadline).min() }
    }

    private enum Step: Sendable {
        case run(UnownedJob)
        /// The first deadline has changed.
        case lookAgain
    }

    /// The thread for the connections of this process.
    package static let network = EventThread("network")

    /// The clock of sleeps.
    package let clock: TimerClock
    private let state = BlockingMonitor(State())
    /// 0 until the thread runs.
    private let threadID = Atomic<UInt>(0)

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { threadID.load(ordering: .relaxed) == currentThreadID() }

    /// Starts the thread.
    package init(_ name: String, clock: TimerClock = .system) {
        self.clock = clock
        NativeThread(name) { [self] in run() }.detach()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    private func run() {
        threadID.store(currentThreadID(), ordering: .relaxed)
        while true {
            let deadline = state.withLock { $0.firstDeadline }
            // Also while there are jobs, which may never end.
            if let deadline, deadline <= clock.now {
                wakeSleepers()
                continue
            }
            let step = state.wait(until: deadline, on: clock) { state -> Step? in
                if let job = state.jobs.popFirst() { return .run(job) }
                return state.firstDeadline == deadline ? nil : .lookAgain
            }
            switch step {
            case .run(let job):
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .lookAgain, nil: continue
            }
        }
    }

    private func wakeSleepers() {
        let now = clock.now
        let due = state.withLock { state -> [Sleeper] in
            let due = state.sleepers.filter { $0.value.deadline <= now }.sorted {
                $0.value.deadline < $1.value.deadline
            }
            for (number, _) in due { state.sleepers[number] = nil }
            return due.map(\.value.sleeper)
        }
        for sleeper in due { sleeper.resume() }
    }

    /// Suspends the calling task for a time. Throws `CancellationError`, at once, if the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        let deadline = clock.time(after: duration)
        let number = state.withLock { state in
            state.sleepCount += 1
            return state.sleepCount
        }
        // The task may be cancelled after it has been woken.
        defer { state.withLock { _ = $0.cancelled.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (sleeper: Sleeper) in
                let isCancelled = state.withLock { state in
                    guard !state.cancelled.contains(number) else { return true }
                    state.sleepers[number] = (deadline, sleeper)
                    return false
                }
                if isCancelled { sleeper.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)?.sleeper
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.resume(throwing: CancellationError())
        }
    }
}
