/// Where a description names a handler: a property of a node, and the one beside it that has the handler's options.
package struct HandlerPlace: Sendable {
    /// The node's factory name.
    package let node: String
    package var handler = "handler"
    package var options = "options"
    /// The pad that gives what the handler sends, of a node with several.
    package var pad: String?
    /// What it may name.
    package let kinds: [HandlerRegistry.Kind]

    /// All places of a node by its factory name; none for any other element.
    package static func all(of node: String) -> [HandlerPlace] {
        if node == NodeName.shareSource {
            return [
                HandlerPlace(node: node, pad: "src", kinds: [.source]),
                HandlerPlace(
                    node: node, handler: "audio-handler", options: "audio-options", pad: "audio", kinds: [.microphone]),
            ]
        }
        let kinds = HandlerRegistry.Kind.allCases.filter { $0.node == node }
        return kinds.isEmpty ? [] : [HandlerPlace(node: node, kinds: kinds)]
    }
}
