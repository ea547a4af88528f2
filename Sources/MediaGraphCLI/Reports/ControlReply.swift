import MediaGraph

/// The reply to a command of `--control`. `--json` prints it as it is.
struct ControlReply: Encodable, Sendable, Equatable {
    var event = JSONEvent.control
    /// The first word of the line; the whole line if the command was refused; "--control" if reading failed.
    var command: String
    var node: String?
    /// The recipient of a command that was sent; `nil` if it was sent to all.
    var user: String?
    var property: String?
    /// The property's current value.
    var value: String?
    /// The fields of a property that is a structure, such as `stats`; `value` is `nil` then.
    var fields: [String: JSONValue]?
    /// Why the command was refused.
    var error: String?

    /// The human-readable reply; `nil` for an error.
    var text: String? {
        guard error == nil else { return nil }
        if command == ControlCommand.sendWord { return TextWidth.printable("sent to \(user ?? "all")") }
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
