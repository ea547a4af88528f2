import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization

/// The stock `appsink`s and `appsrc`s of a graph that were looked up as pipes and sources, and the graph's changes of state
/// for them. Those are made one at a time.
package final class StockNodes: Sendable {
    private struct State: Sendable {
        var pipes: [Element: StockPipe] = [:]
        var sources: [Element: StockSource] = [:]
        var isRunning = false
        /// Sources that are sent end-of-stream.
        var ending: [Element] = []
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: Looking up, from any thread

    package static func isPipe(_ element: Element) -> Bool { element.factoryName == "appsink" }
    package static func isSource(_ element: Element) -> Bool { element.factoryName == "appsrc" }

    package func pipe(_ element: Element) throws(StockNodeError) -> StockPipe {
        try found(element) {
            $0.pipes[element]
        } make: { state in
            let pipe = StockPipe(element)
            state.pipes[element] = pipe
            return pipe
        }
    }

    package func source(_ element: Element) throws(StockNodeError) -> StockSource {
        let source = try found(element) {
            $0.sources[element]
        } make: { (state) throws(StockNodeError) in
            let source = try StockSource(element)
            state.sources[element] = source
            return source
        }
        // Outside the lock: who hears of the properties that it sets may look nodes up.
        source.setUp()
        return source
    }

    private func found<Node: Sendable>(
        _ element: Element, known: (State) -> Node?, make: (inout State) throws(StockNodeError) -> Node?
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
            "\"\(element.name)\" is a stock \(kind): look it up before the graph starts, or it misses frames")
    }

    // MARK: The graph's changes of state

    private var sources: [StockSource] { state.withLock { Array($0.sources.values) } }
    private var pipes: [StockPipe] { state.withLock { Array($0.pipes.values) } }

    /// Before PAUSED. False when a source refused, which is on the bus then.
    package func willStart(_ pipeline: Pipeline) -> Bool {
        state.withLock { $0.isRunning = true }
        for pipe in pipes { pipe.start() }
        let sources = sources
        guard !sources.isEmpty else { return true }
        // As for `videosource`; and in NULL nothing that is posted is heard.
        pipeline.setState(.ready)
        return trying(sources) { (source) throws(MediaGraphError) in try source.initialize() }
    }

    /// PLAYING was asked for. False when a source refused.
    package func startSend() -> Bool {
        trying(sources) { (source) throws(MediaGraphError) in try source.startSend() }
    }

    private func trying(_ sources: [StockSource], _ body: (StockSource) throws(MediaGraphError) -> Void) -> Bool {
        for source in sources {
            do throws(MediaGraphError) { try body(source) } catch {
                source.gate.owner.postError(.settings, "\(source.gate.owner.name): \(error)")
                return false
            }
        }
        return true
    }

    package func isPlaying() { for pipe in pipes { pipe.isPlaying() } }

    /// Before NULL.
    package func willStop() {
        for source in state.withLock({ $0.ending }) { Self.stopSinks(behind: source) }
        guard state.withLock({ $0.isRunning }) else { return }
        for source in sources { source.stopSend() }
        for pipe in pipes { pipe.willStop() }
    }

    /// Stops the sinks that a source's own thread brings data to.
    ///
    /// A source that is sent end-of-stream holds its state lock until its push returns. On its way to NULL a pipeline first
    /// pauses its sinks, in one of which that push would then wait, and after that waits for the source's lock.
    private static func stopSinks(behind source: Element) {
        var seen: Set<Element> = [source]
        var open = [source]
        while let element = open.popLast() {
            for pad in element.pads where pad.direction == .source {
                guard let next = pad.neighbour?.parent, seen.insert(next).inserted else { continue }
                if next.isSink {
                    // A filesink writes what it has buffered only at the end of its stream, and waits for nothing behind that.
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

    /// In NULL.
    package func stopped() {
        let wasRunning = state.withLock { state in
            defer { state.isRunning = false }
            return state.isRunning
        }
        guard wasRunning else { return }
        for pipe in pipes { pipe.stopped() }
        for source in sources { source.uninitialize() }
    }

    /// The graph is gone.
    package func close() {
        let (pipes, sources) = state.withLock { state in
            defer { state = State() }
            return (Array(state.pipes.values), Array(state.sources.values))
        }
        for pipe in pipes { pipe.close() }
        for source in sources { source.close() }
    }

    /// Ends the stream at the graph's sources. A looked-up appsrc ends behind what its gate holds: an event of its own would
    /// overtake that.
    ///
    /// Each source by itself and on a thread of its own: it accepts EOS only after its current push returns, perhaps never, and
    /// neither the other sources nor a stop may wait for that. `isCurrent`: whether the same run goes on.
    package func endStream(of bin: Element, while isCurrent: @escaping @Sendable () -> Bool) {
        let gates = state.withLock { $0.sources.mapValues(\.gate) }
        for source in bin.sources {
            if let gate = gates[source] {
                gate.endOfStreamRequested()
            } else if source.typeName == "GstBin" || gates.keys.contains(where: { $0.isInside(source) }) {
                endStream(of: source, while: isCurrent)
            } else {
                DispatchQueue(label: "mediagraph.end").async { [self] in
                    // Noted first: a stop that comes after this check knows of it.
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
