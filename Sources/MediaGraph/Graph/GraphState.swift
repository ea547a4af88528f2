/// Who waits for what in a graph. A value; the graph locks.
struct GraphState: Sendable {
    enum StartOutcome: Sendable {
        case started
        case ended(GraphEnd)
    }

    private enum Phase: Sendable {
        case idle, starting, running
        case ended(GraphEnd)
    }

    typealias StartContinuation = CheckedContinuation<StartOutcome, Never>
    typealias EndContinuation = CheckedContinuation<GraphEnd, Never>
    typealias Reader = AsyncStream<GraphEvent>.Continuation

    /// Those to wake, outside the lock.
    struct Waiting: Sendable {
        var start: [StartContinuation] = []
        var end: [EndContinuation] = []
        var readers: [Reader] = []

        func resumeAll(_ outcome: StartOutcome) {
            for continuation in start { continuation.resume(returning: outcome) }
            guard case .ended(let end) = outcome else { return }
            for continuation in self.end { continuation.resume(returning: end) }
        }
    }

    private var phase = Phase.idle
    /// Counts starts: a stop that was asked for in one run must not touch the next.
    private(set) var generation = 0
    private var waiting = Waiting()
    private var readers: [Int: Reader] = [:]
    private var nextReader = 0

    var currentReaders: [Reader] { Array(readers.values) }

    /// The number of the run that begins; `nil` when one is going on.
    mutating func begin() -> Int? {
        guard case .idle = phase else { return nil }
        phase = .starting
        generation += 1
        return generation
    }

    /// The outcome when it is known by now.
    mutating func awaitStart(_ continuation: StartContinuation) -> StartOutcome? {
        if case .ended(let end) = phase { return .ended(end) }
        waiting.start.append(continuation)
        return nil
    }

    mutating func awaitEnd(_ continuation: EndContinuation) -> GraphEnd? {
        switch phase {
        case .ended(let end): return end
        case .idle: return .stopped
        case .starting, .running:
            waiting.end.append(continuation)
            return nil
        }
    }

    mutating func started() -> Waiting? {
        guard case .starting = phase else { return nil }
        phase = .running
        defer { waiting.start = [] }
        return Waiting(start: waiting.start)
    }

    /// Those who wait for it; `nil` when it doesn't run or has ended before.
    mutating func end(_ end: GraphEnd) -> Waiting? {
        switch phase {
        case .idle, .ended: return nil
        case .starting, .running: break
        }
        phase = .ended(end)
        defer {
            waiting = Waiting()
            readers = [:]
        }
        return Waiting(start: waiting.start, end: waiting.end, readers: Array(readers.values))
    }

    /// The pipeline is in NULL: it may be started again.
    mutating func stopped(_ asked: Int) { if generation == asked { phase = .idle } }

    mutating func addReader(_ reader: Reader) -> Int {
        nextReader += 1
        readers[nextReader] = reader
        return nextReader
    }

    mutating func removeReader(_ id: Int) { readers[id] = nil }
}
