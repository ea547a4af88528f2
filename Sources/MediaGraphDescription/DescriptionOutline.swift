/// A description's elements and links as its text has them, for tools that show it. Links that GStreamer makes only while
/// it runs, when a demultiplexer knows its streams, are among them.
public struct DescriptionOutline: Sendable, Hashable {
    /// An element, a bin or a URI of the description.
    public struct Element: Sendable, Hashable {
        /// What an ``Element`` of the outline stands for.
        public enum Kind: Sendable, Hashable { case element, bin, uri }

        /// What it stands for.
        public let kind: Kind
        /// The factory's name, or the URI.
        public let factory: String
        /// The name that the text gives it.
        public let name: String?
        /// The properties that the text sets, without `name`.
        public let properties: [Property]
        /// The bin that it is in, among `elements`; `nil` at the top.
        public let parent: Int?
    }

    /// A property that the text sets.
    public struct Property: Sendable, Hashable {
        /// The property's name.
        public let name: String
        /// The value, as it was written.
        public let value: String
    }

    /// A link between two elements.
    public struct Link: Sendable, Hashable {
        /// Indices of `elements`.
        public let source: Int
        /// The index of the element that receives, in `elements`.
        public let sink: Int
        /// Pads that the text names; empty where GStreamer chooses.
        public let sourcePads: [String]
        /// The names of the receiving pads that the text gives.
        public let sinkPads: [String]
        /// The caps between the two.
        public let filter: String?
    }

    /// In the order of the text, each bin before what is in it.
    public internal(set) var elements: [Element] = []
    /// The links between the elements, in the order of the text.
    public internal(set) var links: [Link] = []

    init(_ parsed: ParsedDescription) {
        elements = parsed.elements.map { element in
            Element(
                kind: element.isBin ? .bin : element.isURI ? .uri : .element, factory: element.factory,
                name: element.name?.value,
                properties: element.properties.filter { $0.name != "name" }.map {
                    Property(name: $0.name, value: $0.value)
                },
                parent: element.parent)
        }
        func index(_ end: ParsedLink.End) -> Int? {
            switch end.target {
            case .element(let index): index
            // GStreamer, too, takes the name that was given last.
            case .reference(let name): elements.lastIndex { $0.name == name.text }
            case .broken: nil
            }
        }
        links = parsed.links.compactMap { link in
            guard let source = index(link.source), let sink = index(link.sink) else { return nil }
            return Link(
                source: source, sink: sink, sourcePads: link.source.pads.map(\.text),
                sinkPads: link.sink.pads.map(\.text),
                filter: link.filter?.text)
        }
    }
}
