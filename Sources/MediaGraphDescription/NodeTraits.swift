import GStreamer
import Synchronization

/// What a node tells the checks that GStreamer's registry doesn't contain. The node's element conforms to this
/// protocol, and ``KnownNodes/register(_:)`` registers the node.
package protocol NodeTraits: SendableMetatype {
    /// The name of the node's element factory.
    static var factoryName: String { get }
    /// Returns whether the node accepts a handler of that name.
    static func hasHandler(named name: String) -> Bool
    /// Returns the known handlers that the element's properties name.
    static func handlers(of element: ParsedElement) -> [HandlerReference]
    /// Returns the caps of the pads of this direction with the properties that the text sets; `nil` if the pad
    /// templates apply unchanged.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps?
    /// Returns the name of the handler whose formats ``caps(of:_:)`` returns; `nil` if the caps don't depend on a
    /// handler.
    static func formatHandler(of element: ParsedElement) -> String?
    /// The name of a string property whose value is the description of a source.
    static var sourceProperty: String? { get }
    /// The pads that are requested by a user's name.
    static var userPads: [UserPad] { get }
    /// Whether the node, a sink, blocks with its first buffer until the graph plays, as most sinks do.
    static var prerolls: Bool { get }
    /// The effect of linking nothing to the node, for the message of a warning. For mixers, which send nothing without
    /// input; `nil` for other nodes.
    static var missingInputEffect: String? { get }
    /// The checks of the node's own properties and pads.
    static var checks: [any DescriptionCheck] { get }
}

extension NodeTraits {
    package static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? { nil }
    package static func formatHandler(of element: ParsedElement) -> String? { nil }
    package static var sourceProperty: String? { nil }
    package static var userPads: [UserPad] { [] }
    package static var prerolls: Bool { true }
    package static var missingInputEffect: String? { nil }
    package static var checks: [any DescriptionCheck] { [] }
}

/// A handler that an element's property names.
package struct HandlerReference: Sendable {
    let name: String
    /// The property that contains the handler's options.
    let optionsProperty: String
    /// The names of the options that the handler accepts.
    let optionNames: [String]

    package init(name: String, optionsProperty: String, optionNames: [String]) {
        self.name = name
        self.optionsProperty = optionsProperty
        self.optionNames = optionNames
    }
}

/// The registered nodes, whose traits the checks use. Thread-safe.
package enum KnownNodes {
    private struct State: Sendable {
        var nodes: [any NodeTraits.Type] = []
        /// By the name of the factory, because a node makes its whole declaration to tell that name.
        var byFactory: [String: any NodeTraits.Type] = [:]
    }
    private static let state = Mutex(State())

    /// Registers nodes, replacing all that were registered before.
    package static func register(_ nodes: [any NodeTraits.Type]) {
        let byFactory = Dictionary(uniqueKeysWithValues: nodes.map { ($0.factoryName, $0) })
        state.withLock { $0 = State(nodes: nodes, byFactory: byFactory) }
    }

    static var all: [any NodeTraits.Type] { state.withLock { $0.nodes } }

    /// The checks of all registered nodes.
    package static var checks: [any DescriptionCheck] { all.flatMap { $0.checks } }

    static func node(_ factory: String) -> (any NodeTraits.Type)? { state.withLock { $0.byFactory[factory] } }

    /// Returns the first registered node that has a handler of this name.
    static func node(ofHandler name: String) -> (any NodeTraits.Type)? { all.first { $0.hasHandler(named: name) } }
}
