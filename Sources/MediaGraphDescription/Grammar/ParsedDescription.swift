/// What a description says: elements and links, with their places in the expanded text.
struct ParsedDescription: Sendable {
    var elements: [ParsedElement] = []
    var links: [ParsedLink] = []
    /// What the grammar refuses.
    var problems: [Problem] = []
}

package struct ParsedElement: Sendable {
    enum Kind: Sendable { case element, bin, uri(ParsedLink.Direction) }

    var kind: Kind
    /// The factory's name, or the URI.
    package internal(set) var factory: String
    var range: Range<Int>
    package internal(set) var properties: [ParsedProperty] = []
    var presets: [ParsedText] = []
    /// The bin that it is in; `nil` at the top.
    var parent: Int?

    var isBin: Bool { if case .bin = kind { true } else { false } }
    var isURI: Bool { uriDirection != nil }
    /// Which way data goes by a URI.
    var uriDirection: ParsedLink.Direction? { if case .uri(let direction) = kind { direction } else { nil } }
    /// Whether an undefined variable is part of its name.
    var isUnknown: Bool { factory.contains("…") }
    /// The last value that is given for a property, which is the one that holds.
    package func value(of property: String) -> String? { properties.last { $0.name == property }?.value }
    /// The name that it was given; GStreamer reads a bare `NULL` as no name.
    var name: ParsedProperty? { properties.last { $0.name == "name" && $0.value != "NULL" } }
}

struct ParsedText: Sendable {
    let text: String
    let range: Range<Int>
}

package struct ParsedProperty: Sendable {
    package let name: String
    /// As the property's type reads it: without the description's own quotes and backslashes.
    package let value: String
    let range: Range<Int>
    let nameRange: Range<Int>
    let valueRange: Range<Int>
    /// Whether an undefined variable, or a quote that isn't closed, is part of it.
    package let isUnknown: Bool
    /// `NAME::property` of a child.
    var isOfChild: Bool { name.contains("::") }
    /// The names between the `::`; the last one is the property's.
    var childPath: [String] { name.split(separator: "::", omittingEmptySubsequences: false).map(String.init) }
}

package struct ParsedLink: Sendable {
    package enum Direction: Sendable { case source, sink }

    /// One side of a link.
    struct End: Sendable {
        enum Target: Sendable {
            case element(Int)
            case reference(ParsedText)
            /// What stands there isn't an element; that was said already.
            case broken
        }
        var target: Target
        var pads: [ParsedText] = []

        static let broken = End(target: .broken)
    }

    /// The operator with its filter.
    let range: Range<Int>
    var source: End
    var sink: End
    let filter: ParsedText?
    let linksAllPads: Bool
}
