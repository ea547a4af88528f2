import GStreamer
import MediaGraphCore
import MediaGraphElements

/// A sink that hasn't received any data, and the cause.
public struct StarvedSink: Sendable, Hashable {
    /// The sink's name.
    public let sink: String
    /// Why the sink has no data.
    public let cause: Cause
    /// Whether the graph is PLAYING nevertheless, as a live graph is.
    public let isGraphPlaying: Bool
    /// Whether the sink has GStreamer's property `async`. With `async=false` the graph doesn't wait for the sink.
    let hasAsync: Bool

    init(sink: String, cause: Cause, isGraphPlaying: Bool = false, hasAsync: Bool = true) {
        (self.sink, self.cause, self.isGraphPlaying, self.hasAsync) = (sink, cause, isGraphPlaying, hasAsync)
    }

    /// Why a sink has no data.
    public enum Cause: Sendable, Hashable {
        /// A `valve` with `drop=true` is upstream.
        case closedValve(String)
        /// Two linked elements upstream have no format in common, and no error was posted, for example because of an
        /// `errorignore`. The value is a sentence with the formats of both sides.
        case formatConflict(String)
        /// The input of this upstream element isn't linked: no matching stream has appeared.
        case unlinkedInput(of: String)
        /// The sink is a `webrtcbin` to which no peer has connected.
        case noPeer
        /// The sink is a `udpsink` that received data and has nobody to send it to, because no host name could be
        /// resolved.
        case noReceiver
        /// A queue in another branch is full and blocks the element that feeds both branches. `blockedBy` is the sink
        /// behind that queue; `encoder` is an encoder upstream of the starved sink that needs several frames before it
        /// outputs one.
        case fullQueue(String, level: String, blockedBy: String?, encoder: Encoder?)
        /// A sink in another branch blocks the thread that feeds both sinks until the graph is PLAYING. `splitter` is
        /// the element at which the branches part; `nil` if they part inside the blocking element.
        case sharedThread(splitter: String?, blockedBy: String)
        /// This source has sent nothing yet. `address` is its URI, file or host, if it has one.
        case silentSource(String, address: String?)
        /// The graph is PLAYING and this source sends, but an element between the source and the sink outputs nothing.
        case nothingPassed(from: String)
        /// None of the other causes was found.
        case unknown
    }

    /// An encoder that needs several frames before it outputs one.
    public struct Encoder: Sendable, Hashable {
        /// The encoder's name.
        public let name: String
        /// The property setting that makes it output each frame at once, as descriptions write it.
        public let lowDelaySetting: String?
    }

    /// Whether the sink stays without data unless the graph or its settings are changed.
    public var isPermanent: Bool {
        switch cause {
        case .closedValve, .formatConflict, .noPeer, .fullQueue, .sharedThread: true
        // A sink without a receiver holds up nothing.
        case .noReceiver, .unlinkedInput, .silentSource, .nothingPassed, .unknown: false
        }
    }
}

extension StarvedSink: CustomStringConvertible {
    /// What happened and what to change, in one line.
    public var description: String {
        switch cause {
        case .closedValve(let valve):
            "\(sink) hasn't received any data: \(valve) is closed. Set drop=false on \(valve)"
                + (isGraphPlaying
                    || !hasAsync ? "" : "; or, to play the other branches without \(sink), set async=false on \(sink)")
        case .formatConflict(let conflict): "\(sink) hasn't received any data: \(conflict)"
        case .unlinkedInput(let element):
            "\(sink) hasn't received any data: the input of \(element) isn't linked, since no matching stream has appeared. "
                + "Check that the source contains such a stream"
        case .noPeer:
            "\(sink) sends nothing: no peer is connected. A program has to exchange an offer and an answer with a peer first"
        case .noReceiver: "\(sink) sends nothing: \(StreamLoss.missingReceiver)"
        case .fullQueue(let queue, let level, let blocker, let encoder):
            "\(sink) hasn't received any data: \(queue) in another branch is full (\(level))"
                + Self.reason(blocker, encoder, queue) + ". Do one of these: set max-size-time=0 max-size-buffers=0 "
                + "max-size-bytes=0 on \(queue)" + Self.setting(of: encoder)
                + (hasAsync ? "; set async=false on \(sink)" : "")
        case .sharedThread(let splitter, let blocker):
            "\(sink) hasn't received any data: \(blocker), which gets its data from the same thread, blocks that thread "
                + "until the graph plays. "
                + Self.remedy([
                    splitter.map { "add a queue to each branch of \($0) (\($0). ! queue ! …)" },
                    hasAsync ? "set async=false on \(sink)" : nil,
                ])
        case .silentSource(let source, let address):
            "\(sink) hasn't received any data: \(source)\(address.map { " (\($0))" } ?? "") has sent nothing yet. Check that "
                + "something sends to it in the format that it expects"
        case .nothingPassed(let source):
            "\(sink) hasn't received any data: \(source) sends data, but an element between them hasn't output any yet"
        case .unknown: "\(sink) hasn't received any data"
        }
    }

    private static func reason(_ blocker: String?, _ encoder: Encoder?, _ queue: String) -> String {
        let reasons = [
            blocker.map { "\($0) holds its data until the graph plays" },
            encoder.map { "\($0.name) needs more frames than \(queue) holds before it outputs one" },
        ].compactMap(\.self)
        return reasons.isEmpty ? "" : "; " + reasons.joined(separator: ", and ")
    }

    private static func remedy(_ remedies: [String?]) -> String {
        let text = remedies.compactMap(\.self).joined(separator: ", or ")
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private static func setting(of encoder: Encoder?) -> String {
        guard let encoder, let setting = encoder.lowDelaySetting else { return "" }
        return "; set \(setting) on \(encoder.name)"
    }
}

extension Graph {
    /// The sinks that have received neither a buffer nor EOS, and those that can send to nobody; empty if data flows
    /// everywhere.
    ///
    /// A sink whose source has nothing to send yet, such as an absent user or a slow file, is listed with the cause
    /// `unknown`. Callable from any thread; doesn't take the state lock.
    public var starvedSinks: [StarvedSink] {
        let isPlaying = !isStarting
        // Before the start, no sink is expected to have data.
        guard !isPlaying || pipeline.state > .null else { return [] }
        var told: Set<String> = []
        return pipeline.allElements.compactMap { element in
            if element.isWebRTCWithoutPeer {
                return StarvedSink(sink: element.name, cause: .noPeer, isGraphPlaying: isPlaying)
            }
            if isPlaying, element.lacksReceiver, (delivered(to: element) ?? 0) > 0 {
                return StarvedSink(sink: owner(of: element).name, cause: .noReceiver, isGraphPlaying: true)
            }
            if isPlaying, let waiting = muxerInput(element) { return waiting }
            guard isWaiting(element, isPlaying), let shown = owner(ofSink: element), shown.factoryName != "webrtcbin",
                told.insert(shown.name).inserted
            else { return nil }
            return StarvedSink(
                sink: shown.name, cause: StarvationSearch(self, isPlaying: isPlaying).cause(for: element),
                isGraphPlaying: isPlaying, hasAsync: shown.hasAsync)
        }
    }

    /// Returns an input of a muxer that has received nothing; `nil` if all inputs have. The muxer waits for all of its
    /// streams, although its sink may already have received the header.
    private func muxerInput(_ element: Element) -> StarvedSink? {
        guard element.isMuxer, !isPartOfNode(element) else { return nil }
        for pad in element.pads where pad.direction == .sink && pad.isLinked && !pad.hasEnded && !pad.hasSegment {
            let cause = StarvationSearch(self, isPlaying: true).cause(at: pad)
            guard cause != .unknown else { continue }
            return StarvedSink(sink: "\(element.name).\(pad.name)", cause: cause, isGraphPlaying: true, hasAsync: false)
        }
        return nil
    }

    /// Returns whether the element ends a branch and has received nothing.
    private func isWaiting(_ element: Element, _ isPlaying: Bool) -> Bool {
        let pads = element.pads.filter { $0.direction == .sink }
        guard !pads.isEmpty, !pads.allSatisfy(\.hasEnded), delivered(to: element) == 0 else { return false }
        guard element.isSink else { return true }
        // A GAP event prerolls a sink as a buffer does. A sink with async=false may get its first data at any time.
        return isPlaying ? (try? element.property("async", as: Bool.self)) != false : element.state < .paused
    }

    /// Returns the number of buffers that an element at the end of a branch has received; `nil` for any other element.
    func delivered(to element: Element) -> UInt64? {
        if element.factoryName == NodeName.rawDataPipe {
            return element.staticPad("src")?.isLinked == true ? nil : NodeCounts(element).map { $0.frames + $0.dropped }
        }
        return streamWatch.count(of: element)
    }
}

/// Searches for the cause of a starved sink: upstream from the sink, and downstream into the other branches of elements
/// that feed several.
private struct StarvationSearch {
    private let graph: Graph
    /// If true, other branches aren't searched: in PLAYING no sink waits for another, and a queue may be full for other
    /// reasons.
    private let isPlaying: Bool
    /// The elements between the sink and the pad being examined.
    private var path: [Element] = []
    private var seen: Set<Pad> = []

    init(_ graph: Graph, isPlaying: Bool) { (self.graph, self.isPlaying) = (graph, isPlaying) }

    /// Returns the most specific cause found, by `Cause.rank`.
    func cause(for sink: Element) -> StarvedSink.Cause {
        var search = self
        search.path = [sink]
        let causes = sink.pads.filter { $0.direction == .sink }.flatMap { search.causes(upstreamOf: $0) }
        return causes.min { $0.rank < $1.rank } ?? .unknown
    }

    /// Returns the most specific cause found for one of an element's inputs.
    func cause(at pad: Pad) -> StarvedSink.Cause {
        var search = self
        return search.causes(upstreamOf: pad).min { $0.rank < $1.rank } ?? .unknown
    }

    /// Returns why a sink gets nothing from this source; `nil` if the source isn't the cause. MediaGraph's nodes are
    /// never the cause, because they report absent users and devices themselves.
    private func cause(of source: Element, _ pad: Pad) -> StarvedSink.Cause? {
        guard !Nodes.factoryNames.contains(graph.owner(of: source).factoryName ?? "") else { return nil }
        let name = graph.owner(of: source).name
        // A source in pull mode sends no segment.
        guard pad.hasSegment || pad.isPulled else {
            return .silentSource(name, address: Self.address(of: source))
        }
        // During a start this may be normal: encoders and demuxers need much data before they output anything.
        return isPlaying ? .nothingPassed(from: name) : nil
    }

    /// Returns the source's URI, its file, or its host and port; `nil` if it has none of these.
    private static func address(of source: Element) -> String? {
        func text(_ name: String) -> String? { try? source.property(name, as: String.self) }
        if let name = text("uri") ?? text("location") { return name }
        guard let host = text("host"), let port = try? source.property("port", as: Int32.self) else { return nil }
        return "\(host):\(port)"
    }

    /// The graph's only source, if it has sent nothing yet. Until it sends, a decoder downstream has no pads, so a
    /// search upstream doesn't reach the source.
    private var onlySilentSource: StarvedSink.Cause? {
        let sources = graph.pipeline.allElements.filter { element in
            !element.isBin && !element.pads.isEmpty && element.pads.allSatisfy { $0.direction == .source }
        }
        guard sources.count == 1, let pad = sources[0].pads.first,
            case .silentSource(let name, let address)? = cause(of: sources[0], pad)
        else { return nil }
        return .silentSource(name, address: address)
    }

    private mutating func causes(upstreamOf pad: Pad) -> [StarvedSink.Cause] {
        guard seen.insert(pad).inserted, let owner = pad.parent else { return [] }
        guard let source = pad.neighbor else { return [onlySilentSource ?? .unlinkedInput(of: owner.name)] }
        guard let feeder = source.parent else { return [] }
        if source.currentCaps != nil, let conflict = graph.formatConflict(from: source, to: pad) {
            return [.formatConflict(conflict)]
        }
        if feeder.factoryName == "valve", (try? feeder.property("drop", as: Bool.self)) == true,
            (try? feeder.propertyText("drop-mode")) != "transform-to-gap"
        {
            return [.closedValve(feeder.name)]
        }
        var causes: [StarvedSink.Cause] = []
        // Internal links, because in a multiqueue each pair of pads is a separate stream.
        let inputs = source.internalLinks
        if inputs.isEmpty, feeder.pads.allSatisfy({ $0.direction == .source }), let cause = cause(of: feeder, source) {
            causes.append(cause)
        }
        let siblings = Set(inputs.flatMap(\.internalLinks)).subtracting([source])
        for sibling in siblings where !isPlaying {
            if let cause = hold(downstreamOf: sibling, splitter: feeder) { causes.append(cause) }
        }
        path.append(feeder)
        defer { path.removeLast() }
        for input in inputs where !input.hasEnded { causes += self.causes(upstreamOf: input) }
        return causes
    }

    /// Returns what in another branch blocks the thread of `splitter`, the element that feeds both branches; `nil` if
    /// nothing does.
    private func hold(downstreamOf pad: Pad, splitter: Element) -> StarvedSink.Cause? {
        var open = [pad]
        var seen: Set<Element> = []
        while let next = open.popLast() {
            guard let sink = next.neighbor, let element = sink.parent, seen.insert(element).inserted else { continue }
            if element.isQueue {
                guard let level = Self.fullLevel(of: element) else { continue }
                return .fullQueue(
                    element.name, level: level, blockedBy: blocker(behind: element),
                    encoder: path.lazy.compactMap(Self.encoder).first)
            }
            if isHeld(element) {
                let (splitter, blocker) = (graph.owner(of: splitter), graph.owner(of: element))
                return .sharedThread(splitter: splitter == blocker ? nil : splitter.name, blockedBy: blocker.name)
            }
            open += sink.internalLinks
        }
        return nil
    }

    /// Returns the sink downstream of a queue that holds its first buffer until the graph is PLAYING.
    private func blocker(behind queue: Element) -> String? {
        var open = queue.pads.filter { $0.direction == .source }
        var seen: Set<Element> = []
        while let next = open.popLast() {
            guard let sink = next.neighbor, let element = sink.parent, seen.insert(element).inserted else { continue }
            if isHeld(element) { return graph.owner(of: element).name }
            open += sink.internalLinks
        }
        return nil
    }

    /// Returns whether the element ends a branch and a thread waits inside it with a buffer.
    private func isHeld(_ element: Element) -> Bool {
        // Links into a node that is a bin lead to an element inside it.
        let node = graph.owner(of: element)
        if node.factoryName == NodeName.rawDataPipe {
            return node.pads.contains { $0.direction == .sink && $0.isReceiving }
        }
        return element.isSink && (graph.streamWatch.count(of: element) ?? 0) > 0 && element.state < .playing
    }

    /// Returns the fill level of a queue that has reached one of its limits, such as `200 buffers, 1.0 s`; `nil` if it
    /// isn't full.
    private static func fullLevel(of queue: Element) -> String? {
        // A leaky queue never blocks.
        if let leaky = try? queue.propertyText("leaky"), leaky != "no" { return nil }
        func number<T: FixedWidthInteger & ValueConvertible>(_ name: String, _ type: T.Type) -> UInt64 {
            (try? queue.property(name, as: type)).map { UInt64($0) } ?? 0
        }
        let buffers = number("current-level-buffers", UInt32.self)
        let bytes = number("current-level-bytes", UInt32.self)
        let time = number("current-level-time", UInt64.self)
        let isFull = [
            (buffers, number("max-size-buffers", UInt32.self)), (bytes, number("max-size-bytes", UInt32.self)),
            (time, number("max-size-time", UInt64.self)),
        ].contains { level, limit in limit > 0 && level >= limit }
        guard isFull else { return nil }
        let tenths = time / 100_000_000
        return "\(buffers) buffers, \(tenths / 10).\(tenths % 10) s"
    }

    private static func encoder(_ element: Element) -> StarvedSink.Encoder? {
        guard let factory = element.factoryName,
            ElementFactoryInfo.find(factory)?.classification.contains("Encoder/Video") == true
        else {
            return nil
        }
        let settings = ["x264enc": "tune=zerolatency", "x265enc": "tune=zerolatency", "vp9enc": "lag-in-frames=0"]
        return StarvedSink.Encoder(name: element.name, lowDelaySetting: settings[factory])
    }
}

extension Element {
    fileprivate var hasAsync: Bool { (try? property("async", as: Bool.self)) != nil }

    fileprivate var isWebRTCWithoutPeer: Bool {
        factoryName == "webrtcbin" && state > .ready && (try? propertyText("connection-state")) == "new"
    }
}

extension StarvedSink.Cause {
    /// The order of preference if several causes are found; the lowest wins.
    fileprivate var rank: Int {
        switch self {
        case .closedValve: 0
        case .formatConflict: 1
        case .unlinkedInput: 2
        case .noPeer, .noReceiver: 3
        case .fullQueue: 4
        case .sharedThread: 5
        case .silentSource: 6
        case .nothingPassed: 7
        case .unknown: 8
        }
    }
}
