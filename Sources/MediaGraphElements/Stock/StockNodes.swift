import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization

/// Why a stock element can't be used as a node.
package enum StockNodeError: Error {
    /// The element with this name is of another kind.
    case wrongKind(name: String, expected: String, actual: String)
    /// The element has properties that a node can't have, or the graph already runs.
    case wrongUsage(String)
}

/// The stock `appsink`s and `appsrc`s of a graph that were looked up as pipes and sources.
///
/// The graph reports its state changes to this object, one at a time.
package final class StockNodes: Sendable {
    private struct State: Sendable {
        var pipes: [Element: StockPipe] = [:]
        var sources: [Element: StockSource] = [:]
        var isRunning = false
        /// Sources that are being sent end-of-stream.
        var ending: [Element] = []
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: Looking up, from any thread

    package static func isPipe(_ element: Element) -> Bool { element.factoryName == "appsink" }
    package static func isSource(_ element: Element) -> Bool { element.factoryName == "appsrc" }

    package func pipe(_ element: Element) throws(StockNodeError) -> StockPipe {
        try node(for: element) {
            $0.pipes[element]
        } make: { state in
            let pipe = StockPipe(element)
            state.pipes[element] = pipe
            return pipe
        }
    }

    package func source(_ element: Element) throws(StockNodeError) -> StockSource {
        let source = try node(for: element) {
            $0.sources[element]
        } make: { (state) throws(StockNodeError) in
            let source = try StockSource(element)
            state.sources[element] = source
            return source
        }
        // Outside the lock: `setUp` sets properties, and a `notify` handler may look nodes up.
        source.setUp()
        return source
    }

    /// Returns the element's node if there is one, or makes it with `make`. Throws if the graph already runs, or if
    /// `make` returns `nil`.
    private func node<Node: Sendable>(
        for element: Element, known: (State) -> Node?, make: (inout State) throws(StockNodeError) -> Node?
    ) throws(StockNodeError) -> Node {
        let (node, isRunning) = try state.withLock { state throws(StockNodeError) -> (Node?, Bool) in
            if let node = known(state) { return (node, false) }
            return state.isRunning ? (nil, true) : (try make(&state), false)
        }
        if let node { return node }
        let kind = element.factoryName ?? element.typeName
        guard isRunning else {
            throw .wrongKind(name: element.name, expected: "stock \(kind)", actual: element.typeName)
        }
        throw .wrongUsage(
            "\(kind) \"\(element.name)\" can't be looked up while the graph runs; look it up before the graph starts")
    }

    // MARK: The graph's changes of state

    private var sources: [StockSource] { state.withLock { Array($0.sources.values) } }
    private var pipes: [StockPipe] { state.withLock { Array($0.pipes.values) } }

    /// Called before PAUSED. Returns false if a source fails, and posts the source's error.
    package func willStart(_ pipeline: Pipeline) -> Bool {
        state.withLock { $0.isRunning = true }
        for pipe in pipes { pipe.start() }
        let sources = sources
        guard !sources.isEmpty else { return true }
        // Like `videosource`, sources are initialized in READY. In NULL, the bus drops the messages that they post.
        pipeline.setState(.ready)
        return forEach(sources) { (source) throws(MediaGraphError) in try source.initialize() }
    }

    /// Called when PLAYING is requested. Returns false if a source fails, and posts the source's error.
    package func startSend() -> Bool {
        forEach(sources) { (source) throws(MediaGraphError) in try source.startSend() }
    }

    private func forEach(_ sources: [StockSource], _ body: (StockSource) throws(MediaGraphError) -> Void) -> Bool {
        for source in sources {
            do throws(MediaGraphError) { try body(source) } catch {
                source.gate.owner.postError(.settings, "\(source.gate.owner.name): \(error)")
                return false
            }
        }
        return true
    }

    /// Called in PLAYING.
    package func didStartPlaying() { for pipe in pipes { pipe.didStartPlaying() } }

    /// Called before NULL.
    package func willStop() {
        for source in state.withLock({ $0.ending }) { Self.stopSinks(behind: source) }
        guard state.withLock({ $0.isRunning }) else { return }
        for source in sources { source.stopSend() }
        for pipe in pipes { pipe.willStop() }
    }

    /// Stops the sinks that a source's streaming thread pushes into.
    ///
    /// Sending end-of-stream to a source holds the source's state lock until the source's current push returns. On the
    /// way to NULL, a pipeline pauses its sinks first. The push would then wait in a paused sink, and the pipeline
    /// would wait for the source's state lock.
    private static func stopSinks(behind source: Element) {
        var seen: Set<Element> = [source]
        var open = [source]
        while let element = open.popLast() {
            for pad in element.pads where pad.direction == .source {
                guard let next = pad.neighbor?.parent, seen.insert(next).inserted else { continue }
                if next.isSink {
                    // A filesink writes its buffered data only at end-of-stream, and doesn't wait for anything
                    // afterwards.
                    let hasEnded =
                        next.factoryName == "filesink" && next.isPlaying
                        && next.staticPad("sink")?.trySendEndOfStream() == true
                    if !hasEnded { next.setState(.ready) }
                } else if !next.isQueue {
                    open.append(next)
                }
            }
        }
    }

    /// Called in NULL.
    package func didStop() {
        let wasRunning = state.withLock { state in
            defer { state.isRunning = false }
            return state.isRunning
        }
        guard wasRunning else { return }
        for pipe in pipes { pipe.didStop() }
        for source in sources { source.uninitialize() }
    }

    /// Releases all nodes. Called when the graph is released.
    package func close() {
        let (pipes, sources) = state.withLock { state in
            defer { state = State() }
            return (Array(state.pipes.values), Array(state.sources.values))
        }
        for pipe in pipes { pipe.close() }
        for source in sources { source.close() }
    }

    /// Ends the stream at all sources of `bin`. A looked-up appsrc is ended by its gate, since an EOS event sent to the
    /// element would overtake the frames in the gate.
    ///
    /// Each other source is sent EOS on its own thread. A source accepts EOS only after its current push returns, which
    /// may never happen, and neither the other sources nor a stop may wait for that. `isCurrent` returns whether the
    /// same run is still in progress.
    package func endStream(of bin: Element, while isCurrent: @escaping @Sendable () -> Bool) {
        let gates = state.withLock { $0.sources.mapValues(\.gate) }
        for source in bin.sources {
            if let gate = gates[source] {
                gate.endOfStreamRequested()
            } else if source.typeName == "GstBin" || gates.keys.contains(where: { $0.isInside(source) }) {
                endStream(of: source, while: isCurrent)
            } else {
                DispatchQueue(label: "mediagraph.end").async { [self] in
                    // Recorded before the check of `isCurrent`, so that a later stop finds the source.
                    state.withLock { $0.ending.append(source) }
                    if isCurrent() { source.sendEndOfStream() }
                    state.withLock { state in
                        if let index = state.ending.firstIndex(of: source) { state.ending.remove(at: index) }
                    }
                }
            }
        }
    }
}

extension Element {
    fileprivate func isInside(_ bin: Element) -> Bool {
        guard let parent else { return false }
        return parent == bin || parent.isInside(bin)
    }
}
