/// The elements and links of a description, with their ranges in the expanded text.
struct ParsedDescription: Sendable {
    var elements: [ParsedElement] = []
    var links: [ParsedLink] = []
    /// The syntax errors.
    var problems: [Problem] = []
}

/// An element, a bin, or a URI in an element's place.
package struct ParsedElement: Sendable {
    enum Kind: Sendable { case element, bin, uri(ParsedLink.Direction) }

    var kind: Kind
    /// The factory's name, or the URI.
    package internal(set) var factory: String
    var range: Range<Int>
    package internal(set) var properties: [ParsedProperty] = []
    var presets: [ParsedText] = []
    /// The index of the enclosing bin; `nil` at the top level.
    var parent: Int?

    var isBin: Bool { if case .bin = kind { true } else { false } }
    var isURI: Bool { uriDirection != nil }
    /// Whether a URI is read (`source`) or written (`sink`); `nil` for elements and bins.
    var uriDirection: ParsedLink.Direction? { if case .uri(let direction) = kind { direction } else { nil } }
    /// Whether the factory's name contains an undefined variable.
    var isUnknown: Bool { factory.contains("…") }
    /// Returns the last value of a property, which takes effect if the text sets it more than once.
    package func value(of property: String) -> String? { properties.last { $0.name == property }?.value }
    /// The property `name`. GStreamer reads a bare `NULL` as no name.
    var name: ParsedProperty? { properties.last { $0.name == "name" && $0.value != "NULL" } }
}

/// A part of the expanded text, such as a pad's name.
struct ParsedText: Sendable {
    let text: String
    let range: Range<Int>
}

/// A property that the text sets.
package struct ParsedProperty: Sendable {
    package let name: String
    /// The value as the property's type reads it, without the description's quotes and backslashes.
    package let value: String
    let range: Range<Int>
    let nameRange: Range<Int>
    let valueRange: Range<Int>
    /// Whether the property contains an undefined variable or an unclosed quote.
    package let isUnknown: Bool
    /// Whether the name is that of a child's property, `CHILD::property`.
    var isOfChild: Bool { name.contains("::") }
    /// The parts of the name between the `::`. The last one is the property's name.
    var childPath: [String] { name.split(separator: "::", omittingEmptySubsequences: false).map(String.init) }
}

/// A link between two elements, or between two lists of pads.
package struct ParsedLink: Sendable {
    package enum Direction: Sendable { case source, sink }

    /// One side of a link.
    struct End: Sendable {
        enum Target: Sendable {
            /// The element with this index.
            case element(Int)
            /// The element of this name.
            case reference(ParsedText)
            /// The text isn't an element, which has been reported.
            case broken
        }
        var target: Target
        var pads: [ParsedText] = []

        static let broken = End(target: .broken)
    }

    /// The range of the operator, or of the filter with both operators.
    let range: Range<Int>
    var source: End
    var sink: End
    let filter: ParsedText?
    /// Whether the operator is `:`, which links all pads.
    let linksAllPads: Bool
}
