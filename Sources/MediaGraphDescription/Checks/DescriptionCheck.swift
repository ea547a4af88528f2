import GStreamer

/// A check of your own, run with the built-in ones on every element that a description names.
public protocol DescriptionCheck: Sendable {
    /// What is wrong with `element`. Its factory exists, and what the factory itself says about its properties was checked
    /// before; a property that didn't pass is among `element.properties` all the same.
    func problems(in element: DescribedElement) -> [Diagnostic]
    /// What is wrong with the elements of a description together, in the order of the text; URIs that stand in an element's
    /// place are among them. The default asks each element by itself.
    func problems(among elements: [DescribedElement]) -> [Diagnostic]
}

extension DescriptionCheck {
    /// The problems of each element by itself.
    public func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.filter { $0.uriDirection == nil }.flatMap { problems(in: $0) }
    }
}

/// An element of a description, as it was written.
public struct DescribedElement: Sendable {
    /// The factory's name; for a URI in an element's place, the URI.
    public let factory: String
    /// The name that it was given.
    public let name: String?
    /// The properties that the text sets, in the order of the text.
    public let properties: [DescribedProperty]
    /// Whether something is linked to a sink pad of it.
    public let isFed: Bool
    /// The source pads that links lead from, empty for one that isn't named.
    package let sourcePads: Set<String>
    /// Which way data goes by a URI in an element's place; `nil` for an element.
    package let uriDirection: ParsedLink.Direction?
    /// The variable that the factory's name is the value or the default of.
    package var variable: String? { isNested ? nil : locator.variable(at: offsets) }
    /// Whether it stands in the value of another element's property.
    let isNested: Bool
    let locator: Locator
    let offsets: Range<Int>

    /// The last value that was given for a property, which is the one that holds.
    public func property(_ name: String) -> DescribedProperty? { properties.last { $0.name == name } }

    /// Whether a Boolean property is set to `value`, by any of GStreamer's words for it.
    package func sets(_ property: String, to value: Bool) -> Bool {
        CheckContext.says(value, self.property(property)?.value ?? "")
    }

    /// The elements in values of its properties, as in `video-sink="videoconvert ! fakesink"`, with those in theirs. They stand
    /// where the value does.
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

    /// Where the factory's name stands.
    public var range: SourceRange { locator.source.range(locator.sourceRange(of: .expanded(offsets))) }

    /// A diagnostic that points at the factory's name.
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
            isFed: false, sourcePads: [], uriDirection: element.uriDirection, isNested: true,
            locator: property.locator, offsets: property.offsets)
    }
}

extension ParsedProperty {
    /// The value without the quotes that a string property takes off itself.
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
    /// The value as its type reads it: without the description's own quotes and backslashes. `nil` when an undefined
    /// variable is part of it.
    public let value: String?
    let locator: Locator
    let offsets: Range<Int>

    /// Where the value stands.
    public var range: SourceRange { locator.source.range(locator.sourceRange(of: .expanded(offsets))) }

    /// A diagnostic that points at the value.
    public func diagnostic(
        _ message: String, hint: String? = nil, severity: Diagnostic.Severity = .error
    ) -> Diagnostic {
        locator.diagnostic(Problem(place: .expanded(offsets), severity: severity, message: message, hint: hint))
    }
}
