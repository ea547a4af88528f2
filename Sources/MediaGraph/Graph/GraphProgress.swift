import GStreamer
import MediaGraphCore
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession

/// The counters of one element of a graph.
public struct ElementProgress: Sendable, Hashable {
    /// The element's name.
    public let name: String
    /// The element's factory, such as `rawdatapipe`.
    public let factory: String
    /// Whether the element is one of MediaGraph's nodes. Of a stock sink, only `counts.frames` and `counts.dropped` are
    /// known.
    public let isNode: Bool
    /// What `counts.frames` counts.
    public let unit: Unit
    /// Whether the element is the last of a branch.
    public let endsBranch: Bool
    /// The element's counters.
    public var counts: NodeCounts

    /// What an element counts: pictures (`frames`), blocks of audio (`blocks`), or other buffers, such as a muxer's.
    public enum Unit: String, Sendable { case frames, buffers, blocks }
}

extension Graph {
    /// The graph as Graphviz text.
    public var dotGraph: String { pipeline.dotGraph }

    /// The graph's position in stream time; `nil` if no element knows it.
    public var position: ClockTime? { pipeline.position }
    /// The duration of the graph's stream; `nil` if no element knows it, as in live streams.
    public var duration: Duration? { pipeline.duration }
    /// The total latency of the graph's live elements; `nil` if the graph isn't live.
    public var latency: Duration? { pipeline.latency.flatMap { $0.live ? $0.minimum : nil } }
}

extension Graph {
    /// The counters of all nodes and stock sinks, sources first.
    public var progress: [ElementProgress] {
        var named: Set<String> = []
        return pipeline.allElements.compactMap { element -> ElementProgress? in
            guard let factory = element.factoryName else { return nil }
            if Nodes.factoryNames.contains(factory), let counts = NodeCounts(element) {
                // A node inside another node is an implementation detail of the outer one.
                guard !isPartOfNode(element) else { return nil }
                return ElementProgress(
                    name: element.name, factory: factory, isNode: true, unit: unit(of: element, factory),
                    endsBranch: endsBranch(element, factory), counts: counts)
            }
            // Each bin such as autovideosink is listed once, with the counters of the sink inside it.
            guard element.isSink, !element.isBin, let shown = owner(ofSink: element),
                named.insert(shown.name).inserted
            else { return nil }
            let counts = NodeCounts(ofSink: element, arrived: streamWatch.count(of: element) ?? 0)
            return ElementProgress(
                name: shown.name, factory: shown.factoryName ?? factory, isNode: false, unit: unit(of: element),
                endsBranch: true, counts: counts)
        }
    }

    private func endsBranch(_ node: Element, _ factory: String) -> Bool {
        let ends = [NodeName.rawDataPipe, NodeName.virtualSpeaker]
        return ends.contains(factory) && node.staticPad("src")?.isLinked != true
    }

    private func unit(of node: Element, _ factory: String) -> ElementProgress.Unit {
        switch factory {
        case NodeName.virtualSpeaker, NodeName.virtualMic: .blocks
        // A session counts pictures and audio together.
        case NodeName.mediaSession: .buffers
        case NodeName.deviceSource:
            node.isSoundSource ? .blocks : .frames
        default: .frames
        }
    }

    private func unit(of sink: Element) -> ElementProgress.Unit {
        let caps = sink.pads.first { $0.direction == .sink }?.currentCaps
        let isPicture = caps?.mediaTypes.contains { $0.hasPrefix("video/x-raw") || $0.hasPrefix("image/") }
        return isPicture == false ? .buffers : .frames
    }

    func isPartOfNode(_ element: Element) -> Bool {
        bins(around: element).contains { $0.factoryName.map(Nodes.factoryNames.contains) ?? false }
    }

    /// Returns the element by which the description names a sink: `autovideosink` for the sink that it makes inside
    /// itself. `nil` if the sink is part of a node.
    func owner(ofSink sink: Element) -> Element? {
        guard !isPartOfNode(sink) else { return nil }
        return owner(of: sink)
    }

    /// Returns the outermost bin around an element that a description writes as one element, such as `decodebin`; the
    /// element itself if there is none.
    func owner(of element: Element) -> Element { bins(around: element).last { $0.typeName != "GstBin" } ?? element }

    /// Returns the bins around an element, innermost first, without the pipeline.
    private func bins(around element: Element) -> [Element] {
        Array(element.ancestors.prefix { $0 != pipeline })
    }
}

extension NodeCounts {
    /// The counters of a stock sink, from the buffers that arrived at its pads and from the drops that GstBaseSink
    /// counts.
    fileprivate init(ofSink element: Element, arrived: UInt64) {
        self.init()
        let stats = try? element.property("stats", as: Structure.self)
        dropped = min(arrived, stats?["dropped"] ?? 0)
        frames = arrived - dropped
    }
}
