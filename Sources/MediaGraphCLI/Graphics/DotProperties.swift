import GStreamer
import MediaGraph

/// The properties that a description sets on an element, as lines for its box.
struct DotProperties {
    let lines: [String]

    init(_ element: DescriptionOutline.Element) {
        let info = element.kind == .element ? ElementFactoryInfo.find(element.factory) : nil
        let places = HandlerProperty.all(of: element.factory)
        let ofChildren = element.properties.filter { Self.child(of: $0.name) != nil }
        lines = element.properties.flatMap { property -> [String] in
            if let child = Self.child(of: property.name) {
                // All properties of a pad share one line.
                let own = ofChildren.filter { Self.child(of: $0.name) == child }
                guard own.first == property else { return [] }
                let values = own.map { "\($0.name.dropFirst(child.count + 2)) = \($0.value)" }
                return [DotText.shortened("\(child): \(values.joined(separator: ", "))")]
            }
            // The room is drawn as a frame around the session.
            if element.isSession, property.name == "room" { return [] }
            // Options are listed below their handler.
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

    /// Returns the name of the pad in a property name such as `sink_0::xpos`.
    private static func child(of name: String) -> Substring? {
        name.firstRange(of: "::").map { name[..<$0.lowerBound] }
    }

    /// Returns one line per option; one line for all if they can't be parsed.
    private static func options(_ property: DescriptionOutline.Property) -> [String] {
        guard let options = HandlerOptions.pairs(in: property.value) else {
            return [line(property.name, property.value)]
        }
        return options.map { "\u{A0}\u{A0}\(line($0.name, $0.value))" }
    }

    private static func line(_ name: String, _ value: String) -> String {
        "\(DotText.shortened(name)) = \(value.isEmpty ? "\"\"" : DotText.shortened(value))"
    }

    /// Returns a duration with its unit; `nil` for properties that aren't in nanoseconds, and for 0 and -1 (none),
    /// which often have a special meaning.
    private static func time(_ value: String, of property: PropertyInfo) -> String? {
        guard property.isInNanoseconds, let nanoseconds = Int64(value), nanoseconds != 0, nanoseconds != -1 else {
            return nil
        }
        return Numbers.time(nanoseconds: nanoseconds)
    }
}

extension DescriptionOutline.Element {
    var isSession: Bool { kind == .element && factory == "mediasession" }

    /// The room of a session.
    var room: String {
        properties.last { $0.name == "room" }?.value
            ?? ElementFactoryInfo.find(factory)?.property("room")?.defaultText ?? ""
    }

    /// Whether the element adds its source pads only while it runs, as a demuxer does.
    var givesPadsLate: Bool {
        guard kind == .element, let info = ElementFactoryInfo.find(factory) else { return false }
        let sources = info.padTemplates.filter { $0.direction == .source }
        return !sources.isEmpty && sources.allSatisfy { $0.presence == .sometimes }
    }
}
