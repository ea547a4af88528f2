import GStreamer
import MediaGraph

/// The lines that say what a description sets on an element.
struct DotProperties {
    let lines: [String]

    init(_ element: DescriptionOutline.Element) {
        let info = element.kind == .element ? ElementFactoryInfo.find(element.factory) : nil
        let places = HandlerPlace.all(of: element.factory)
        let ofChildren = element.properties.filter { Self.child(of: $0.name) != nil }
        lines = element.properties.flatMap { property -> [String] in
            if let child = Self.child(of: property.name) {
                // A line for each pad, with all that is set on it.
                let own = ofChildren.filter { Self.child(of: $0.name) == child }
                guard own.first == property else { return [] }
                let values = own.map { "\($0.name.dropFirst(child.count + 2)) = \($0.value)" }
                return [DotText.shortened("\(child): \(values.joined(separator: ", "))")]
            }
            // The room is drawn around the session.
            if element.isSession, property.name == "room" { return [] }
            // Options stand below their handler.
            if let place = places.first(where: { $0.options == property.name }),
                element.properties.contains(where: { $0.name == place.handler })
            {
                return []
            }
            if let place = places.first(where: { $0.handler == property.name }) {
                let options = element.properties.last { $0.name == place.options }
                return [Self.line(property.name, property.value)] + (options.map(Self.options) ?? [])
            }
            let value = info?.property(property.name).flatMap { Self.time(property.value, of: $0) }
            return [Self.line(property.name, value ?? property.value)]
        }
    }

    /// The pad in `sink_0::xpos`.
    private static func child(of name: String) -> Substring? {
        name.firstRange(of: "::").map { name[..<$0.lowerBound] }
    }

    /// A line for each option; where they can't be read, one for all.
    private static func options(_ property: DescriptionOutline.Property) -> [String] {
        guard let options = HandlerOptions.pairs(in: property.value) else {
            return [line(property.name, property.value)]
        }
        return options.map { "\u{A0}\u{A0}\(line($0.name, $0.value))" }
    }

    private static func line(_ name: String, _ value: String) -> String {
        "\(DotText.shortened(name)) = \(value.isEmpty ? "\"\"" : DotText.shortened(value))"
    }

    /// A length of time with its unit; `nil` for other values, and those that stand for something else: 0, and -1 for none.
    private static func time(_ value: String, of property: PropertyInfo) -> String? {
        guard property.isInNanoseconds, let nanoseconds = Int64(value), nanoseconds != 0, nanoseconds != -1 else {
            return nil
        }
        return Numbers.time(nanoseconds: nanoseconds)
    }
}

extension DescriptionOutline.Element {
    var isSession: Bool { kind == .element && factory == "mediasession" }

    /// Where a session meets others.
    var room: String {
        properties.last { $0.name == "room" }?.value
            ?? ElementFactoryInfo.find(factory)?.property("room")?.defaultText ?? ""
    }

    /// Whether its source pads come while it runs, as a demultiplexer's do.
    var givesPadsLate: Bool {
        guard kind == .element, let info = ElementFactoryInfo.find(factory) else { return false }
        let sources = info.padTemplates.filter { $0.direction == .source }
        return !sources.isEmpty && sources.allSatisfy { $0.presence == .sometimes }
    }
}
