import GStreamer

/// Why a sink of a graph that runs, or is to start, has had no first buffer.
public struct Standstill: Sendable, Hashable {
    /// The sink's name.
    public let sink: String
    public let cause: Cause

    public enum Cause: Sendable, Hashable {
        /// A `valve` with `drop=true` is in front of it.
        case closedValve(String)
        /// Nothing is linked to this element, which is in front of it: the stream that it waits for hasn't come.
        case noStream(into: String)
        /// It is a `webrtcbin` to which nobody has connected.
        case noPeer
        /// Another branch's queue takes no more, and holds up the element that feeds both. `encoder` is one in front of the sink
        /// that takes in frames before it gives any.
        case fullQueue(String, level: String, heldBy: String?, encoder: Encoder?)
        /// The sink of another branch waits for the graph to play, on the thread that feeds both.
        case sharedThread(splitter: String, heldBy: String)
        /// None of these; what feeds it has given nothing yet.
        case unknown
    }

    public struct Encoder: Sendable, Hashable {
        public let name: String
        /// What makes it give each frame at once, as text of a description.
        public let remedy: String?
    }

    /// Its cause is one that doesn't pass by itself.
    public var isExplained: Bool { cause != .unknown }
}

extension Standstill: CustomStringConvertible {
    /// What happened and what to write, in a line.
    public var description: String {
        (cause == .noPeer ? "\(sink) sends nothing" : "\(sink) has had no first buffer") + explanation
    }

    private var explanation: String {
        switch cause {
        case .closedValve(let valve):
            return
                ": \(valve) is closed. Set drop=false on it, or async=false on \(sink) where the rest is to play without"
        case .noStream(let element):
            return ": no stream has come for \(element), which isn't linked to anything yet"
        case .noPeer:
            return ": it has no peer, and sends once a program has exchanged its offer and answer with one"
        case .fullQueue(let queue, let level, let holder, let encoder):
            let reason = holder.map { ", since \($0) waits for the graph to play" } ?? ""
            let encoding = encoder.map { ", and \($0.name) takes in more frames than that before it gives any" } ?? ""
            let remedy = encoder.flatMap { encoder in encoder.remedy.map { ", \($0) on \(encoder.name)" } } ?? ""
            return ": \(queue) in another branch is full (\(level))\(reason)\(encoding). "
                + "Set max-size-time=0 max-size-buffers=0 max-size-bytes=0 on \(queue)\(remedy), or async=false on \(sink)"
        case .sharedThread(let splitter, let holder):
            return
                ": \(holder) waits for the graph to play on the thread that feeds both. Put a queue behind \(splitter) "
                + "in each branch (\(splitter). ! queue ! …), or set async=false on \(sink)"
        case .unknown: return ""
        }
    }
}

extension Graph {
    /// The sinks that have had no first buffer and no end, with the cause where it can be told; empty for a graph in which
    /// everything flows.
    ///
    /// A sink behind a source that may have nothing yet, as a user who isn't there or a file that takes its time, is among
    /// them with the cause `unknown`. Any thread; takes no lock that a change of state holds.
    public var standstills: [Standstill] {
        var told: Set<String> = []
        return pipeline.allElements.compactMap { element in
            if element.isWebRTCWithoutPeer { return Standstill(sink: element.name, cause: .noPeer) }
            guard isWaiting(element), let shown = owner(ofSink: element), told.insert(shown.name).inserted else {
                return nil
            }
            return Standstill(sink: shown.name, cause: StandstillSearch(self).cause(for: element))
        }
    }

    /// Whether it is the end of a branch, and nothing has come there.
    private func isWaiting(_ element: Element) -> Bool {
        let pads = element.pads.filter { $0.direction == .sink }
        guard !pads.isEmpty, !pads.allSatisfy(\.hasEnded) else { return false }
        return delivered(to: element) == 0
    }

    /// What has come to the end of a branch; `nil` for what is none.
    func delivered(to element: Element) -> UInt64? {
        if element.factoryName == RawDataPipeElement.declaration.factoryName {
            return element.staticPad("src")?.isLinked == true ? nil : NodeCounts(element).map { $0.frames + $0.dropped }
        }
        return sinkCounters.count(of: element)
    }
}

/// Looks upstream from a sink for what holds its first buffer up, and from elements that feed others too into their branches.
private struct StandstillSearch {
    private let graph: Graph
    /// Elements between the sink and the place that is looked at.
    private var path: [Element] = []
    private var seen: Set<Pad> = []

    init(_ graph: Graph) { self.graph = graph }

    /// The first that is found of: a closed valve, a link that is missing, a full queue, a thread that is held.
    func cause(for sink: Element) -> Standstill.Cause {
        var search = self
        search.path = [sink]
        let causes = sink.pads.filter { $0.direction == .sink }.flatMap { search.causes(upstreamOf: $0) }
        return causes.min { $0.rank < $1.rank } ?? .unknown
    }

    private mutating func causes(upstreamOf pad: Pad) -> [Standstill.Cause] {
        guard seen.insert(pad).inserted, let owner = pad.parent else { return [] }
        guard let source = pad.neighbour else { return [.noStream(into: owner.name)] }
        guard let feeder = source.parent else { return [] }
        if feeder.factoryName == "valve", (try? feeder.property("drop", as: Bool.self)) == true {
            return [.closedValve(feeder.name)]
        }
        var causes: [Standstill.Cause] = []
        // A multiqueue has one stream for each pair of pads.
        let inputs = source.internalLinks
        let siblings = Set(inputs.flatMap(\.internalLinks)).subtracting([source])
        for sibling in siblings {
            if let cause = hold(downstreamOf: sibling, splitter: feeder) { causes.append(cause) }
        }
        path.append(feeder)
        defer { path.removeLast() }
        for input in inputs where !input.hasEnded { causes += self.causes(upstreamOf: input) }
        return causes
    }

    /// What in another branch keeps the thread of the element that feeds both.
    private func hold(downstreamOf pad: Pad, splitter: Element) -> Standstill.Cause? {
        var open = [pad]
        var seen: Set<Element> = []
        while let next = open.popLast() {
            guard let sink = next.neighbour, let element = sink.parent, seen.insert(element).inserted else { continue }
            if element.isQueue {
                guard let level = Self.fullLevel(of: element) else { continue }
                return .fullQueue(
                    element.name, level: level, heldBy: holder(behind: element),
                    encoder: path.lazy.compactMap(Self.encoder).first)
            }
            if isHeld(element) {
                return .sharedThread(splitter: splitter.name, heldBy: element.name)
            }
            open += sink.internalLinks
        }
        return nil
    }

    /// The sink behind a queue that has had its first buffer.
    private func holder(behind queue: Element) -> String? {
        var open = queue.pads.filter { $0.direction == .source }
        var seen: Set<Element> = []
        while let next = open.popLast() {
            guard let sink = next.neighbour, let element = sink.parent, seen.insert(element).inserted else { continue }
            if isHeld(element) { return element.name }
            open += sink.internalLinks
        }
        return nil
    }

    /// Whether a thread waits inside with a buffer, at the end of a branch.
    private func isHeld(_ element: Element) -> Bool {
        if element.factoryName == RawDataPipeElement.declaration.factoryName {
            return element.pads.contains { $0.direction == .sink && $0.isTaking }
        }
        return element.isSink && (graph.sinkCounters.count(of: element) ?? 0) > 0 && element.state < .playing
    }

    /// `200 buffers, 1.0 s` where one of a queue's limits is reached.
    private static func fullLevel(of queue: Element) -> String? {
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

    private static func encoder(_ element: Element) -> Standstill.Encoder? {
        guard let factory = element.factoryName,
            ElementFactoryInfo.find(factory)?.classification.contains("Encoder/Video") == true
        else {
            return nil
        }
        let remedies = ["x264enc": "tune=zerolatency", "x265enc": "tune=zerolatency", "vp9enc": "lag-in-frames=0"]
        return Standstill.Encoder(name: element.name, remedy: remedies[factory])
    }
}

extension Element {
    fileprivate var isWebRTCWithoutPeer: Bool {
        factoryName == "webrtcbin" && state > .ready && (try? propertyText("connection-state")) == "new"
    }
}

extension Standstill.Cause {
    fileprivate var rank: Int {
        switch self {
        case .closedValve: 0
        case .noStream: 1
        case .noPeer: 2
        case .fullQueue: 3
        case .sharedThread: 4
        case .unknown: 5
        }
    }
}
