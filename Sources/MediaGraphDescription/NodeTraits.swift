import GStreamer
import Synchronization

/// What a node tells the checks about itself beyond GStreamer's registry. The node's element conforms, and
/// ``KnownNodes/register(_:)`` makes the node known.
package protocol NodeTraits: SendableMetatype {
    static var factoryName: String { get }
    /// Whether a handler of that name may be set on it.
    static func hasHandler(named name: String) -> Bool
    /// The handlers that the element's properties name, as far as they are known.
    static func handlers(of element: ParsedElement) -> [HandlerReference]
    /// What its pads of this direction carry as its properties are set; `nil` where its templates say all.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps?
    /// The handler whose formats ``caps(of:_:)`` gives.
    static func formatHandler(of element: ParsedElement) -> String?
    /// A property of type string whose value is the description of a source.
    static var sourceProperty: String? { get }
    /// Pads that are requested with a user's name.
    static var userPads: [UserPad] { get }
    /// Whether the node, a sink, holds its first buffer until the graph plays, as most sinks do.
    static var prerolls: Bool { get }
    /// What is missing when nothing is linked to the node, a mixer that sends nothing without input; `nil` for other nodes.
    static var lackOfInput: String? { get }
    /// Checks of the node's own properties and pads.
    static var checks: [any DescriptionCheck] { get }
}

extension NodeTraits {
    package static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? { nil }
    package static func formatHandler(of element: ParsedElement) -> String? { nil }
    package static var sourceProperty: String? { nil }
    package static var userPads: [UserPad] { [] }
    package static var prerolls: Bool { true }
    package static var lackOfInput: String? { nil }
    package static var checks: [any DescriptionCheck] { [] }
}

/// A handler that an element's property names.
package struct HandlerReference: Sendable {
    let name: String
    /// The property that has its options.
    let optionsProperty: String
    let optionNames: [String]

    package init(name: String, optionsProperty: String, optionNames: [String]) {
        self.name = name
        self.optionsProperty = optionsProperty
        self.optionNames = optionNames
    }
}

/// The nodes that the checks know.
package enum KnownNodes {
    private struct State: Sendable {
        var nodes: [any NodeTraits.Type] = []
        var byFactory: [String: any NodeTraits.Type] = [:]
    }
    private static let state = Mutex(State())

    /// Makes nodes known, instead of those known before.
    package static func register(_ nodes: [any NodeTraits.Type]) {
        let byFactory = Dictionary(uniqueKeysWithValues: nodes.map { ($0.factoryName, $0) })
        state.withLock { $0 = State(nodes: nodes, byFactory: byFactory) }
    }

    static var all: [any NodeTraits.Type] { state.withLock { $0.nodes } }

    /// Of all nodes.
    package static var checks: [any DescriptionCheck] { all.flatMap { $0.checks } }

    static func node(_ factory: String) -> (any NodeTraits.Type)? { state.withLock { $0.byFactory[factory] } }

    /// The first node, as they were registered, that has a handler of this name.
    static func node(ofHandler name: String) -> (any NodeTraits.Type)? { all.first { $0.hasHandler(named: name) } }
}
