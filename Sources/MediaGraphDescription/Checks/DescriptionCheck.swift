import GStreamer

/// A custom check, which runs after the built-in ones on every element of a description.
public protocol DescriptionCheck: Sendable {
    /// Returns the problems of one element, whose factory exists. The built-in checks have compared its properties with
    /// its class; `element.properties` includes those that failed.
    func problems(in element: DescribedElement) -> [Diagnostic]
    /// Returns the problems of all elements together. `elements` is in the order of the text and includes URIs in an
    /// element's place. The default implementation calls ``problems(in:)`` for each element.
    func problems(among elements: [DescribedElement]) -> [Diagnostic]
}

extension DescriptionCheck {
    /// Returns the problems of each element by itself.
    public func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.filter { $0.uriDirection == nil }.flatMap { problems(in: $0) }
    }
}

/// An element of a description, as written.
public struct DescribedElement: Sendable {
    /// The factory's name; for a URI in an element's place, the URI.
    public let factory: String
    /// The name that the text gives the element; `nil` if it gives none.
    public let name: String?
    /// The properties that the text sets, in the order of the text.
    public let properties: [DescribedProperty]
    /// Whether a link leads to one of the element's sink pads.
    public let hasInput: Bool
    /// The names of the source pads from which links lead. Contains an empty string if a link doesn't name its pad.
    package let sourcePads: Set<String>
    /// For a URI in an element's place, whether it is read (`source`) or written (`sink`); `nil` for an element.
    package let uriDirection: ParsedLink.Direction?
    /// The variable whose value or default contains the factory's name; `nil` if there is none.
    package var variable: String? { isNested ? nil : locator.variable(at: offsets) }
    /// Whether the element is part of the value of another element's property.
    let isNested: Bool
    let locator: Locator
    let offsets: Range<Int>

    /// Returns a property that the text sets; `nil` if the text doesn't set it. If the text sets it more than once,
    /// returns the last one, which takes effect.
    public func property(_ name: String) -> DescribedProperty? { properties.last { $0.name == name } }

    /// Returns whether the text sets a Boolean property to `value`, with any of GStreamer's words for it.
    package func sets(_ property: String, to value: Bool) -> Bool {
        CheckContext.isBoolean(value, self.property(property)?.value ?? "")
    }

    /// The elements in the values of the element's properties, as in `video-sink="videoconvert ! fakesink"`, at any
    /// depth. Their ranges are those of the value.
    package var nested: [DescribedElement] {
        guard uriDirection == nil, let factory = ElementFactoryInfo.find(factory) else { return [] }
        return properties.flatMap { property -> [DescribedElement] in
            guard let text = property.value, !text.utf8.contains(0), let info = factory.property(property.name),
                NestedDescriptionCheck.isDescription(info, of: factory.name)
            else { return [] }
            let elements = DescriptionParser.parse(Array(text.utf8)).elements.filter { !$0.isUnknown }
            return elements.map { DescribedElement($0, at: property) }.flatMap { [$0] + $0.nested }
        }
    }

    /// The range of the factory's name.
    public var range: SourceRange { locator.source.range(locator.sourceRange(of: .expanded(offsets))) }

    /// Creates a diagnostic that points at the factory's name.
    public func diagnostic(
        _ message: String, hint: String? = nil, severity: Diagnostic.Severity = .error
    ) -> Diagnostic {
        locator.diagnostic(Problem(place: .expanded(offsets), severity: severity, message: message, hint: hint))
    }
}

extension DescribedElement {
    fileprivate init(_ element: ParsedElement, at property: DescribedProperty) {
        self.init(
            factory: element.factory, name: element.name?.value,
            properties: element.properties.map {
                DescribedProperty(
                    name: $0.name, value: $0.text(in: element.factory), locator: property.locator,
                    offsets: property.offsets)
            },
            hasInput: false, sourcePads: [], uriDirection: element.uriDirection, isNested: true,
            locator: property.locator, offsets: property.offsets)
    }
}

extension ParsedProperty {
    /// Returns the value without the quotes that a string property removes by itself.
    func text(in factory: String) -> String {
        let bytes = Array(value.utf8)
        guard PropertyText.isQuoted(bytes), ElementFactoryInfo.find(factory)?.property(name)?.kind == .string,
            let text = PropertyText.unwrapped(bytes)
        else { return value }
        return text.text
    }
}

/// A property of an element in a description.
public struct DescribedProperty: Sendable {
    /// The property's name.
    public let name: String
    /// The value as the property's type reads it, without the description's quotes and backslashes. `nil` if it
    /// contains an undefined variable.
    public let value: String?
    let locator: Locator
    let offsets: Range<Int>

    /// The range of the value.
    public var range: SourceRange { locator.source.range(locator.sourceRange(of: .expanded(offsets))) }

    /// Creates a diagnostic that points at the value.
    public func diagnostic(
        _ message: String, hint: String? = nil, severity: Diagnostic.Severity = .error
    ) -> Diagnostic {
        locator.diagnostic(Problem(place: .expanded(offsets), severity: severity, message: message, hint: hint))
    }
}
