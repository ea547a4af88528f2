import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// Constants that all nodes share.
package enum NodeDefinition {
    package static let author = "The MediaGraph authors"
    /// The version that the nodes' GTypes carry. A second copy of this code in the process uses the nodes of the first
    /// copy, and refuses nodes of another version.
    package static let abiVersion = Int(MEDIAGRAPH_ABI_VERSION)

    static let handlerBlurb = "Name of the handler; `mediagraph inspect` lists the available handlers"
    static let optionsBlurb = "Options of the handler: key=value pairs separated by commas, in GstStructure's syntax"
}

extension NodeTraits where Self: ElementImplementation {
    package static var factoryName: String { declaration.factoryName }

    package static func hasHandler(named name: String) -> Bool {
        HandlerProperty.all(of: factoryName).contains { place in
            HandlerRegistry.shared.handlers(place).contains { $0.name == name }
        }
    }

    package static func handlers(of element: ParsedElement) -> [HandlerReference] {
        HandlerProperty.all(of: factoryName).compactMap { place in
            guard let handler = element.properties.last(where: { $0.name == place.handler }), !handler.isUnknown,
                let entry = HandlerRegistry.shared.handlers(place).first(where: { $0.name == handler.value })
            else { return nil }
            return HandlerReference(
                name: entry.name, optionsProperty: place.options, optionNames: entry.options.map(\.name))
        }
    }
}

/// Settings of a node with the properties `handler` and `options`.
protocol HandlerSettings: Sendable {
    var handler: String { get set }
    var options: String { get set }
}

extension ConfigurableElement where Settings: HandlerSettings {
    /// The properties `handler` and `options` of a node whose handler can't change while it runs.
    static var lockedHandlerProperties: [PropertyDeclaration] {
        [
            .setting("handler", of: Self.self, \.handler, changes: .untilInitialized, NodeDefinition.handlerBlurb),
            .setting("options", of: Self.self, \.options, changes: .untilInitialized, NodeDefinition.optionsBlurb),
        ]
    }

    /// Clears `handler` and `options`, so that the next run doesn't make the named handler again. Calls `replace` under
    /// the settings lock and releases its result after unlocking.
    func clearHandlerProperties(_ replace: () -> (any Sendable)? = { nil }) {
        let (before, replaced) = settings.update { settings in
            let before = settings
            settings.handler = ""
            settings.options = ""
            return (before, replace())
        }
        withExtendedLifetime(replaced) {}
        // Notify without the lock: listeners may read the properties.
        if !before.handler.isEmpty { notify("handler") }
        if !before.options.isEmpty { notify("options") }
    }
}
