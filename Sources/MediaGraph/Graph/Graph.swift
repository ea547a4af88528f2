import Dispatch
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession
import Synchronization

/// A media graph made from a description, for use inside a program.
///
/// ```swift
/// let graph = try Graph("videosource handler=counter ! preprocessor name=mark ! rawdatapipe name=frames")
/// try graph.preprocessor("mark").process { frame in .pass }
/// try await graph.run()
/// ```
/// Any task or thread may call a graph. It changes its elements' states on its own queue, never on Swift's cooperative
/// threads, which a state change would block. Nodes such as ``PreprocessorNode`` keep their graph alive. A graph stops
/// when its last reference is released.
public final class Graph: Sendable {
    /// The description that the graph was made from.
    public let description: Description
    let pipeline: Pipeline
    let control = DispatchQueue(label: "mediagraph.graph")
    let state = Mutex(GraphState())
    /// The format conflict behind a failed negotiation. Determined before the graph stops, while pads still have their
    /// caps.
    let conflict = Mutex<String?>(nil)
    let streams = WeakChannels()
    let stock = StockNodes()
    let outputFiles = OutputFiles()
    let padCompletion = PadCompletion()
    let emptyContainers = EmptyContainers()
    let streamWatch = StreamWatch()
    let mediaRange = GraphMediaRange()
    let frameLimit = Mutex<FrameLimit?>(nil)
    let screens = ScreenCaptures()
    /// Whether the graph is live: then each sink goes to PLAYING as soon as it has its first buffer.
    let playsAlone = Atomic(false)
    let readers = EventReaders<GraphEvent>()
    let statisticsReaders = EventReaders<SessionStatistics>(bufferingPolicy: .bufferingNewest(16))
    let listener = Mutex<Listener?>(nil)
    /// Declared last, so that it is released after the other properties.
    private let life = Life()

    /// Makes a graph from a description's text. `variables` gives the values of the text's `${NAME}` variables.
    ///
    /// Throws `GraphError.description` with all errors found in the text.
    public convenience init(_ text: String, variables: [String: String] = [:]) throws(GraphError) {
        try self.init(Description(text), variables: variables)
    }

    /// Makes a graph from a description and values for its variables.
    ///
    /// Throws `GraphError.description` with all errors found in the description.
    public convenience init(_ description: Description, variables: [String: String] = [:]) throws(GraphError) {
        // The parser asks the nodes which pads are named after users.
        do { try Nodes.register() } catch { throw .registration(error) }
        try self.init(description.resolved(with: variables))
    }

    /// Makes a graph from a description whose variables have values.
    ///
    /// Throws `GraphError.description` with all errors found in the description.
    public convenience init(_ description: ResolvedDescription) throws(GraphError) {
        let problems = try Self.diagnose(description, isMadeNext: true, isComplete: false)
            .filter { $0.severity == .error }
        guard problems.isEmpty else { throw .description(DescriptionError(diagnostics: problems)) }
        try self.init(checked: description)
    }

    /// Makes a graph from a description in which ``diagnose(_:isMadeNext:isComplete:)`` has found no error. The caller
    /// must have called that function, because it also registers the nodes.
    package init(checked resolved: ResolvedDescription) throws(GraphError) {
        _ = Self.ignoresBrokenPipes
        description = resolved.description
        let text: String
        do { text = try resolved.text } catch { throw .description(error) }
        let factories = resolved.factories
        do {
            pipeline = try ScreenTurn.make(factories, within: ScreenTurn.graphTimeLimit) { () throws(GLibError) in
                try Pipeline(parsing: text)
            }
        } catch {
            throw .description(DescriptionError(diagnostics: [resolved.diagnostic(forParseError: error.message)]))
        }
        pipeline.onEachElement { [weak streamWatch] element in
            element.disableWAVPullMode()
            element.delayPullUntilPlugged()
            element.keepFinishedFile()
            streamWatch?.watchAdded(element)
        }
        pipeline.onMessage { [weak self] message in self?.handle(message) }
    }

    deinit {
        pipeline.removeMessageHandler()
        streams.end(.stopped)
        // A streaming thread may release the last reference, and must never stop its own element.
        padCompletion.end()
        let pipes = StalledPipes(pipeline)
        control.async { [pipeline, stock, outputFiles, mediaRange] in
            stock.willStop()
            pipeline.setState(.null)
            pipes.end()
            SessionJoins.forget(pipeline)
            mediaRange.end()
            outputFiles.close()
            stock.didStop()
            stock.close()
        }
        control.async { [life] in withExtendedLifetime(life) {} }
    }

    // MARK: Running

    /// Starts the graph and returns when it is PLAYING.
    ///
    /// A graph that isn't live is PLAYING when every sink has received its first buffer. Cancelling the task stops the
    /// graph.
    ///
    /// Throws `GraphError.failed` with the error that an element posted, `GraphError.stopped` if the graph was stopped
    /// or the task cancelled before PLAYING, and `GraphError.wrongUsage` if the graph is already running.
    public func start() async throws(GraphError) { _ = try await startRun() }

    /// Starts the graph and returns the run's number.
    private func startRun() async throws(GraphError) -> Int {
        guard let generation = state.withLock({ $0.begin() }) else {
            throw .wrongUsage("the graph is already running; stop it before starting it again")
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let outcome = state.withLock({ $0.awaitStart(of: generation, continuation) }) {
                    continuation.resume(returning: outcome)
                    return
                }
                control.async { [self] in play(generation) }
            }
        } onCancel: {
            cancel(generation)
        }
        guard case .ended(let end) = outcome else { return generation }
        switch end {
        // The stream was so short that it has already ended; `waitUntilEnd` reports that.
        case .endOfStream: return generation
        case .stopped:
            await stop(generation)
            throw .stopped
        case .failed(let failure):
            await stop(generation)
            throw .failed(failure)
        }
    }

    /// Takes the graph to PLAYING. Called on the control queue.
    private func play(_ run: Int) {
        // Before the check: the run may be stopped after it, which cancels joins.
        SessionJoins.permit(in: pipeline, run: run)
        // The run may have been stopped, and the pipeline set to NULL, before this block ran.
        guard state.withLock({ $0.isStarting(run) }) else { return }
        conflict.withLock { $0 = nil }
        // Before anything takes the pipeline to READY, where sinks empty their files.
        outputFiles.open(in: pipeline)
        guard stock.willStart(pipeline) else { return }
        emptyContainers.begin(in: pipeline)
        streamWatch.begin(in: pipeline)
        mediaRange.begin(in: pipeline) { [weak self] in self?.enqueue($0) }
        padCompletion.begin(in: pipeline) { [weak self] in self?.isStarting == true }
        if screens.begin(in: pipeline, on: control, isShare: \.leadsOnlyToSessions) {
            // Fails if a window named in the description doesn't exist, rather than capturing something else.
            guard pipeline.setState(.ready) != .failure, screens.choose() else {
                return finish(.failed(.unexplained(pipeline, "the graph can't start")), of: run)
            }
        }
        // A live graph needs no preroll: it runs as soon as its sources do, even while a sink waits for its first
        // buffer.
        let hold = screens.holdServer(of: pipeline)
        let paused = pipeline.setState(.paused)
        screens.release(hold)
        let isLive = paused == .noPreroll
        let hasFailed = paused == .failure || !screens.confirm()
        // With `.async`, ASYNC_DONE allows writing: that is when every sink has its first buffer.
        if !hasFailed, paused != .async { outputFiles.allowWriting() }
        let result = hasFailed ? StateChangeResult.failure : pipeline.setState(.playing)
        if result != .failure, isLive {
            playsAlone.store(true, ordering: .releasing)
            // The sinks that received their first buffer before the line above; `handle` starts the others.
            for sink in pipeline.prerolledSinks { letPlay(sink) }
        }
        if result != .failure, !stock.startSend() { return }
        switch result {
        case .failure:
            // If an element posted an error, that error has already ended the graph, and this one is ignored.
            finish(.failed(.unexplained(pipeline, "the graph can't start")), of: run)
        case .async where !isLive: break
        case .success, .noPreroll, .async: started()
        }
    }

    /// Takes one sink to PLAYING, on a queue of its own, because a device's sink may take any amount of time to change
    /// state.
    private func letPlay(_ sink: Element) {
        DispatchQueue(label: "mediagraph.sink").async { [weak self, pipeline] in
            pipeline.letPlay(sink)
            // Another sink may have changed the latency in the meantime.
            self?.recalculateLatency()
        }
    }

    private func recalculateLatency() { control.async { [weak self] in self?.pipeline.recalculateLatency() } }

    private func started() {
        stock.didStartPlaying()
        state.withLock { $0.started() }?.resumeAll(.started)
    }

    /// Waits until the graph has reached end-of-stream or has been stopped.
    ///
    /// Cancelling the task leaves the graph running. Throws `GraphError.failed` with the error that an element posted,
    /// and `GraphError.stopped` if the task is cancelled.
    public func waitUntilEnd() async throws(GraphError) -> GraphEnd {
        let end = try await waitUntilEnd(of: nil)
        if case .stopped = end, Task.isCancelled { throw .stopped }
        return end
    }

    /// Waits until the run has ended or the task is cancelled. A `run` of `nil` means the current run.
    func awaitEnd(of run: Int?) async -> GraphEnd {
        let waiter = state.withLock { $0.makeWaiter() }
        defer { state.withLock { $0.forget(waiter) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let end = state.withLock({ $0.awaitEnd(of: run, waiter, continuation) }) {
                    continuation.resume(returning: end)
                }
            }
        } onCancel: {
            state.withLock { $0.cancel(waiter) }?.resume(returning: .stopped)
        }
    }

    private func waitUntilEnd(of run: Int?) async throws(GraphError) -> GraphEnd {
        let end = await awaitEnd(of: run)
        if case .failed(let failure) = end { throw .failed(failure) }
        return end
    }

    /// Starts the graph, waits for its end, and stops it. Cancelling the task stops the graph too.
    ///
    /// Throws what ``start()`` and ``waitUntilEnd()`` throw, except `GraphError.stopped`.
    @discardableResult
    public func run() async throws(GraphError) -> GraphEnd {
        let run: Int
        do throws(GraphError) { run = try await startRun() } catch {
            guard case .stopped = error else { throw error }
            return .stopped
        }
        let result: Result<GraphEnd, GraphError>
        do throws(GraphError) {
            result = .success(
                try await withGraphCancellation(of: run) { () async throws(GraphError) in
                    try await waitUntilEnd(of: run)
                })
        } catch { result = .failure(error) }
        await stop(run)
        return try result.get()
    }

    private func withGraphCancellation(
        of run: Int, _ body: () async throws(GraphError) -> GraphEnd
    ) async throws(GraphError) -> GraphEnd {
        let result: Result<GraphEnd, GraphError> = await withTaskCancellationHandler {
            do throws(GraphError) { return .success(try await body()) } catch { return .failure(error) }
        } onCancel: {
            cancel(run)
        }
        return try result.get()
    }

    /// Ends the run because its task was cancelled.
    private func cancel(_ run: Int) { finish(.stopped, of: run) }

    /// Runs `body` on the control queue, between two state changes of the graph, and waits for it without blocking a
    /// cooperative thread. For work that changes the states of elements.
    func onControlQueue(_ body: @escaping @Sendable () throws(MediaGraphError) -> Void) async throws(MediaGraphError) {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Void, MediaGraphError>, Never>) in
            enqueue { continuation.resume(returning: Result { () throws(MediaGraphError) in try body() }) }
        }
        try result.get()
    }

    // MARK: Events

    /// The graph's events from now on. The stream ends after ``GraphEvent/ended(_:)``.
    ///
    /// Any number of tasks may read events; each access makes a stream of its own that gets all events. A stream holds
    /// 256 events for a slow reader, and then drops the oldest.
    public var events: AsyncStream<GraphEvent> { readers.makeStream() }

    /// The numbers of the streams of the graph's sessions, every second for each session whose user is in a room. The
    /// stream ends with the graph's run.
    ///
    /// Any number of tasks may read them. Each access makes a stream of its own, which holds the newest 16 values for a slow
    /// reader.
    public var streamStatistics: AsyncStream<SessionStatistics> { statisticsReaders.makeStream() }

    /// Handles a bus message. Called on the thread that posts the message, so it must not block.
    private func handle(_ message: Message) {
        switch message.kind {
        case .endOfStream: if listener.withLock({ $0 })?.outlives(nil) != true { finish(.endOfStream) }
        case .error(let report):
            let failure = ElementFailure(message, report)
            let isOutlived =
                message.source.map { listener.withLock { $0 }?.outlives(($0, failure)) ?? false } ?? false
                && !ScreenCaptures.processEnds
            if isOutlived { tell(.warning(failure)) } else { finish(.failed(failure)) }
        case .warning(let report):
            guard let missing = pipeline.missingStream(of: report.debug) else {
                return tell(.warning(ElementFailure(message, report)))
            }
            if let conflict = pipeline.conflict(behind: missing) {
                message.source?.postError(.notNegotiated, conflict)
                break
            }
            // In this order: ending the branch may end the graph, after which no event is delivered.
            if state.withLock({ $0.record(missing) }) { tell(.missingStream(missing)) }
            pipeline.endBranch(of: missing)
        case .asyncDone: if message.sourceName == pipeline.name { outputFiles.allowWriting() }
        case .latency: recalculateLatency()
        // `old != .paused`: a sink that a flush took out of PLAYING returns to it by itself.
        case .stateChanged(let old, .paused) where old != .paused && message.sourceName != pipeline.name:
            guard playsAlone.load(ordering: .acquiring) else { break }
            if let sink = message.source, sink.isSink { letPlay(sink) }
        case .stateChanged(_, let new) where message.sourceName == pipeline.name:
            tell(.stateChanged(new))
            if new == .playing {
                dumpDotFile("playing")
                // Queued after `play`, which makes stock sources start sending once the pipeline is PLAYING.
                control.async { [weak self] in
                    if let self, pipeline.state == .playing { started() }
                }
            }
        case .qualityOfService(let jitter, let processed, let dropped):
            // Decoders post the same message for a picture that they can't decode. Such a picture isn't late: jitter <=
            // 0.
            if let element = message.source, jitter > .zero { streamWatch.skips(in: element) }
            tell(
                .qualityOfService(
                    element: message.sourceName, jitter: jitter, processed: processed, dropped: dropped))
        case .buffering(let percent): tell(.buffering(percent: percent))
        case .element(let structure):
            if let statistics = SessionStatistics(structure, of: message.sourceName) {
                statisticsReaders.yield(statistics)
            } else {
                tell(GraphEvent(structure, of: message.sourceName))
            }
        default: break
        }
    }

    /// Writes the graph to `$GST_DEBUG_DUMP_DOT_DIR` if that is set. Queued, so that a later stop doesn't overtake it.
    func dumpDotFile(_ moment: String) {
        control.async { [pipeline] in pipeline.dumpDotFile("mediagraph.\(moment)") }
    }

    /// Sets the listener. Call this before the graph is started.
    func listen(_ new: Listener) { listener.withLock { $0 = new } }

    /// Runs `body` later on the control queue, where state changes happen.
    func enqueue(_ body: @escaping @Sendable () -> Void) { control.async(execute: body) }

    private func tell(_ event: GraphEvent) {
        listener.withLock { $0 }?.receive(event)
        readers.yield(event)
    }
}
