/// A place in a description that names a handler: a property of a node, with the property for the handler's options.
package struct HandlerProperty: Sendable {
    /// The node's factory name.
    package let node: String
    package var handler = "handler"
    package var options = "options"
    /// The pad for the handler's media, if the node has several pads.
    package var pad: String?
    /// The kinds of handlers that the property may name.
    package let kinds: [HandlerRegistry.Kind]

    /// Returns the places of a node, by its factory name; none for elements that aren't nodes.
    package static func all(of node: String) -> [HandlerProperty] {
        if node == NodeName.shareSource {
            return [
                HandlerProperty(node: node, pad: "src", kinds: [.source]),
                HandlerProperty(
                    node: node, handler: "audio-handler", options: "audio-options", pad: "audio", kinds: [.microphone]),
            ]
        }
        let kinds = HandlerRegistry.Kind.allCases.filter { $0.node == node }
        return kinds.isEmpty ? [] : [HandlerProperty(node: node, kinds: kinds)]
    }
}
