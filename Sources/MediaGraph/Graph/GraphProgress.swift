import GStreamer
import MediaGraphCore
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession

/// What one element of a graph has done so far.
public struct ElementProgress: Sendable, Hashable {
    /// The element's name.
    public let name: String
    /// The element's factory, such as `rawdatapipe`.
    public let factory: String
    /// Whether it is one of MediaGraph's nodes; a stock sink knows its frames and drops only.
    public let isNode: Bool
    /// What `counts.frames` counts: pictures, blocks of audio, or a muxer's buffers, say.
    public let unit: Unit
    /// Whether it is the last element of a branch.
    public let endsBranch: Bool
    /// What the element has counted.
    public var counts: NodeCounts

    /// What an element counts.
    public enum Unit: String, Sendable { case frames, buffers, blocks }
}

extension Graph {
    /// The nodes and the stock sinks with what they have counted, sources first.
    public var progress: [ElementProgress] {
        var named: Set<String> = []
        return pipeline.allElements.compactMap { element -> ElementProgress? in
            guard let factory = element.factoryName else { return nil }
            if Nodes.factoryNames.contains(factory), let counts = NodeCounts(element) {
                // A node's parts are its own business.
                guard !isPartOfNode(element) else { return nil }
                return ElementProgress(
                    name: element.name, factory: factory, isNode: true, unit: unit(of: element, factory),
                    endsBranch: endsBranch(element, factory), counts: counts)
            }
            // A bin such as autovideosink may give the counts of the sink inside it for its own: once is enough.
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
        // Pictures and sound together.
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

    /// What the description calls a sink: autovideosink makes others inside itself. `nil` for a part of a node.
    func owner(ofSink sink: Element) -> Element? {
        guard !isPartOfNode(sink) else { return nil }
        return owner(of: sink)
    }

    /// The outermost bin around an element that is an element for the description, or else the element itself.
    func owner(of element: Element) -> Element { bins(around: element).last { $0.typeName != "GstBin" } ?? element }

    /// From the innermost to the outermost, without the pipeline.
    private func bins(around element: Element) -> [Element] {
        Array(element.ancestors.prefix { $0 != pipeline })
    }
}

extension NodeCounts {
    /// From what has arrived at a stock sink's pads, and GstBaseSink's own statistics of what it hasn't rendered.
    fileprivate init(ofSink element: Element, arrived: UInt64) {
        self.init()
        let stats = try? element.property("stats", as: Structure.self)
        dropped = min(arrived, stats?["dropped"] ?? 0)
        frames = arrived - dropped
    }
}
