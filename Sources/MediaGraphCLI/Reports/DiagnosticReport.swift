import ArgumentParser
import Foundation
import MediaGraph

/// Prints what is wrong with descriptions and with their variables: for people on standard error, or as JSON lines on
/// standard output.
struct DiagnosticReport {
    var printsJSON = false
    var style: Style { Style(for: .standardError) }

    func print(_ diagnostics: [Diagnostic]) {
        if printsJSON {
            for diagnostic in diagnostics {
                JSONLine.print(DiagnosticEvent(diagnostic: DiagnosticRecord(diagnostic)), to: jsonStream)
            }
            return
        }
        let style = style
        // In a file or a pipe nothing is wrapped, and lines stay whole.
        let columns = isatty(STDERR_FILENO) == 1 ? Terminal.size(.standardError).columns : .max
        for diagnostic in diagnostics {
            StandardStreams.printError(diagnostic.rendered(color: style.isColored, columns: columns))
        }
    }

    /// The line below several diagnostics.
    func printCount(_ diagnostics: [Diagnostic]) {
        if !printsJSON, let text = Self.count(diagnostics) { StandardStreams.printError(text) }
    }

    /// "2 errors, 1 warning"; `nil` for none.
    static func count(_ diagnostics: [Diagnostic]) -> String? {
        let errors = diagnostics.count { $0.severity == .error }
        let warnings = diagnostics.count - errors
        let parts = [(errors, "error"), (warnings, "warning")].filter { $0.0 > 0 }
        return parts.isEmpty ? nil : parts.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: ", ")
    }

    var jsonStream = FileHandle.standardOutput

    func error(_ text: String) {
        if printsJSON {
            JSONLine.print(ProblemEvent(message: text), to: jsonStream)
            return
        }
        Self.printError(style.paint("error:", .error), text, behind: 7)
    }

    func warning(_ text: String) {
        if printsJSON {
            JSONLine.print(ProblemEvent(event: .warning, message: text), to: jsonStream)
            return
        }
        Self.printError(style.paint("warning:", .warning), text, behind: 9)
    }

    private static func printError(_ label: String, _ text: String, behind indent: Int) {
        let fitted = TextWidth.fitted(TextWidth.printable(text), behind: indent, on: .standardError)
        StandardStreams.printError("\(label) \(fitted)")
    }

    /// Values on the command line that the descriptions have no use for, or that another replaces.
    static func variableWarnings(_ words: CommandWords, of descriptions: [Description]) -> [String] {
        let known = descriptions.flatMap(\.variables)
        // The folder's is always there.
        let names = known.map(\.name).filter { $0 != "HERE" || words.variables[$0] != nil }
        let repeated = words.repeated.map {
            "\($0) is given twice; its last value, \"\(words.variables[$0]!)\", counts"
        }
        return repeated
            + words.variables.keys.filter { !names.contains($0) }.sorted().compactMap { name in
                let nearest = descriptions.lazy.compactMap { $0.unused([name: ""]).first?.nearest }.first
                // An error names both.
                let isMissing = known.contains {
                    $0.name == nearest && $0.defaultValue == nil && words.variables[$0.name] == nil
                }
                if isMissing, nearest?.lowercased() == name.lowercased() { return nil }
                let hint =
                    nearest.map { "did you mean \"\($0)\"?" }
                    ?? (names.isEmpty ? "write ${\(name)} in it" : "it has \(list(names))")
                return "the description has no variable \"\(name)\"; \(hint)"
            }
    }

    private static func list(_ names: [String]) -> String {
        names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }.joined(separator: ", ")
    }
}

extension DescriptionInput {
    /// The description, or the program's end with the reason on standard error.
    func loadOrExit(_ report: DiagnosticReport = DiagnosticReport()) throws -> Description {
        do { return try load() } catch {
            report.error("\(error)")
            throw ExitStatus.wrongInput.exitCode
        }
    }
}
