import Dispatch

/// The phase of a graph's run, and the tasks that wait for its start or end. A pure value; the graph guards it with a
/// lock.
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

    /// The continuations to resume. The graph resumes them after releasing the lock.
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
    /// The number of the current run. Without it, a stop requested in one run could end the next.
    private(set) var generation = 0
    /// Whether the sources were asked to end their streams in this run.
    private var isAskedToEnd = false
    /// The missing streams reported in this run. GStreamer may post a failed link twice.
    private var missingStreams: Set<MissingStream> = []
    private var waiting = Waiting()
    private var lastWaiter = 0
    /// Waiters that were cancelled before they began to wait.
    private var cancelled: Set<Int> = []

    /// Begins a run and returns its number; `nil` if a run hasn't been stopped yet.
    mutating func begin() -> Int? {
        guard case .idle = phase else { return nil }
        phase = .starting
        isAskedToEnd = false
        missingStreams = []
        generation += 1
        return generation
    }

    /// Returns the outcome of the run's start if it is known, or stores the continuation and returns `nil`. A run that
    /// is over, or that another run has followed, counts as stopped.
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

    /// Returns the run's end if it is known, or stores the continuation and returns `nil`. A `run` of `nil` means the
    /// current run.
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

    /// Records that the sources are asked to end their streams.
    mutating func askToEnd(_ run: Int) { if generation == run { isAskedToEnd = true } }

    /// Whether all streams have ended by themselves, and none was missing: a missing stream may end the graph early.
    var hasPlayedWhole: Bool {
        if case .ended(.endOfStream) = phase { !isAskedToEnd && missingStreams.isEmpty } else { false }
    }

    var isStarting: Bool { if case .starting = phase { true } else { false } }

    /// Returns whether this run hasn't been stopped yet.
    func isCurrent(_ run: Int) -> Bool { if case .idle = phase { false } else { generation == run } }

    /// Returns a number for a task that is about to wait for the end.
    mutating func makeWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// Returns the continuation of a waiter whose task is cancelled; `nil` if the task doesn't wait yet.
    mutating func cancel(_ waiter: Int) -> EndContinuation? {
        guard let index = waiting.end.firstIndex(where: { $0.waiter == waiter }) else {
            cancelled.insert(waiter)
            return nil
        }
        return waiting.end.remove(at: index).continuation
    }

    /// Forgets a waiter that has its answer.
    mutating func forget(_ waiter: Int) { cancelled.remove(waiter) }

    /// Returns whether this run hasn't reached PLAYING or its end yet.
    func isStarting(_ run: Int) -> Bool { isStarting && generation == run }

    /// Records that the graph is PLAYING. Returns the tasks that waited for the start; `nil` if the graph wasn't
    /// starting.
    mutating func started() -> Waiting? {
        guard case .starting = phase else { return nil }
        phase = .running
        defer { waiting.start = [] }
        return Waiting(start: waiting.start)
    }

    /// Records the end of the run. Returns the tasks that wait; `nil` if the graph isn't running, has already ended, or
    /// is in another run. A `run` of `nil` means the current run.
    mutating func end(_ end: GraphEnd, of run: Int? = nil) -> Waiting? {
        guard run == nil || run == generation else { return nil }
        switch phase {
        case .idle, .ended: return nil
        case .starting, .running: break
        }
        phase = .ended(end)
        defer { waiting = Waiting() }
        return waiting
    }

    /// Records that the pipeline is in NULL, so that the graph may be started again.
    mutating func stopped(_ run: Int) { if generation == run { phase = .idle } }
}

extension Graph {
    /// The lives of all graphs. A life ends when the graph, once released, has been stopped in the background, and all
    /// that it held has been released.
    package static let lives = DispatchGroup()

    final class Life: Sendable {
        init() { Graph.lives.enter() }
        deinit { Graph.lives.leave() }
    }
}
