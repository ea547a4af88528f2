import GStreamer
import Synchronization

/// What a node tells the checks about itself beyond GStreamer's registry. Its element conforms, and
/// ``DescribedNodes/register(_:)`` makes it known.
package protocol DescribedNode: SendableMetatype {
    static var factoryName: String { get }
    /// Whether a handler of that name may be set on it.
    static func hasHandler(named name: String) -> Bool
    /// The handlers that the element's properties name, as far as they are known.
    static func handlers(of element: ParsedElement) -> [DescribedHandler]
    /// What its pads of this direction carry as its properties are set; `nil` where its templates say all.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps?
    /// The handler whose formats ``caps(of:_:)`` gives.
    static func formatHandler(of element: ParsedElement) -> String?
    /// A property of type string whose value is the description of a source.
    static var sourceProperty: String? { get }
    /// Pads that are requested with a user's name.
    static var userPads: [UserPad] { get }
    /// Whether it holds its first buffer until the graph plays, as most sinks do.
    static var prerolls: Bool { get }
    /// Whether it waits for its first input before it sends anything.
    static var needsInput: Bool { get }
}

extension DescribedNode {
    package static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? { nil }
    package static func formatHandler(of element: ParsedElement) -> String? { nil }
    package static var sourceProperty: String? { nil }
    package static var userPads: [UserPad] { [] }
    package static var prerolls: Bool { true }
    package static var needsInput: Bool { false }
}

/// A handler that an element's property names.
package struct DescribedHandler: Sendable {
    package let name: String
    /// The property that has its options.
    package let optionsProperty: String
    package let optionNames: [String]

    package init(name: String, optionsProperty: String, optionNames: [String]) {
        self.name = name
        self.optionsProperty = optionsProperty
        self.optionNames = optionNames
    }
}

/// The nodes of this process, by their factories' names.
package enum DescribedNodes {
    private static let registered = Mutex<[any DescribedNode.Type]>([])

    /// Makes nodes known to the checks, in this order.
    package static func register(_ nodes: [any DescribedNode.Type]) { registered.withLock { $0 = nodes } }

    static var all: [any DescribedNode.Type] { registered.withLock { $0 } }

    static func node(_ factory: String) -> (any DescribedNode.Type)? { all.first { $0.factoryName == factory } }

    /// The first node that has a handler of this name.
    static func node(ofHandler name: String) -> (any DescribedNode.Type)? { all.first { $0.hasHandler(named: name) } }
}
