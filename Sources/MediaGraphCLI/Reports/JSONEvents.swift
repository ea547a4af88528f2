import MediaGraph

/// The kinds of lines that `run --json` prints: the values of "event". The list in the help is generated from them.
enum JSONEvent: String, Codable, CaseIterable, Sendable {
    case start, progress, status, alpha, joined, profile, command, left, stream, muted, speaking, stalled, streams,
        refused
    case format, lost, back, missing
    case control, message, warning, error, diagnostic, finishing, end

    /// The other fields of the line and, if they don't make it obvious, when the line is printed.
    var fields: String {
        switch self {
        case .start: "version, title, nodes"
        case .progress: "time, position, duration (seconds), nodes"
        case .status: "node, on: the sender of a pipe started or stopped"
        case .alpha:
            "node, enabled: whether the frames carry alpha from now on; user, kind: whose they are, in a session"
        case .joined:
            "node, user, displayName, customData (if not empty): a user joined the room of a session, or was already there"
        case .profile: "node, user, displayName, customData: a user changed one of these"
        case .command:
            "node, user, forAll, text or bytes (Base64): a user sent a command to all, or to the session's user"
        case .left: "node, user: a user left the room"
        case .stream: "node, user, kind, on: a stream of a user started or stopped"
        case .muted: "node, user, kind, muted: a user turned a camera or the microphone off (true) or on (false)"
        case .speaking:
            "node, user, speaking: a user began (true) or stopped (false) speaking, by the microphone's level"
        case .stalled: "node, user, kind, stalled: a stream that the graph reads stalled (true) or resumed (false)"
        case .streams:
            "node, streams {user, kind, direction (sent or received), framesPerSecond, bitsPerSecond, width, height, frames, bytes, lost, network {bitsPerSecond, packetsLost, packetLoss (0 to 1), jitterMilliseconds, roundTripMilliseconds} (of a stream on a network, after its first seconds; the times if they are known)}: the streams that a session sends and reads, every second"
        case .refused: "node, user, kind, reason: a share must wait until another user's share ends"
        case .format: "node, device, format: a format of the device was chosen"
        case .lost: "node, device, lostAt (seconds), reason: a device was lost"
        case .back: "node, device, lostAt, backAt, gap (seconds): a device is back"
        case .missing: "element, sink, message: the input lacks a stream, so a branch gets no data"
        case .control:
            "command, node, property or user, value (fields for a structure) or error: the reply to a line of --control"
        case .message: "element, message, fields: an element posted a message"
        case .warning: "element, factory, message, detail"
        case .error: "element, factory, message, detail, formatConflict, incompleteFiles"
        case .diagnostic: "severity, message, file, line, column, length, hint"
        case .finishing: "reason: the streams were asked to end"
        case .end: "reason, exitStatus, time, frames, dropped, nodes, latencyMilliseconds {p50, p99}"
        }
    }

    /// The list of all events for the help, wrapped to 80 columns.
    static var help: String {
        allCases.map { event in
            let text = TextWidth.wrapped(event.fields, to: 80, indent: 14)
            return "  \(TextWidth.padded(event.rawValue, to: 12))\(text)"
        }.joined(separator: "\n")
    }
}

/// An error or a warning among the lines of `run --json`.
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
