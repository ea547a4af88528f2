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

    /// Those to wake, outside the lock.
    struct Waiting: Sendable {
        var start: [StartContinuation] = []
        var end: [(waiter: Int, continuation: EndContinuation)] = []

        func resumeAll(_ outcome: StartOutcome) {
            for continuation in start { continuation.resume(returning: outcome) }
            guard case .ended(let end) = outcome else { return }
            for entry in self.end { entry.continuation.resume(returning: end) }
        }
    }

    private var phase = Phase.idle
    /// Counts starts: a stop that was asked for in one run must not touch the next.
    private(set) var generation = 0
    /// The sources of this run were asked to end their streams.
    private var isAskedToEnd = false
    /// Of this run, those that have been reported. GStreamer may post a failed link twice.
    private var missingStreams: Set<MissingStream> = []
    private var waiting = Waiting()
    private var lastWaiter = 0
    /// Waiters that were cancelled before they waited.
    private var cancelled: Set<Int> = []

    /// The number of the run that begins; `nil` when one is going on.
    mutating func begin() -> Int? {
        guard case .idle = phase else { return nil }
        phase = .starting
        isAskedToEnd = false
        missingStreams = []
        generation += 1
        return generation
    }

    /// The outcome when it is known by now: a run that is over, or followed by another, was stopped.
    mutating func awaitStart(of run: Int, _ continuation: StartContinuation) -> StartOutcome? {
        switch phase {
        case .ended(let end) where generation == run: return .ended(end)
        case .starting where generation == run:
            waiting.start.append(continuation)
            return nil
        case .running where generation == run: return .started
        case .idle, .starting, .running, .ended: return .ended(.stopped)
        }
    }

    /// `run` is the one to wait for; `nil` for whichever is going on.
    mutating func awaitEnd(of run: Int? = nil, _ waiter: Int, _ continuation: EndContinuation) -> GraphEnd? {
        guard cancelled.remove(waiter) == nil else { return .stopped }
        guard run == nil || run == generation else { return .stopped }
        switch phase {
        case .ended(let end): return end
        case .idle: return .stopped
        case .starting, .running:
            waiting.end.append((waiter, continuation))
            return nil
        }
    }

    /// Records a missing stream. Returns false if it has already been reported in this run.
    mutating func record(_ missing: MissingStream) -> Bool { missingStreams.insert(missing).inserted }

    mutating func askToEnd() { isAskedToEnd = true }

    /// All streams have ended, and nobody had asked for it. One that is missing ends its branch, and maybe the graph, early.
    var hasPlayedWhole: Bool {
        if case .ended(.endOfStream) = phase { !isAskedToEnd && missingStreams.isEmpty } else { false }
    }

    var isStarting: Bool { if case .starting = phase { true } else { false } }

    /// Whether this run hasn't been stopped yet.
    func isCurrent(_ run: Int) -> Bool { if case .idle = phase { false } else { generation == run } }

    /// A number for someone who is going to wait for the end.
    mutating func makeWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// The waiter's task is cancelled, perhaps before it waits.
    mutating func cancel(_ waiter: Int) -> EndContinuation? {
        guard let index = waiting.end.firstIndex(where: { $0.waiter == waiter }) else {
            cancelled.insert(waiter)
            return nil
        }
        return waiting.end.remove(at: index).continuation
    }

    /// The waiter has its answer.
    mutating func forget(_ waiter: Int) { cancelled.remove(waiter) }

    /// Whether this run is still to be put to PLAYING.
    func isStarting(_ run: Int) -> Bool { isStarting && generation == run }

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
        defer { waiting = Waiting() }
        return waiting
    }

    /// The pipeline is in NULL: it may be started again.
    mutating func stopped(_ asked: Int) { if generation == asked { phase = .idle } }
}
