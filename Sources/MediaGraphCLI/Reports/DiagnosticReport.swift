import ArgumentParser
import Foundation
import MediaGraph

/// Prints errors and warnings about descriptions and their variables: as text on standard error, or as JSON lines on
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
        // In a file or a pipe, lines aren't shortened.
        let columns = isatty(STDERR_FILENO) == 1 ? Terminal.size(.standardError).columns : .max
        for diagnostic in diagnostics {
            StandardStreams.printError(diagnostic.rendered(color: style.isColored, columns: columns))
        }
    }

    /// Prints the number of errors and warnings, below the diagnostics.
    func printCount(_ diagnostics: [Diagnostic]) {
        if !printsJSON, let text = Self.count(diagnostics) { StandardStreams.printError(text) }
    }

    /// Returns "2 errors, 1 warning"; `nil` if there are none.
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
        Self.printError(style.paint("error:", .error), text, indent: 7)
    }

    /// Reports an error and throws the exit code of `status`.
    func fail(_ text: String, with status: ExitStatus) throws -> Never {
        error(text)
        throw status.exitCode
    }

    func warning(_ text: String) {
        if printsJSON {
            JSONLine.print(ProblemEvent(event: .warning, message: text), to: jsonStream)
            return
        }
        Self.printError(style.paint("warning:", .warning), text, indent: 9)
    }

    private static func printError(_ label: String, _ text: String, indent: Int) {
        let fitted = TextWidth.fitted(TextWidth.printable(text), behind: indent, on: .standardError)
        StandardStreams.printError("\(label) \(fitted)")
    }

    /// Returns warnings about variables on the command line that the descriptions don't use, or that were given twice.
    static func variableWarnings(_ words: CommandWords, of descriptions: [Description]) -> [String] {
        let known = descriptions.flatMap(\.variables)
        // HERE, the folder of the description, is always defined.
        let names = known.map(\.name).filter { $0 != "HERE" || words.variables[$0] != nil }
        let repeated = words.repeated.map {
            "\($0) was given twice; the last value, \"\(words.variables[$0]!)\", is used"
        }
        return repeated
            + words.variables.keys.filter { !names.contains($0) }.sorted().compactMap { name in
                let nearest = descriptions.lazy.compactMap { $0.unused([name: ""]).first?.nearest }.first
                // The error about the missing variable already names this one.
                let isMissing = known.contains {
                    $0.name == nearest && $0.defaultValue == nil && words.variables[$0.name] == nil
                }
                if isMissing, nearest?.lowercased() == name.lowercased() { return nil }
                let hint =
                    nearest.map { "did you mean \"\($0)\"?" }
                    ?? (names.isEmpty
                        ? "to use the value, write ${\(name)} in the description" : "its variables: \(list(names))")
                return "the description has no variable \"\(name)\"; \(hint)"
            }
    }

    private static func list(_ names: [String]) -> String {
        names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }.joined(separator: ", ")
    }
}

extension DescriptionInput {
    /// Loads the description. Reports an error and throws an exit code if it can't be read.
    func loadOrExit(_ report: DiagnosticReport = DiagnosticReport()) throws -> Description {
        do { return try load() } catch {
            try report.fail("\(error)", with: .wrongInput)
        }
    }
}
