import MediaGraph

/// What came of a line that the graph was told while it runs; with `--json` as it is.
struct ControlReply: Encodable, Sendable, Equatable {
    var event = "control"
    /// The first word of the line; the whole line when it was refused.
    var command: String
    var node: String?
    var property: String?
    /// What the property is now.
    var value: String?
    /// Why nothing was changed.
    var error: String?

    /// For people; `nil` for an error.
    var text: String? {
        guard error == nil else { return nil }
        guard let node, let property, let value else { return ControlCommand.usage }
        return "\(node).\(property) = \(value.isEmpty ? "\"\"" : value)"
    }
}

extension DiagnosticReport {
    func control(_ reply: ControlReply) {
        if let problem = reply.error { error("\(reply.command): \(problem)") }
        if let text = reply.text { StandardStreams.printError(reply.node == nil ? text : TextWidth.printable(text)) }
    }
}
