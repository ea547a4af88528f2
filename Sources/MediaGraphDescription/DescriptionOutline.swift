/// The elements and links that a description's text names, for tools that display it. Includes the links that GStreamer
/// makes only while the pipeline runs, when a demuxer has found its streams.
public struct DescriptionOutline: Sendable, Hashable {
    /// An element, a bin or a URI of the description.
    public struct Element: Sendable, Hashable {
        /// What an ``Element`` of the outline stands for.
        public enum Kind: Sendable, Hashable {
            /// An element.
            case element
            /// A bin in parentheses.
            case bin
            /// A URI in an element's place.
            case uri
        }

        /// Whether this is an element, a bin or a URI.
        public let kind: Kind
        /// The factory's name, or the URI.
        public let factory: String
        /// The name that the text gives the element; `nil` if it gives none.
        public let name: String?
        /// The properties that the text sets, without `name`.
        public let properties: [Property]
        /// The index in `elements` of the enclosing bin; `nil` at the top level.
        public let parent: Int?
    }

    /// A property that the text sets.
    public struct Property: Sendable, Hashable {
        /// The property's name.
        public let name: String
        /// The value, without the description's quotes and backslashes.
        public let value: String
    }

    /// A link between two elements.
    public struct Link: Sendable, Hashable {
        /// The index in `elements` of the upstream element.
        public let source: Int
        /// The index in `elements` of the downstream element.
        public let sink: Int
        /// The source pads that the text names; empty if GStreamer chooses the pad.
        public let sourcePads: [String]
        /// The sink pads that the text names; empty if GStreamer chooses the pad.
        public let sinkPads: [String]
        /// The caps of the filter between the two elements; `nil` without a filter.
        public let filter: String?
    }

    /// The elements in the order of the text; each bin precedes its content.
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
            // Like GStreamer, take the last element of that name.
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
