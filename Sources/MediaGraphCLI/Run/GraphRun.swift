import Dispatch
import Glibc
import MediaGraph

/// One run of a graph from the command line, until the streams end, the duration is over, or a signal arrives.
struct GraphRun {
    let graph: Graph
    let title: String
    let reporter: any RunReporter
    /// The time after PLAYING at which to end the streams, in seconds; `nil` for no limit.
    var duration: Double?
    /// The source of commands during the run.
    var control: ControlChannel?
    /// The files that the command itself uses, which no command may overwrite.
    var ownFiles: [FileUse] = []
    /// Factories of the elements that write to standard output. They fail when its reader goes away.
    var outputWriters: Set<String> = []

    /// The time in which streams must end after they were asked to.
    static let finishLimit = Duration.seconds(5)
    /// The same limit before PLAYING. It is shorter because hardly any data can be lost yet.
    static let startLimit = Duration.seconds(1)
    /// The time after which a slow start, or a sink without data, is reported.
    static let slowStartLimit = Duration.seconds(3)
    /// The time that a forced stop may take. After that, the process exits anyway.
    static let stopLimit = Duration.seconds(2)

    func run() async -> ExitStatus {
        let (requests, requester) = AsyncStream.makeStream(of: StopReason.self)
        let monitor = RunMonitor(graph, reporter: reporter) { requester.yield(.readerGone) }
        let signals = await Self.watchSignals(monitor, requester)
        let events = graph.events
        let listener = Task { for await event in events { monitor.event(event) } }
        let statistics = graph.streamStatistics
        Task { for await next in statistics { monitor.statistics(next) } }
        let finisher = Task { await finish(at: requests, monitor) }

        monitor.begin(title)
        let end = await waitUntilEnd(monitor, requester)
        requester.finish()
        finisher.cancel()
        // The event stream ends with the graph. The last events must be reported before the end is.
        await listener.value
        let reportWatchdog = exitIfStuck(after: end, .failure, monitor)
        let status = await report(end, request: await finisher.value, to: monitor)
        reportWatchdog.cancel()
        let stopWatchdog = exitIfStuck(after: end, status, monitor)
        await graph.stop()
        stopWatchdog.cancel()
        withExtendedLifetime(signals) {}
        return status
    }

    /// Starts a task that exits the process if reporting the end or stopping the graph takes too long.
    ///
    /// A hanging state change can't be cancelled, and every call to the graph waits for it. If the end has already been
    /// reported, it isn't reported again.
    private func exitIfStuck(
        after end: Result<GraphEnd, GraphError>, _ status: ExitStatus, _ monitor: RunMonitor
    ) -> Task<Void, any Error> {
        Task { [graph] in
            try await Task.sleep(for: Self.finishLimit * 2)
            let error: GraphError? =
                switch end {
                case .success(.failed(let failure)): .failed(failure)
                case .failure(let failure): failure
                case .success: nil
                }
            let hang = RunFailure(hangingIn: graph.elementsChangingState, isStarting: false)
            monitor.exit(reporting: error.map { RunFailure($0) } ?? hang, status)
        }
    }

    private func waitUntilEnd(
        _ monitor: RunMonitor, _ requester: AsyncStream<StopReason>.Continuation
    ) async -> Result<GraphEnd, GraphError> {
        do throws(GraphError) {
            // The duration counts from PLAYING on. This alarm ends a graph that never reaches PLAYING.
            let startAlarm = alarm(plus: Self.finishLimit, requester)
            let delay = reportSlowStart(monitor)
            defer {
                startAlarm?.cancel()
                delay.cancel()
            }
            try await graph.start()
            startAlarm?.cancel()
            delay.cancel()
            let timer = monitor.started()
            listen(monitor, requester)
            let endAlarm = alarm(plus: .zero, requester)
            let starvation = reportStarvedSinks(monitor)
            defer {
                timer.cancel()
                endAlarm?.cancel()
                starvation.cancel()
            }
            return .success(try await graph.waitUntilEnd())
        } catch {
            return .failure(error)
        }
    }

    /// Starts a task that reports what a slow start is waiting for.
    private func reportSlowStart(_ monitor: RunMonitor) -> Task<Void, any Error> {
        Task { [graph] in
            try await Task.sleep(for: Self.slowStartLimit)
            let elements = graph.elementsChangingState
            let starved = graph.starvedSinks
            if !elements.isEmpty || starved.isEmpty {
                monitor.delayed(RunFailure(startingIn: elements, for: Self.slowStartLimit), isStarting: true)
                return
            }
            // The other sinks may be waiting only because of the permanently starved ones.
            let permanent = starved.filter(\.isPermanent)
            for sink in permanent.isEmpty ? starved : permanent {
                monitor.delayed(RunFailure(sink), isStarting: true)
            }
        }
    }

    /// Starts a task that reports which sinks of a playing graph receive no data. Sinks without a known cause aren't
    /// reported: they may wait for a user who hasn't joined yet.
    private func reportStarvedSinks(_ monitor: RunMonitor) -> Task<Void, any Error> {
        Task { [graph] in
            try await Task.sleep(for: Self.slowStartLimit)
            for sink in graph.starvedSinks where sink.cause != .unknown {
                monitor.delayed(RunFailure(sink), isStarting: false)
            }
        }
    }

    /// Starts a task that requests the end after `duration` plus `extra`; returns `nil` if there is no duration.
    private func alarm(
        plus extra: Duration, _ requester: AsyncStream<StopReason>.Continuation
    ) -> Task<Void, any Error>? {
        duration.map { duration in
            Task {
                try await Task.sleep(for: .seconds(duration) + extra)
                requester.yield(.duration)
            }
        }
    }

    private func listen(_ monitor: RunMonitor, _ requester: AsyncStream<StopReason>.Continuation) {
        control?.listen { [graph, ownFiles] line in
            let reply = ControlCommand.reply(to: line) { command throws(ControlError) in
                if command == .quit { requester.yield(.quit) }
                return try command.apply(to: graph, besides: ownFiles)
            }
            if let reply { monitor.control(reply) }
        } typed: {
            monitor.typed()
        } failed: { reason in
            monitor.control(ControlReply(command: "--control", error: reason))
        }
    }

    /// Waits for the first request to end the run, then ends the streams. Stops the graph if they don't end in time.
    private func finish(at requests: AsyncStream<StopReason>, _ monitor: RunMonitor) async -> StopRequest? {
        for await reason in requests {
            monitor.finishing(reason, duration: duration)
            graph.requestEndOfStream()
            do { try await waitForStreams() } catch { return StopRequest(reason: reason) }
            // Read before the stop, which changes the result. If an element hangs while it starts, report the hang
            // rather than the sink that receives nothing because of it.
            let starved = graph.starvedSinks.filter { $0.isPermanent || graph.elementsChangingState.isEmpty }
            let cause =
                starved.first(where: \.isPermanent)
                ?? starved.first { if case .silentSource = $0.cause { true } else { false } }
            await forceStop(reason, because: cause, monitor)
            return StopRequest(reason: reason, cause: cause)
        }
        return nil
    }

    private struct StopRequest {
        var reason: StopReason
        /// The sink that explains why the streams didn't end in time.
        var cause: StarvedSink?
    }

    /// Waits until the time for ending the streams is up. Throws when the task is cancelled because the streams have
    /// ended.
    private func waitForStreams() async throws {
        if graph.isStarting {
            try await Task.sleep(for: Self.startLimit)
            if graph.isStarting { return }
        }
        try await Task.sleep(for: Self.finishLimit)
    }

    private func forceStop(_ reason: StopReason, because cause: StarvedSink?, _ monitor: RunMonitor) async {
        let isStarting = graph.isStarting
        let files = graph.filesAtRisk
        // A hanging state change can't be cancelled, and the stop waits for it.
        let watchdog = Task { [graph] in
            try await Task.sleep(for: Self.stopLimit)
            let hang = RunFailure(hangingIn: graph.elementsChangingState, isStarting: isStarting, because: cause)
            monitor.exit(reporting: hang, Self.status(ofForced: reason), unfinished: files)
        }
        // While the graph starts, its counters are zero, and reading them may block on the element that hangs.
        if !isStarting { monitor.freeze() }
        await graph.stop()
        watchdog.cancel()
    }

    private static func status(ofForced reason: StopReason?) -> ExitStatus {
        reason?.signal.map(ExitStatus.stopped) ?? .failure
    }

    /// Reports how the run ended. Must be called before the graph is stopped, which resets its counters.
    private func report(
        _ end: Result<GraphEnd, GraphError>, request: StopRequest?, to monitor: RunMonitor
    ) async -> ExitStatus {
        let error: GraphError
        switch end {
        case .success(.endOfStream):
            let lacksData = await monitor.hasMissingStream || graph.hasUnwrittenFile || graph.hasUnsentStream
            let status = lacksData ? ExitStatus.missingStream : .success
            await monitor.end(request?.reason ?? .endOfStream, status)
            return status
        case .success(.stopped), .failure(.stopped):
            let status = Self.status(ofForced: request?.reason)
            // A graph whose duration was over before it was running failed, which must be reported.
            var failure: RunFailure?
            let cause = request?.cause
            if case .failure = end, status == .failure || cause != nil {
                failure = RunFailure(stoppedBeforeRunningBecause: cause)
            }
            if case .success = end, request != nil {
                failure = RunFailure(notEndedWithin: Self.finishLimit, because: cause)
            }
            await monitor.end(.forced, status, failure: failure)
            return status
        case .success(.failed(let failure)): error = .failed(failure)
        case .failure(let failure): error = failure
        }
        if case .failed(let failure) = error, outputWriters.contains(failure.factory ?? ""),
            StandardStreams.hasLostReader
        {
            // In `… | head`, a closed pipe isn't an error: exit like tools that SIGPIPE ends.
            let status = ExitStatus.stopped(signal: SIGPIPE)
            await monitor.end(.readerGone, status)
            return status
        }
        var report = RunFailure(error, formatConflict: await graph.formatConflict)
        report.incompleteFiles = await graph.finishFiles(within: Self.finishLimit)
        if case .failed(let failure) = error, let cause = failure.cause, cause.code == .noDevice {
            let (name, factory) = (cause.detail.subject, failure.factory ?? "")
            // Don't wait long for a hanging server.
            let list = await MediaDevices.list(within: .milliseconds(500))
            let known = list.devices.filter { $0.isNamed(by: factory) && $0.path != name }
            report.add(nearestDevice: NearestName.find(name, among: known.map(\.path)))
        }
        await monitor.end(.error, .failure, failure: report)
        return .failure
    }

    /// SIGHUP, or nothing if the parent process has it ignored, as `nohup` does.
    private static var hangUp: [CInt] {
        var action = sigaction()
        sigaction(SIGHUP, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
            ? [] : [SIGHUP]
    }

    private static func watchSignals(
        _ monitor: RunMonitor, _ requester: AsyncStream<StopReason>.Continuation
    ) async -> [SignalWatch] {
        // A reader that has gone away is detected by the failing write instead.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "mediagraph.signals")
        let count = SignalCount()
        return [
            await SignalWatch([SIGINT, SIGTERM] + Self.hangUp, on: queue) { number in
                switch count.count() {
                // The end has already been reported; only the graph's stop is still running.
                case .first where monitor.isOver: monitor.exitAtOnce(by: number)
                case .first: if let reason = StopReason(signal: number) { requester.yield(reason) }
                case .repeated: break
                case .again: monitor.exitAtOnce(by: number)
                }
            },
            await SignalWatch([SIGQUIT], on: queue) { monitor.exitAtOnce(by: $0) },
            await SignalWatch([SIGTSTP], on: queue) { _ in monitor.suspend() },
        ]
    }
}
