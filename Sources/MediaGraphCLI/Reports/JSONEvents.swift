import MediaGraph

/// What went wrong before there was a run, or a description, to report on; or, as a warning, what is odd.
struct ProblemEvent: Encodable {
    var event = "error"
    var element: String?
    var factory: String?
    var message: String
    var detail: String?
    var formatConflict: String?
}

/// A diagnostic among the lines of `run --json`.
struct DiagnosticEvent: Encodable {
    var event = "diagnostic"
    var diagnostic: DiagnosticRecord

    func encode(to encoder: any Encoder) throws {
        try diagnostic.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(event, forKey: .event)
    }

    private enum Key: CodingKey { case event }
}
