import Dispatch
import Foundation
import Glibc
import MediaGraph
import Synchronization

/// Watches a running graph: reads its counters periodically and passes them, with the graph's events, to a reporter.
///
/// The work is done on a separate queue, because writing to terminals and pipes, and querying elements, may block.
final class RunMonitor: Sendable {
    private struct State: Sendable {
        var reporter: any RunReporter
        var meter = ProgressMeter()
        /// The time on the monotonic clock at which the graph reached PLAYING.
        var began: DispatchTime?
        var lastReport = 0.0
        var lastProgress: [ElementProgress] = []
        /// The counters from before a forced stop.
        var frozen: [ElementProgress]?
        /// The files that a forced stop leaves unfinished.
        var incompleteFiles: [String] = []
        var isFinishing = false
        var isOver = false
        var hasMissingStream = false
        var warnings = RepeatedWarnings()

        /// Seconds since PLAYING.
        var time: Double? {
            began.map { Double(DispatchTime.now().uptimeNanoseconds - $0.uptimeNanoseconds) / 1e9 }
        }
    }

    private let graph: Graph
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "mediagraph.monitor")
    private let readerIsGone: @Sendable () -> Void

    /// The time between two readings of the counters. They are read more often than reported, for the latency
    /// percentiles.
    private static let interval = Duration.milliseconds(100)

    init(_ graph: Graph, reporter: any RunReporter, readerIsGone: @escaping @Sendable () -> Void) {
        self.graph = graph
        self.readerIsGone = readerIsGone
        state = Mutex(State(reporter: reporter))
    }

    // MARK: Run events

    func begin(_ title: String) {
        let (progress, subscriptions) = (graph.progress, graph.sessionSubscriptions)
        update { state in
            state.lastProgress = progress
            state.reporter.begin(title, state.meter.total(progress, at: 0).rows, subscriptions)
        }
    }

    /// Reports a delay, unless the graph's state has changed since the delay was detected. Once the run is asked to end, delays
    /// aren't reported any more: the last report says what the graph was waiting for.
    func delayed(_ delay: RunFailure, isStarting: Bool) {
        queue.async { [self] in
            update { state in
                guard !state.isFinishing, !state.isOver, isStarting == (state.began == nil) else { return }
                state.reporter.delayed(delay)
            }
        }
    }

    /// Called when the graph is PLAYING. Returns the timer that triggers the reports; the caller cancels it.
    func started() -> any DispatchSourceTimer {
        let now = DispatchTime.now()
        queue.async { [self] in update { $0.began = now } }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(
            deadline: .now() + Self.interval.seconds, repeating: Self.interval.seconds, leeway: .milliseconds(5))
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
            // The timer may fire early by its leeway; 30 ms of tolerance keep such a report from being skipped.
            guard time - state.lastReport >= state.reporter.interval.seconds - 0.03 else { return }
            state.lastReport = time
            var sample = state.meter.sample(at: time)
            if let position, let duration, duration > 0 {
                sample.position = position.rounded(toPlaces: 3)
                sample.duration = duration.rounded(toPlaces: 3)
            }
            state.reporter.progress(sample)
        }
    }

    func statistics(_ statistics: SessionStatistics) {
        queue.async { [self] in update { $0.reporter.statistics(statistics) } }
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

    /// Whether the input lacked a stream, according to all events passed to `event(_:)` so far.
    var hasMissingStream: Bool {
        get async {
            await withCheckedContinuation { continuation in
                queue.async { [self] in continuation.resume(returning: state.withLock { $0.hasMissingStream }) }
            }
        }
    }

    /// Reports the reply to a command, unless the last report has been given.
    func control(_ reply: ControlReply) {
        queue.async { [self] in
            update { if !$0.isOver { $0.reporter.control(reply) } }
        }
    }

    /// Called when the line at the prompt changes.
    func typed() { queue.async { [self] in update { if !$0.isOver { $0.reporter.typed() } } } }

    func finishing(_ reason: StopReason, duration: Double?) {
        queue.async { [self] in
            update { state in
                state.isFinishing = true
                state.reporter.finishing(reason, duration: duration)
            }
        }
    }

    /// Saves for the last report what the graph loses when it is stopped: its counters and the list of unfinished files.
    func freeze() {
        let (progress, files) = (graph.progress, graph.unfinishedFiles)
        state.withLock { ($0.frozen, $0.incompleteFiles) = (progress, files) }
    }

    /// Gives the last report, and returns when it has been written.
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
            // After an error before PLAYING, the summary is empty.
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

    /// Whether the last report has been given; false if the state is locked. Never blocks.
    var isOver: Bool { state.withLockIfAvailable { $0.isOver } ?? false }

    // MARK: Leaving the terminal

    /// The time that flushing files may take when the process exits without stopping the graph.
    private static let flushLimit = Duration.milliseconds(500)

    /// Exits the process at once and restores the terminal. Doesn't wait for the lock, which may be held by a write to
    /// a stopped terminal.
    func exitAtOnce(by signal: CInt) -> Never {
        let status = ExitStatus.stopped(signal: signal)
        Self.exitSoon(status)
        let files = graph.filesAtRisk
        // A report holds the lock only briefly, unless its write blocks. So this waits for at most 200 ms.
        for _ in 0..<100 {
            guard state.withLockIfAvailable({ Self.endReport(&$0, status, files) }) == nil else { break }
            usleep(2000)
        }
        Prompt.returnTerminal()
        graph.flushFiles(within: Self.flushLimit)
        _exit(status.number)
    }

    /// Exits the process although the graph hasn't stopped, and reports which element hangs.
    ///
    /// - Parameter files: The files that were unfinished before the stop; by default, those that are unfinished now.
    func exit(reporting hang: RunFailure, _ status: ExitStatus, unfinished files: [String]? = nil) -> Never {
        Self.exitSoon(status)
        let files = files ?? graph.filesAtRisk
        // Flush the files first: taking the lock may block, because a write to a stalled reader may hold it.
        graph.flushFiles(within: Self.flushLimit)
        state.withLock { Self.endReport(&$0, status, files, hang) }
        _exit(status.number)
    }

    /// Exits the process after one second even if the last report blocks. Uses `_exit`, not `exit`: GStreamer's threads
    /// are still running, and destructors must not run under them.
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

    /// Suspends the process for Ctrl-Z, with the cursor shown.
    func suspend() {
        queue.async { [self] in
            update { $0.reporter.release() }
            kill(getpid(), SIGSTOP)
        }
    }
}
