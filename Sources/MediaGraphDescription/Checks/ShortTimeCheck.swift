import GStreamer

/// Warns about a time of less than 0.1 ms at a property of MediaGraph's nodes. Nearly always the number was meant in
/// milliseconds, but the nodes' times are in nanoseconds, as those of GStreamer's own elements are.
package struct ShortTimeCheck: DescriptionCheck {
    package init() {}

    package func problems(in element: DescribedElement) -> [Diagnostic] {
        ([element] + element.nested).flatMap { element -> [Diagnostic] in
            guard KnownNodes.node(element.factory) != nil, let factory = ElementFactoryInfo.find(element.factory) else {
                return []
            }
            return element.properties.compactMap { Self.problem($0, of: factory) }
        }
    }

    private static func problem(_ property: DescribedProperty, of factory: ElementFactoryInfo) -> Diagnostic? {
        guard let info = factory.property(property.name), info.isInNanoseconds, let text = property.value,
            let nanoseconds = UInt64(text), (1..<100_000).contains(nanoseconds),
            // PropertyCheck reports values out of range.
            info.valueError(for: text) == nil
        else { return nil }
        return property.diagnostic(
            "\(info.name) of \(factory.name) is in nanoseconds, so this is only \(nanoseconds) ns",
            hint: "for \(nanoseconds) ms write \(info.name)=\(nanoseconds)000000", severity: .warning)
    }
}
