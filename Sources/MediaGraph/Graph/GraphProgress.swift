import GStreamer

/// What one element of a graph has done so far.
public struct ElementProgress: Sendable, Hashable {
    public let name: String
    public let factory: String
    /// Whether it is one of MediaGraph's nodes; a stock sink knows its frames and drops only.
    public let isNode: Bool
    public let counts: NodeCounts
}

extension Graph {
    /// The nodes and the stock sinks with what they have counted, sources first.
    public var progress: [ElementProgress] {
        let sinks = Set(pipeline.sinks)
        return pipeline.allElements.compactMap { element in
            guard let factory = element.factoryName else { return nil }
            if Nodes.factoryNames.contains(factory), let counts = NodeCounts(element) {
                return ElementProgress(name: element.name, factory: factory, isNode: true, counts: counts)
            }
            guard sinks.contains(element), let counts = NodeCounts(ofSink: element) else { return nil }
            return ElementProgress(name: element.name, factory: factory, isNode: false, counts: counts)
        }
    }
}

extension NodeCounts {
    /// From GstBaseSink's own statistics.
    fileprivate init?(ofSink element: Element) {
        guard let stats = try? element.property("stats", as: Structure.self), stats.fieldNames.contains("rendered") else {
            return nil
        }
        self.init()
        frames = stats["rendered"] ?? 0
        dropped = stats["dropped"] ?? 0
    }
}
