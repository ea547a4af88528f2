import Dispatch
import Glibc
import MediaGraph

/// One run of a graph from the command line: until its end, the end of its time, or a signal.
struct GraphRun {
    let graph: Graph
    let title: String
    let reporter: any RunReporter
    /// Seconds from PLAYING on.
    var duration: Double?
    /// Where commands come from while it runs.
    var control: ControlChannel?
    /// Factories of the elements that write to standard output: they fail when its reader goes.
    var outputWriters: Set<String> = []

    /// How long streams have to end once they were asked to.
    static let finishLimit = Duration.seconds(5)
    /// The same before the graph is PLAYING, when hardly anything flows that could be cut off.
    static let startLimit = Duration.seconds(1)
    /// How long a start, or a sink's first buffer, may take without a word.
    static let startPatience = Duration.seconds(3)
    /// How long a graph has to stop when it is forced to; then the program ends without it.
    static let stopLimit = Duration.seconds(2)

    func run() async -> ExitStatus {
        let (requests, requester) = AsyncStream.makeStream(of: StopReason.self)
        let monitor = RunMonitor(graph, reporter: reporter) { requester.yield(.readerGone) }
        let signals = await Self.watchSignals(monitor, requester)
        let events = graph.events
        let listener = Task { for await event in events { monitor.event(event) } }
        let finisher = Task { await finish(at: requests, monitor) }

        monitor.begin(title)
        let end = await waitUntilEnd(monitor, requester)
        requester.finish()
        finisher.cancel()
        // Ended with the graph: what it said last comes before the report of its end.
        await listener.value
        let reportWatchdog = leaveBehind(after: end, .failure, monitor)
        let status = await report(end, request: await finisher.value, to: monitor)
        reportWatchdog.cancel()
        let stopWatchdog = leaveBehind(after: end, status, monitor)
        await graph.stop()
        stopWatchdog.cancel()
        withExtendedLifetime(signals) {}
        return status
    }

    /// A change of state that hangs can't be called off, and all that asks the graph for something waits behind it. What has been
    /// reported by then is not reported again.
    private func leaveBehind(
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
            monitor.giveUp(error.map { RunFailure($0) } ?? hang, status)
        }
    }

    private func waitUntilEnd(
        _ monitor: RunMonitor, _ requester: AsyncStream<StopReason>.Continuation
    ) async -> Result<GraphEnd, GraphError> {
        do throws(GraphError) {
            // Time counts from PLAYING on, but a graph that never comes to it mustn't outlive it by more than any other.
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

    /// Reports what a slow start is waiting for.
    private func reportSlowStart(_ monitor: RunMonitor) -> Task<Void, any Error> {
        Task { [graph] in
            try await Task.sleep(for: Self.startPatience)
            let elements = graph.elementsChangingState
            let starved = graph.starvedSinks
            if !elements.isEmpty || starved.isEmpty {
                monitor.delayed(RunFailure(startingIn: elements, for: Self.startPatience), isStarting: true)
                return
            }
            // The others may wait for these.
            let permanent = starved.filter(\.isPermanent)
            for sink in permanent.isEmpty ? starved : permanent {
                monitor.delayed(RunFailure(sink), isStarting: true)
            }
        }
    }

    /// Reports which sinks of a playing graph get no data, where something can be done about it: an absent user may still come.
    private func reportStarvedSinks(_ monitor: RunMonitor) -> Task<Void, any Error> {
        Task { [graph] in
            try await Task.sleep(for: Self.startPatience)
            for sink in graph.starvedSinks where sink.cause != .unknown {
                monitor.delayed(RunFailure(sink), isStarting: false)
            }
        }
    }

    /// Asks for the end when `duration` and `extra` are over.
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
        control?.listen { [graph] line in
            let reply = ControlCommand.reply(to: line) { command throws(ControlError) in
                if command == .quit { requester.yield(.quit) }
                return try command.apply(to: graph)
            }
            if let reply { monitor.control(reply) }
        } typed: {
            monitor.typed()
        } failed: { reason in
            monitor.control(ControlReply(command: "--control", error: reason))
        }
    }

    /// Waits for the first request to end, and ends the streams; by force when they don't end in time.
    private func finish(at requests: AsyncStream<StopReason>, _ monitor: RunMonitor) async -> StopRequest? {
        for await reason in requests {
            monitor.finishing(reason, duration: duration)
            graph.requestEndOfStream()
            do { try await waitForStreams() } catch { return StopRequest(reason: reason) }
            // Asked before the stop, which changes it. An element that hangs in its start is a better reason than that nothing comes from it.
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
        /// Why the streams didn't end in time.
        var cause: StarvedSink?
    }

    /// Throws when they have ended.
    private func waitForStreams() async throws {
        if graph.isStarting {
            try await Task.sleep(for: Self.startLimit)
            if graph.isStarting { return }
        }
        try await Task.sleep(for: Self.finishLimit)
    }

    private func forceStop(_ reason: StopReason, because cause: StarvedSink?, _ monitor: RunMonitor) async {
        let isStarting = graph.isStarting
        let files = graph.unfinishedFiles
        // A change of state that hangs can't be called off, and the stop waits behind it.
        let watchdog = Task { [graph] in
            try await Task.sleep(for: Self.stopLimit)
            let hang = RunFailure(hangingIn: graph.elementsChangingState, isStarting: isStarting, because: cause)
            monitor.giveUp(hang, Self.status(ofForced: reason), unfinished: files)
        }
        // What hangs may hold up the counters too, which are at zero before the graph runs.
        if !isStarting { monitor.freeze() }
        await graph.stop()
        watchdog.cancel()
    }

    private static func status(ofForced reason: StopReason?) -> ExitStatus {
        reason?.signal.map(ExitStatus.stopped) ?? .failure
    }

    /// Tells how it ended, before the graph is stopped and its counters are gone.
    private func report(
        _ end: Result<GraphEnd, GraphError>, request: StopRequest?, to monitor: RunMonitor
    ) async -> ExitStatus {
        let error: GraphError
        switch end {
        case .success(.endOfStream):
            let lacksData = await monitor.hasMissingStream || graph.hasUnwrittenFile
            let status = lacksData ? ExitStatus.missingStream : .success
            await monitor.end(request?.reason ?? .endOfStream, status)
            return status
        case .success(.stopped), .failure(.stopped):
            let status = Self.status(ofForced: request?.reason)
            // Its time was over before it was running: that has to be said.
            var failure: RunFailure?
            let cause = request?.cause
            if case .failure(let stopped) = end, status == .failure || cause != nil {
                failure = RunFailure(stopped, because: cause)
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
            // As tools end that write on: `… | head` has seen enough, and that is no error.
            let status = ExitStatus.stopped(signal: SIGPIPE)
            await monitor.end(.readerGone, status)
            return status
        }
        var report = RunFailure(error, formatConflict: await graph.formatConflict)
        report.incompleteFiles = await graph.finishFiles(within: Self.finishLimit)
        if case .failed(let failure) = error, let cause = failure.cause, cause.code == .noDevice {
            let (name, factory) = (cause.detail.subject, failure.factory ?? "")
            // A server that hangs isn't waited for.
            let list = await MediaDevices.list(within: 500)
            let known = list.devices.filter { $0.isNamed(by: factory) && $0.path != name }
            report.add(nearestDevice: NearestName.find(name, among: known.map(\.path)))
        }
        await monitor.end(.error, .failure, failure: report)
        return .failure
    }

    /// None under nohup, which has it ignored.
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
        // A reader that goes away is seen where something is written to it.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "mediagraph.signals")
        let count = SignalCount()
        return [
            await SignalWatch([SIGINT, SIGTERM] + Self.hangUp, on: queue) { number in
                switch count.count() {
                // Told of its end already: only the graph's stop is still under way.
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
