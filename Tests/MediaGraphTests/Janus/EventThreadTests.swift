import GStreamer
import MediaGraph
import MediaGraphCore
import Synchronization
import TestSupport
import Testing

/// Tests of the thread that runs actors and wakes tasks.
@Suite(.timeLimit(.minutes(10))) struct EventThreadTests {
    private actor Counter {
        let thread: EventThread
        private(set) var threads: Set<UInt> = []
        private(set) var numbers: [Int] = []

        init(_ thread: EventThread) { self.thread = thread }

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        func add(_ number: Int) {
            threads.insert(currentThreadID())
            numbers.append(number)
        }
    }

    @Test("NW-4 an actor's jobs all run on its thread, one at a time")
    func jobs() async {
        let counter = Counter(EventThread("test-jobs"))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 { group.addTask { await counter.add(number) } }
        }
        #expect(await counter.numbers.sorted() == Array(0..<1000))
        let threads = await counter.threads
        #expect(threads.count == 1 && !threads.contains(currentThreadID()))
    }

    @Test("NW-4 tasks sleep on the thread's clock, and wake in the order of their deadlines")
    func sleeping() async throws {
        let clock = VirtualClock()
        let thread = EventThread("test-sleep", clock: TimerClock(clock))
        let woken = Log<Int>()
        let sleepers = [30, 10, 20].map { milliseconds in
            Task(executorPreference: thread) {
                try await thread.sleep(for: .milliseconds(milliseconds))
                woken.add(milliseconds)
            }
        }
        #expect(try await clock.pass(.milliseconds(10)))
        #expect(try await eventually { woken.all == [10] })
        #expect(try await eventually { clock.deadlines == [.milliseconds(10)] })
        clock.advance(by: .seconds(1))
        for sleeper in sleepers { try await sleeper.value }
        #expect(woken.all == [10, 20, 30])
    }

    @Test("NW-4 tasks wake in time even if other tasks always have something to do")
    func busyThread() async throws {
        let thread = EventThread("test-busy")
        let busy = Task(executorPreference: thread) {
            while !Task.isCancelled { await Task.yield() }
        }
        let sleeper = Task(executorPreference: thread) { try await thread.sleep(for: .milliseconds(1)) }
        try await sleeper.value
        busy.cancel()
    }

    @Test("NW-4 a cancelled task wakes at once with an error, also if it was cancelled before it slept")
    func cancelling() async throws {
        let clock = VirtualClock()
        let thread = EventThread("test-cancel", clock: TimerClock(clock))
        let sleeper = Task(executorPreference: thread) { try await thread.sleep(for: .seconds(1)) }
        #expect(try await eventually { clock.deadlines == [.seconds(1)] })
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(try await eventually { clock.deadlines == [] })
        let late = Task(executorPreference: thread) {
            withUnsafeCurrentTask { $0?.cancel() }
            try await thread.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
