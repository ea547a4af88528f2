import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// What all nodes have in common.
package enum NodeDefinition {
    package static let author = "The MediaGraph authors"
    /// Raised when another copy of the code could no longer use a node of this one.
    package static let abiVersion = 4

    static let handlerBlurb = "Name of the handler; `mediagraph inspect` lists those that there are"
    static let optionsBlurb = "The handler's options: key=value, separated by commas, by GstStructure's rules"
}

extension NodeTraits where Self: ElementImplementation {
    package static var factoryName: String { declaration.factoryName }

    package static func hasHandler(named name: String) -> Bool {
        HandlerPlace.all(of: factoryName).contains { place in
            HandlerRegistry.shared.handlers(place).contains { $0.name == name }
        }
    }

    package static func handlers(of element: ParsedElement) -> [HandlerReference] {
        HandlerPlace.all(of: factoryName).compactMap { place in
            guard let handler = element.properties.last(where: { $0.name == place.handler }), !handler.isUnknown,
                let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == handler.value })
            else { return nil }
            return HandlerReference(
                name: entry.name, optionsProperty: place.options, optionNames: entry.options.map(\.name))
        }
    }
}
