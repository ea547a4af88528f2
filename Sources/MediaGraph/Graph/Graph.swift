import Dispatch
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession
import Synchronization

/// A media graph made from a description, to embed in a program.
///
/// ```swift
/// let graph = try Graph("videosource handler=counter ! preprocessor name=mark ! rawdatapipe name=frames")
/// try graph.preprocessor("mark").process { frame in .pass }
/// try await graph.run()
/// ```
/// Sendable: any task or thread may call it. Changes of state happen on a queue of the graph's own, never on Swift's
/// cooperative threads, which they would block. Faces of nodes keep their graph alive; a graph that nobody holds any
/// more stops.
public final class Graph: Sendable {
    /// The description that it was made from.
    public let description: Description
    let pipeline: Pipeline
    let control = DispatchQueue(label: "mediagraph.graph")
    let state = Mutex(GraphState())
    /// Found when a negotiation failed, before the stop.
    private let conflict = Mutex<String?>(nil)
    let streams = WeakStreams()
    let stock = StockNodes()
    private let outputFiles = OutputFiles()
    private let padCompletion = PadCompletion()
    private let emptyContainers = EmptyContainers()
    let streamWatch = StreamWatch()
    let mediaRange = GraphMediaRange()
    let frameLimit = Mutex<FrameLimit?>(nil)
    private let screens = ScreenCaptures()
    private let screenLosses: ScreenLosses
    /// It is live: each sink plays as soon as it has its first buffer.
    private let playsAlone = Atomic(false)
    private let readers = EventReaders<GraphEvent>()
    private let listener = Mutex<Listener?>(nil)

    /// Reads a description; `variables` are values for its `${NAME}`.
    public convenience init(_ text: String, variables: [String: String] = [:]) throws(GraphError) {
        try self.init(Description(text), variables: variables)
    }

    /// Reads a description with values for its variables. Throws `GraphError.description` with all errors that are found.
    public convenience init(_ description: Description, variables: [String: String] = [:]) throws(GraphError) {
        try self.init(description.resolved(with: variables))
    }

    /// Makes the graph of a description that has its values. Throws `GraphError.description` with all errors that are found.
    public convenience init(_ description: ResolvedDescription) throws(GraphError) {
        let problems = try Self.diagnose(description, isMadeNext: true, isComplete: false)
            .filter { $0.severity == .error }
        guard problems.isEmpty else { throw .description(DescriptionError(diagnostics: problems)) }
        try self.init(checked: description)
    }

    /// Makes the graph of a description in which ``diagnose(_:isMadeNext:isComplete:)``, which registers the nodes too, has
    /// found no error.
    package init(checked resolved: ResolvedDescription) throws(GraphError) {
        description = resolved.description
        let text: String
        do { text = try resolved.text } catch { throw .description(error) }
        let factories = resolved.factories
        // Elements connect while they are made.
        ScreenLosses.keepProcess(by: factories)
        // Not on the thread that lost it, which is an element's.
        screenLosses = ScreenLosses { [control, screens] loss in
            control.async { screens.end(loss, isShare: \.leadsOnlyToSessions) }
        }
        do {
            pipeline = try ScreenLosses.inTurn(factories) { () throws(GLibError) in try Pipeline(parsing: text) }
        } catch {
            throw .description(DescriptionError(diagnostics: [resolved.diagnostic(forParseError: error.message)]))
        }
        pipeline.onEachElement { [weak streamWatch] element in
            element.disablePullOfWAV()
            element.delayPullUntilPlugged()
            streamWatch?.watchAdded(element)
        }
        pipeline.onMessage { [weak self] message in self?.handle(message) }
    }

    deinit {
        pipeline.removeMessageHandler()
        streams.end(.stopped)
        // The last reference may go on a streaming thread, which must never stop its own element.
        padCompletion.end()
        control.async { [pipeline, stock, outputFiles, mediaRange] in
            stock.willStop()
            pipeline.setState(.null)
            mediaRange.end()
            outputFiles.close()
            stock.stopped()
            stock.close()
        }
    }

    // MARK: Running

    /// Starts the graph. Returns when it is PLAYING; throws what an element posted when it can't be.
    ///
    /// `GraphError.stopped` when it was stopped, or the task cancelled, before that.
    ///
    /// A graph that isn't live is PLAYING when every sink has had its first buffer. Cancelling the task stops it.
    public func start() async throws(GraphError) { _ = try await startRun() }

    /// Gives the run's number.
    private func startRun() async throws(GraphError) -> Int {
        guard let generation = state.withLock({ $0.begin() }) else {
            throw .wrongUsage("the graph runs already; stop it before it is started again")
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
        // So short a stream has been played whole: `waitUntilEnd` says so.
        case .endOfStream: return generation
        case .stopped:
            await stop(generation)
            throw .stopped
        case .failed(let failure):
            await stop(generation)
            throw .failed(failure)
        }
    }

    /// On the control queue.
    private func play(_ run: Int) {
        // Stopped, and put to NULL, before it came to this.
        guard state.withLock({ $0.isStarting(run) }) else { return }
        guard stock.willStart(pipeline) else { return }
        outputFiles.open(in: pipeline)
        emptyContainers.begin(in: pipeline)
        streamWatch.begin(in: pipeline)
        mediaRange.begin(in: pipeline) { [weak self] in self?.enqueue($0) }
        padCompletion.begin(in: pipeline) { [weak self] in self?.isStarting == true }
        if screens.begin(in: pipeline) {
            // A window that was asked for is there, or nothing is captured.
            guard pipeline.setState(.ready) != .failure, screens.choose() else {
                return finish(.failed(.unexplained(pipeline, "the graph can't start")))
            }
        }
        // A live graph needs no preroll: it runs once its sources do, even when a sink still waits for its first buffer.
        let hold = screens.holdServer(of: pipeline)
        let paused = pipeline.setState(.paused)
        screens.release(hold)
        let isLive = paused == .noPreroll
        // What failed isn't tried twice.
        let hasFailed = paused == .failure || !screens.confirm()
        // Otherwise when every sink has its first buffer.
        if !hasFailed, paused != .async { outputFiles.allowWriting() }
        let result = hasFailed ? StateChangeResult.failure : pipeline.setState(.playing)
        if result != .failure, isLive {
            playsAlone.store(true, ordering: .releasing)
            // Which had theirs before that.
            for sink in pipeline.prerolledSinks { letPlay(sink) }
        }
        if result != .failure, !stock.startSend() { return }
        switch result {
        case .failure:
            // The element's own error came first, if it posted one.
            finish(.failed(.unexplained(pipeline, "the graph can't start")))
        case .async where !isLive: break
        case .success, .noPreroll, .async: started()
        }
    }

    /// Each on a thread of its own: what a device's sink does may take any time.
    private func letPlay(_ sink: Element) {
        DispatchQueue(label: "mediagraph.sink").async { [weak self, pipeline] in
            pipeline.letPlay(sink)
            // Another sink may have changed the latency meanwhile.
            self?.recalculateLatency()
        }
    }

    private func recalculateLatency() { control.async { [weak self] in self?.pipeline.recalculateLatency() } }

    private func started() {
        stock.isPlaying()
        state.withLock { $0.started() }?.resumeAll(.started)
    }

    /// Waits for the end of the graph: returns at end-of-stream or when it was stopped, throws an element's error.
    ///
    /// Cancelling the task ends the waiting with `GraphError.stopped`, and leaves the graph running.
    public func waitUntilEnd() async throws(GraphError) -> GraphEnd {
        let end = try await waitUntilEnd(of: nil)
        if case .stopped = end, Task.isCancelled { throw .stopped }
        return end
    }

    /// When the end has come, or the task is cancelled.
    private func awaitEnd(of run: Int?) async -> GraphEnd {
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

    /// Starts, waits for the end, and stops. Cancelling the task stops it too.
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

    /// The task that runs it is cancelled.
    private func cancel(_ run: Int) { if state.withLock({ $0.generation == run }) { finish(.stopped) } }

    /// Ends the stream at the sources and waits until everything has arrived, files are finished and handlers done; after
    /// the time limit it stops all the same, and the result says so.
    @discardableResult
    public func finish(within limit: Duration = .seconds(5)) async -> GraphEnd {
        requestEndOfStream()
        let timer = Task { [self] in
            try await Task.sleep(for: limit)
            finish(.stopped)
        }
        // A cancelled task waits all the same: for as long as the limit.
        let end = await Task { await awaitEnd(of: nil) }.value
        timer.cancel()
        await stop()
        return end
    }

    /// Stops at once. When it returns no handler is running and none will be called. From inside a handler use
    /// ``requestStop()``: waiting there for the handler's own end could never return.
    public func stop() async {
        await stop(state.withLock { $0.generation })
    }

    private func stop(_ run: Int) async {
        guard state.withLock({ $0.generation == run }) else { return }
        finish(.stopped)
        // However it ended: whoever waits for a reader holds up the change of state.
        streams.end(.stopped)
        await withCheckedContinuation { continuation in
            control.async { [self] in
                if state.withLock({ $0.generation == run }) {
                    playsAlone.store(false, ordering: .releasing)
                    stock.willStop()
                    pipeline.setState(.null)
                    outputFiles.close()
                    streamWatch.end(in: pipeline)
                    mediaRange.end()
                    padCompletion.end()
                    emptyContainers.end()
                    stock.stopped()
                    state.withLock { $0.stopped(run) }
                }
                continuation.resume()
            }
        }
    }

    /// Ends the graph without waiting; whoever runs it or waits for its end goes on. Any thread, inside handlers too.
    public func requestStop() { finish(.stopped) }

    /// Runs what changes the states of the graph's elements, which blocks, between two changes of its own.
    func onControlQueue(_ body: @escaping @Sendable () throws(MediaGraphError) -> Void) async throws(MediaGraphError) {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Void, MediaGraphError>, Never>) in
            enqueue { continuation.resume(returning: Result { () throws(MediaGraphError) in try body() }) }
        }
        try result.get()
    }

    // MARK: Events

    /// What happens from now on, up to `ended`. Any number of readers, each with all events; a slow reader loses the
    /// oldest of more than 256.
    public var events: AsyncStream<GraphEvent> { readers.stream }

    /// On the thread that posts, so it only takes notes.
    private func handle(_ message: Message) {
        switch message.kind {
        case .endOfStream: if listener.withLock({ $0 })?.outlives(nil) != true { finish(.endOfStream) }
        case .error(let report):
            let failure = ElementFailure(message, report)
            let isOutlived = message.source.map { listener.withLock { $0 }?.outlives($0) ?? false } ?? false
            if isOutlived { tell(.warning(failure)) } else { finish(.failed(failure)) }
        case .warning(let report):
            guard let missing = pipeline.missingStream(of: report.debug) else {
                return tell(.warning(ElementFailure(message, report)))
            }
            if let conflict = pipeline.conflict(behind: missing) {
                message.source?.postError(.notNegotiated, conflict)
                break
            }
            // In this order: the end of the branch may be the end of the graph, after which nothing is told.
            if state.withLock({ $0.record(missing) }) { tell(.missingStream(missing)) }
            pipeline.endBranch(of: missing)
        case .asyncDone: if message.sourceName == pipeline.name { outputFiles.allowWriting() }
        case .latency: recalculateLatency()
        // What a flush has taken out of PLAYING goes back by itself.
        case .stateChanged(let old, .paused) where old != .paused && message.sourceName != pipeline.name:
            guard playsAlone.load(ordering: .acquiring) else { break }
            if let sink = message.source, sink.isSink { letPlay(sink) }
        case .stateChanged(_, let new) where message.sourceName == pipeline.name:
            tell(.stateChanged(new))
            if new == .playing {
                dumpDotFile("playing")
                // Behind `play`, which has its sources start sending once it is here.
                control.async { [weak self] in
                    if let self, pipeline.state == .playing { started() }
                }
            }
        case .qualityOfService(let jitter, let processed, let dropped):
            // A decoder tells of a picture that it can't decode in the same way, but that isn't late.
            if let element = message.source, jitter > 0 { streamWatch.skips(in: element) }
            tell(
                .qualityOfService(
                    element: message.sourceName, jitter: jitter, processed: processed, dropped: dropped))
        case .buffering(let percent): tell(.buffering(percent: percent))
        case .element(let structure): tell(GraphEvent(structure, of: message.sourceName))
        default: break
        }
    }

    /// Asks the sources to end their streams, and returns at once; `waitUntilEnd` returns when everything has arrived.
    /// Unlike ``finish(within:)`` it doesn't stop the graph then, so its counters can still be read.
    public func requestEndOfStream() {
        state.withLock { $0.askToEnd() }
        control.async { [self] in
            // A session that only waits for others has none, nor has a speaker that nobody is linked to.
            guard !pipeline.sources.isEmpty else { return finish(.endOfStream) }
            let run = state.withLock { $0.generation }
            stock.endStream(of: pipeline) { [weak self] in self?.state.withLock { $0.isCurrent(run) } == true }
        }
    }

    /// Writes the graph to `$GST_DEBUG_DUMP_DOT_DIR`, where that is set, before a stop that is asked for later.
    private func dumpDotFile(_ moment: String) {
        control.async { [pipeline] in pipeline.dumpDotFile("mediagraph.\(moment)") }
    }

    /// Before it is started.
    func listen(_ new: Listener) { listener.withLock { $0 = new } }

    /// On the queue on which changes of state happen.
    func enqueue(_ body: @escaping @Sendable () -> Void) { control.async(execute: body) }

    private func tell(_ event: GraphEvent) {
        listener.withLock { $0 }?.hear(event)
        readers.yield(event)
    }

    /// The first end counts.
    private func finish(_ end: GraphEnd) {
        guard let waiting = state.withLock({ $0.end(end) }) else { return }
        if case .failed(let failure) = end {
            dumpDotFile("error")
            if failure.debug.contains("not-negotiated") {
                control.async { [self] in
                    let found = currentFormatConflict
                    conflict.withLock { $0 = found }
                }
            }
        }
        streams.end(end)
        waiting.resumeAll(.ended(end))
        listener.withLock { $0 }?.hear(.ended(end))
        readers.yield(.ended(end))
        readers.finish()
    }

    // MARK: A look at it

    /// After an error in negotiation: the two linked elements that have no format in common, with what each gives and takes,
    /// or the device that takes none, where that can be told.
    public var formatConflict: String? {
        get async {
            await withCheckedContinuation { continuation in
                control.async { [self] in continuation.resume(returning: conflict.withLock { $0 }) }
            }
        }
    }

    /// The graph as Graphviz text.
    public var dotGraph: String { pipeline.dotGraph }

    /// How far it is in stream time, where an element knows.
    public var position: ClockTime? { pipeline.position }
    /// How long the graph's stream is; `nil` where that isn't known, as of live streams.
    public var duration: ClockTime? { pipeline.duration }
    /// The latency that its live elements add up to; `nil` when it isn't live.
    public var latency: ClockTime? { pipeline.latency.flatMap { $0.live ? $0.minimum : nil } }
}

extension Graph {
    /// What a graph is part of. A structure: a bare closure read from behind a lock comes back wrapped once more.
    struct Listener: Sendable {
        /// Hears each event on the thread that posts it. It must be quick and must not block.
        var hear: @Sendable (GraphEvent) -> Void
        /// Whether the graph goes on without what this element gives, which has failed; of `nil`: without all of its sources,
        /// which have ended. On the thread that posts.
        var outlives: @Sendable (Element?) -> Bool = { _ in false }
    }
}
