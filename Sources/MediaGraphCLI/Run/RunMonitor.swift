import Dispatch
import Foundation
import Glibc
import MediaGraph
import Synchronization

/// Watches a graph while it runs: reads its counters at regular moments and gives them to a reporter.
///
/// A queue of its own does that, because terminals and pipes may block, and so may a query to an element.
final class RunMonitor: Sendable {
    private struct State: Sendable {
        var reporter: any RunReporter
        var meter = ProgressMeter()
        /// When the graph reached PLAYING, by the monotonic clock.
        var began: DispatchTime?
        var lastReport = 0.0
        var lastProgress: [ElementProgress] = []
        /// From before a forced stop.
        var frozen: [ElementProgress]?
        /// What a forced stop cuts off.
        var incompleteFiles: [String] = []
        var isFinishing = false
        var isOver = false
        var hasMissingStream = false
        var warnings = RepeatedWarnings()

        /// Seconds since then.
        var time: Double? {
            began.map { Double(DispatchTime.now().uptimeNanoseconds - $0.uptimeNanoseconds) / 1e9 }
        }
    }

    private let graph: Graph
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "mediagraph.monitor")
    private let readerIsGone: @Sendable () -> Void

    /// Counters are read more often than reported, for the percentiles of the latency.
    private static let interval = 0.1

    init(_ graph: Graph, reporter: any RunReporter, readerIsGone: @escaping @Sendable () -> Void) {
        self.graph = graph
        self.readerIsGone = readerIsGone
        state = Mutex(State(reporter: reporter))
    }

    // MARK: The run's course

    func begin(_ title: String) {
        let (progress, subscriptions) = (graph.progress, graph.sessionSubscriptions)
        update { state in
            state.lastProgress = progress
            state.reporter.begin(title, state.meter.total(progress, at: 0).rows, subscriptions)
        }
    }

    /// A user who has asked for the end hears anyway what it waits for.
    func delayed(_ delay: RunFailure, isStarting: Bool) {
        queue.async { [self] in
            update { state in
                guard !state.isFinishing, !state.isOver, isStarting == (state.began == nil) else { return }
                state.reporter.delayed(delay)
            }
        }
    }

    /// The graph is PLAYING. Returns what keeps the reports going.
    func started() -> any DispatchSourceTimer {
        queue.async { [self] in update { $0.began = .now() } }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(5))
        timer.setEventHandler { [self] in tick() }
        timer.resume()
        return timer
    }

    private func tick() {
        let progress = graph.progress
        let (position, duration) = (graph.position?.seconds, graph.duration?.seconds)
        update { state in
            guard let time = state.time, state.frozen == nil, !state.isOver else { return }
            state.meter.add(progress, at: time)
            state.lastProgress = progress
            // A timer is never early by more than its leeway.
            guard time - state.lastReport >= state.reporter.interval - 0.03 else { return }
            state.lastReport = time
            var sample = state.meter.sample(at: time)
            if let position, let duration, duration > 0 {
                sample.position = position.rounded(toPlaces: 3)
                sample.duration = duration.rounded(toPlaces: 3)
            }
            state.reporter.progress(sample)
        }
    }

    func event(_ event: GraphEvent) {
        queue.async { [self] in
            update { state in
                if case .missingStream = event { state.hasMissingStream = true }
                if case .warning(let warning) = event,
                    !state.warnings.record(warning.error.message, of: warning.element),
                    !state.reporter.reportsRepeatedWarnings
                {
                    return
                }
                state.reporter.event(event)
            }
        }
    }

    /// Whether the input lacked a stream, by all events that it was given.
    var hasMissingStream: Bool {
        get async {
            await withCheckedContinuation { continuation in
                queue.async { [self] in continuation.resume(returning: state.withLock { $0.hasMissingStream }) }
            }
        }
    }

    /// Nothing follows the last report.
    func control(_ reply: ControlReply) {
        queue.async { [self] in
            update { if !$0.isOver { $0.reporter.control(reply) } }
        }
    }

    /// Somebody types at the prompt.
    func typed() { queue.async { [self] in update { if !$0.isOver { $0.reporter.typed() } } } }

    func finishing(_ reason: StopReason, duration: Double?) {
        queue.async { [self] in
            update { state in
                state.isFinishing = true
                state.reporter.finishing(reason, duration: duration)
            }
        }
    }

    /// Keeps for the last report what the graph loses when it is stopped: its counters, and which files aren't finished.
    func freeze() {
        let (progress, files) = (graph.progress, graph.unfinishedFiles)
        state.withLock { ($0.frozen, $0.incompleteFiles) = (progress, files) }
    }

    /// The last report; returns when it has been given.
    func end(_ reason: StopReason, _ status: ExitStatus, failure: RunFailure? = nil) async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                finishReport(reason, status, failure)
                continuation.resume()
            }
        }
    }

    private func finishReport(_ reason: StopReason, _ status: ExitStatus, _ failure: RunFailure?) {
        let progress = graph.progress
        let losses = failure == nil && reason != .forced ? graph.streamLosses : []
        update { state in
            guard !state.isOver else { return }
            if let failure { state.reporter.failed(failure) }
            state.isOver = true
            // An error before PLAYING leaves nothing to sum up.
            let sample = state.meter.total(state.frozen ?? progress, at: state.time ?? 0)
            state.reporter.end(
                RunSummary(
                    reason: reason, status: status, sample: sample, latency: state.meter.latencies.summary,
                    losses: losses, incompleteFiles: reason == .forced ? state.incompleteFiles : [],
                    repeatedWarnings: state.reporter.reportsRepeatedWarnings ? [] : state.warnings.summaries))
        }
    }

    private func update(_ body: (inout State) -> Void) {
        let isGone = state.withLock { state in
            let hadReader = state.reporter.hasReader
            body(&state)
            return hadReader && !state.reporter.hasReader
        }
        if isGone { readerIsGone() }
    }

    /// Whether the last report has been given.
    var isOver: Bool { state.withLockIfAvailable { $0.isOver } ?? false }

    // MARK: Leaving the terminal

    /// How long files may take to be flushed when the process exits without a stop of its graph.
    private static let flushLimit = DispatchTimeInterval.milliseconds(500)

    /// Ends the process at once, with the terminal as it was found. Nothing is waited for longer than a moment: what holds the
    /// lock may be a write to a terminal that is stopped.
    func exitAtOnce(by signal: CInt) -> Never {
        let status = ExitStatus.stopped(signal: signal)
        Self.exitSoon(status)
        let files = graph.unfinishedFiles
        _ = state.withLockIfAvailable { Self.endReport(&$0, status, files) }
        Prompt.returnTerminal()
        graph.flushFiles(within: Self.flushLimit)
        _exit(status.number)
    }

    /// Ends the process although the graph doesn't stop, and says where it hangs.
    ///
    /// - Parameter files: those that hadn't ended before the stop; by default those that haven't by now.
    func giveUp(_ hang: RunFailure, _ status: ExitStatus, unfinished files: [String]? = nil) -> Never {
        Self.exitSoon(status)
        let files = files ?? graph.unfinishedFiles
        state.withLock { Self.endReport(&$0, status, files, hang) }
        graph.flushFiles(within: Self.flushLimit)
        _exit(status.number)
    }

    /// Whatever the last report has to wait for. Not `exit`: GStreamer's threads run on, and must not meet destructors.
    private static func exitSoon(_ status: ExitStatus) {
        DispatchQueue.global().asyncAfter(deadline: .now() + 1) {
            Prompt.returnTerminal()
            _exit(status.number)
        }
    }

    private static func endReport(
        _ state: inout State, _ status: ExitStatus, _ incompleteFiles: [String], _ failure: RunFailure? = nil
    ) {
        guard !state.isOver else { return }
        if let failure { state.reporter.failed(failure) }
        let sample = state.meter.total(state.frozen ?? state.lastProgress, at: state.time ?? 0)
        state.reporter.end(
            RunSummary(
                reason: .forced, status: status, sample: sample, latency: state.meter.latencies.summary,
                incompleteFiles: incompleteFiles))
    }

    /// Ctrl-Z: stops the process with the cursor shown; returns when it goes on.
    func suspend() {
        queue.async { [self] in
            update { $0.reporter.release() }
            kill(getpid(), SIGSTOP)
        }
    }
}
