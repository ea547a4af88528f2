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

    /// How long streams have to end once they were asked to.
    static let finishLimit = Duration.seconds(5)

    func run() async -> ExitStatus {
        let (requests, requester) = AsyncStream.makeStream(of: StopReason.self)
        let monitor = RunMonitor(graph, reporter: reporter) { requester.yield(.readerGone) }
        let signals = Self.watchSignals(monitor, requester)
        let events = graph.events
        let listener = Task { for await event in events { monitor.event(event) } }
        let finisher = Task { await finish(at: requests, monitor) }

        monitor.begin(title)
        let end = await waitUntilEnd(monitor, requester)
        requester.finish()
        finisher.cancel()
        // Ended with the graph: what it said last comes before the report of its end.
        await listener.value
        let status = await report(end, request: await finisher.value, to: monitor)
        await graph.stop()
        withExtendedLifetime(signals) {}
        return status
    }

    private func waitUntilEnd(
        _ monitor: RunMonitor, _ requester: AsyncStream<StopReason>.Continuation
    ) async -> Result<GraphEnd, GraphError> {
        do throws(GraphError) {
            try await graph.start()
            let timer = monitor.started()
            control?.listen { [graph] line in
                let reply = ControlCommand.reply(to: line) { command throws(ControlError) in
                    try command.apply(to: graph)
                }
                if let reply { monitor.control(reply) }
            }
            let alarm = Task { [duration] in
                guard let duration else { return }
                try await Task.sleep(for: .seconds(duration))
                requester.yield(.duration)
            }
            defer {
                timer.cancel()
                alarm.cancel()
            }
            return .success(try await graph.waitUntilEnd())
        } catch {
            return .failure(error)
        }
    }

    /// Waits for the first request to end, and ends the streams; by force when they don't end in time.
    private func finish(at requests: AsyncStream<StopReason>, _ monitor: RunMonitor) async -> StopReason? {
        for await reason in requests {
            monitor.finishing(reason)
            graph.requestEndOfStream()
            do { try await Task.sleep(for: Self.finishLimit) } catch { return reason }
            monitor.freeze()
            await graph.stop()
            return reason
        }
        return nil
    }

    /// Tells how it ended, before the graph is stopped and its counters are gone.
    private func report(
        _ end: Result<GraphEnd, GraphError>, request: StopReason?, to monitor: RunMonitor
    ) async -> ExitStatus {
        let error: GraphError
        switch end {
        case .success(.endOfStream):
            await monitor.end(request ?? .endOfStream, .success)
            return .success
        case .success(.stopped):
            let status = request?.signal.map(ExitStatus.stopped) ?? .failure
            await monitor.end(.forced, status)
            return status
        case .success(.failed(let failure)): error = .failed(failure)
        case .failure(let failure): error = failure
        }
        await monitor.end(.error, .failure, failure: RunFailure(error, formatConflict: await graph.formatConflict))
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
    ) -> [SignalWatch] {
        // A reader that goes away is seen where something is written to it.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "mediagraph.signals")
        let count = SignalCount()
        return [
            SignalWatch([SIGINT, SIGTERM] + Self.hangUp, on: queue) { number in
                switch count.count() {
                case .first: if let reason = StopReason(signal: number) { requester.yield(reason) }
                case .repeated: break
                case .again: monitor.exitAtOnce(by: number)
                }
            },
            SignalWatch([SIGQUIT], on: queue) { monitor.exitAtOnce(by: $0) },
            SignalWatch([SIGTSTP], on: queue) { _ in monitor.suspend() },
        ]
    }
}
