import Synchronization

/// Tasks that wake every 5 ms and record how late they wake. Open streams must not delay them.
final class Heartbeats: Sendable {
    private let beating: Task<[Int64], Never>
    private let isRecording = Atomic<Bool>(false)

    private static let interval = Duration.milliseconds(5)
    /// More tasks than the measuring machine has cores, so that each thread of Swift's pool runs at least one.
    private static let tasks = 4

    init() {
        let (stream, link) = AsyncStream<Heartbeats>.makeStream()
        beating = Task.detached {
            var iterator = stream.makeAsyncIterator()
            guard let heartbeats = await iterator.next() else { return [] }
            return await withTaskGroup(of: [Int64].self) { group in
                for _ in 0..<Self.tasks { group.addTask { await heartbeats.beat() } }
                return await group.reduce(into: []) { $0 += $1 }
            }
        }
        link.yield(self)
        link.finish()
    }

    private func beat() async -> [Int64] {
        var lateness: [Int64] = []
        var deadline = ContinuousClock.now
        while !Task.isCancelled {
            deadline += Self.interval
            try? await Task.sleep(until: deadline, clock: .continuous)
            let now = ContinuousClock.now
            if isRecording.load(ordering: .relaxed) {
                let late = (now - deadline).components
                lateness.append(late.seconds * 1_000_000_000 + late.attoseconds / 1_000_000_000)
            }
            // After a long stall, continues from now on instead of making up for missed beats.
            deadline = max(deadline, now - Self.interval)
        }
        return lateness
    }

    func record(_ on: Bool) { isRecording.store(on, ordering: .relaxed) }

    /// Ends the tasks and returns the recorded latenesses in nanoseconds.
    func stop() throws -> [Int64] {
        beating.cancel()
        return try waiting { [beating] in await beating.value }
    }
}
