import MediaGraph

/// The JSON form of a diagnostic.
struct DiagnosticRecord: Codable, Equatable, Sendable {
    var severity: String
    var message: String
    var file: String
    /// Lines and columns begin at 1. `column` and `length` count Unicode scalars.
    var line: Int
    var column: Int
    var length: Int
    var hint: String?

    init(_ diagnostic: Diagnostic) {
        severity = diagnostic.severity.rawValue
        message = diagnostic.message
        file = diagnostic.range.file
        line = diagnostic.range.line
        column = diagnostic.range.column
        length = diagnostic.range.length
        hint = diagnostic.hint
    }
}
