import MediaGraph

/// What came of a line that the graph was told while it runs; with `--json` as it is.
struct ControlReply: Encodable, Sendable, Equatable {
    var event = JSONEvent.control
    /// The first word of the line; the whole line when it was refused, and "--control" when no more can be read.
    var command: String
    var node: String?
    var property: String?
    /// What the property is now.
    var value: String?
    /// The same for a structure such as `stats`.
    var fields: [String: JSONValue]?
    /// Why nothing was changed.
    var error: String?

    /// For people; `nil` for an error.
    var text: String? {
        guard error == nil else { return nil }
        guard let node, let property else { return command == ControlCommand.quitWord ? nil : ControlCommand.usage }
        let place = TextWidth.printable("\(node).\(property)")
        if let fields {
            let lines = fields.sorted { $0.key < $1.key }.map { TextWidth.printable("  \($0.key)=\($0.value)") }
            return (["\(place):"] + lines).joined(separator: "\n")
        }
        return "\(place) = \(value.map { $0.isEmpty ? "\"\"" : TextWidth.printable($0) } ?? "")"
    }
}

extension DiagnosticReport {
    func control(_ reply: ControlReply) {
        if let problem = reply.error { error("\(reply.command): \(problem)") }
        if let text = reply.text { StandardStreams.printError(text) }
    }
}
