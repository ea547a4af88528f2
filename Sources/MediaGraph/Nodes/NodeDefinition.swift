import GStreamer

/// What all nodes have in common.
enum NodeDefinition {
    static let author = "The MediaGraph authors"
    /// Raised when another copy of the code could no longer use a node of this one.
    static let abiVersion = 4

    /// Formats that the nodes carry, as caps list them.
    static let formatNames = VideoFormat.allCases.map(\.gstreamerName).joined(separator: ", ")

    /// Raw video in memory that the CPU reads.
    static let systemMemoryCaps = Caps("video/x-raw, format={ \(formatNames) }")!.constant

    /// Caps with just these formats, in this order of preference.
    static func caps(formats: [VideoFormat]) -> Caps {
        guard !formats.isEmpty else { return systemMemoryCaps }
        return Caps("video/x-raw, format={ \(formats.map(\.gstreamerName).joined(separator: ", ")) }")!
    }

    static let handlerBlurb = "Name of the handler; `mediagraph inspect` lists those that there are"
    static let optionsBlurb = "The handler's options: key=value, separated by commas, by GstStructure's rules"
}

extension Caps {
    /// Raw video with these caps comes as whole frames that `accepted` has: one field a buffer is none to a handler.
    func areFrames(in accepted: Caps) -> Bool {
        guard isSubset(of: accepted), let info = VideoInfo(self) else { return false }
        return !info.isFieldPerBuffer
    }
}

extension NodeTraits where Self: ElementImplementation {
    static var factoryName: String { declaration.factoryName }

    static func hasHandler(named name: String) -> Bool {
        HandlerPlace.all(of: factoryName).contains { place in
            HandlerRegistry.shared.handlers(place).contains { $0.name == name }
        }
    }

    static func handlers(of element: ParsedElement) -> [HandlerReference] {
        HandlerPlace.all(of: factoryName).compactMap { place in
            guard let handler = element.properties.last(where: { $0.name == place.handler }), !handler.isUnknown,
                let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == handler.value })
            else { return nil }
            return HandlerReference(
                name: entry.name, optionsProperty: place.options, optionNames: entry.options.map(\.name))
        }
    }
}
