import MediaGraph

/// What the lines of `run --json` are, by their "event"; the help's list is made of it.
enum JSONEvent: String, Codable, CaseIterable, Sendable {
    case start, progress, status, alpha, joined, left, stream, stalled, refused
    case format, lost, back, missing
    case control, message, warning, error, diagnostic, finishing, end

    /// The fields, and where they don't say it, when it comes.
    var fields: String {
        switch self {
        case .start: "version, title, nodes"
        case .progress: "time, position, duration (seconds), nodes"
        case .status: "node, on: a pipe's sender started or stopped"
        case .alpha: "node, enabled: whether its frames carry alpha from now on"
        case .joined: "node, user: came into a session's room, or was there"
        case .left: "node, user: left it"
        case .stream: "node, user, kind, on: a stream of a user in the room started or stopped"
        case .stalled: "node, user, kind, stalled: a stream that the graph reads has stalled (true) or resumed (false)"
        case .refused: "node, user, kind, reason: a share that waits for another's end"
        case .format: "node, device, format: which of the device's formats was picked"
        case .lost: "node, device, lostAt (seconds), reason: a device has gone"
        case .back: "node, device, lostAt, backAt, gap (seconds): it is back"
        case .missing: "element, sink, message: the input lacks a stream; a branch ends empty"
        case .control: "command, node, property, value (fields of a structure) or error: the answer to a line"
        case .message: "element, message, fields: posted by an element"
        case .warning: "element, factory, message, detail"
        case .error: "element, factory, message, detail, formatConflict"
        case .diagnostic: "severity, message, file, line, column, length, hint"
        case .finishing: "reason: streams are asked to end"
        case .end: "reason, exitStatus, time, frames, dropped, nodes, latencyMilliseconds {p50, p99}"
        }
    }

    /// A line for each, and a continued one where it is long, in 80 columns.
    static var help: String {
        allCases.map { event in
            let text = TextWidth.wrapped(event.fields, to: 80, indent: 14)
            return "  \(TextWidth.padded(event.rawValue, to: 12))\(text)"
        }.joined(separator: "\n")
    }
}

/// What went wrong before there was a run, or a description, to report on; or, as a warning, what is odd.
struct ProblemEvent: Encodable {
    var event = JSONEvent.error
    var element: String?
    var factory: String?
    var message: String
    var detail: String?
    var formatConflict: String?
    var incompleteFiles: [String]?
}

/// A diagnostic among the lines of `run --json`.
struct DiagnosticEvent: Encodable {
    var event = JSONEvent.diagnostic
    var diagnostic: DiagnosticRecord

    func encode(to encoder: any Encoder) throws {
        try diagnostic.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(event, forKey: .event)
    }

    private enum Key: CodingKey { case event }
}
