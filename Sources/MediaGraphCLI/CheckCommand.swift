import ArgumentParser
import Foundation
import MediaGraph

/// `mediagraph check`: reports what is wrong with descriptions, without running them.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Find what is wrong with descriptions, without running them.",
        discussion: """
            Reports unknown elements, properties, values, handlers and options, impossible links, files that would be \
            both read and written or written twice, missing variables and syntax errors: all at once, each with its \
            position and a suggestion.

            \(DescriptionHelp.words)

            Several descriptions are checked one after the other.

            With --json, each description is one line on standard output: file, ok, elements, and diagnostics with \
            severity, message, file, line, column, length and hint. For a description that can't be read, error says why.

            EXAMPLES
              mediagraph check Pipelines/*.pipeline FILE=clip.mkv
              mediagraph check call.pipeline ROOM=demo
              mediagraph check 'videotestsrc ! preprocessor handler=invert ! fakesink'

            EXIT STATUS
              0    no errors (there may be warnings)
              2    a description is wrong; or a description or a --load library is missing
                   or can't be used
              64   the command line is wrong
            """)

    @Argument(
        help: ArgumentHelp(
            "Descriptions or their files, and values for their variables.", valueName: "file|description|NAME=value"),
        completion: .file(extensions: ["pipeline"]))
    var words: [String] = []

    @OptionGroup var libraries: HandlerLibraryOptions

    @Flag(help: "Print JSON, one line per description.")
    var json = false

    func validate() throws { _ = try inputs() }

    func run() throws {
        // The parser asks the nodes which pads are named after users.
        try Nodes.register()
        try libraries.load(DiagnosticReport(printsJSON: json))
        var check = DescriptionsCheck(words: CommandWords(words), printsJSON: json)
        for input in try inputs() { check.check(input) }
        check.finish()
        if check.hasFailed { throw ExitStatus.wrongInput.exitCode }
    }
}

extension CheckCommand {
    private func inputs() throws -> [DescriptionInput] {
        do { return try DescriptionInput.several(CommandWords(words).rest) } catch { throw ValidationError("\(error)") }
    }
}

/// Checks the descriptions of one `check` command and prints the results.
private struct DescriptionsCheck {
    let words: CommandWords
    let printsJSON: Bool
    private(set) var hasFailed = false
    private let report = DiagnosticReport()
    private var found: [Diagnostic] = []
    private var checked: [Description] = []

    init(words: CommandWords, printsJSON: Bool) {
        self.words = words
        self.printsJSON = printsJSON
    }

    private struct Record: Encodable {
        var file: String
        var ok: Bool
        var elements: Int
        var diagnostics: [DiagnosticRecord]
        /// Why the description can't be checked.
        var error: String?
    }

    mutating func check(_ input: DescriptionInput) {
        let description: ResolvedDescription
        let diagnostics: [Diagnostic]
        do {
            description = try input.load().resolved(with: words.variables)
            diagnostics =
                try TimeLimit.wait { try Graph.diagnose(description) }
                + StandardInputReaders(description).diagnostics
        } catch {
            hasFailed = true
            if printsJSON {
                JSONLine.print(
                    Record(file: input.label, ok: false, elements: 0, diagnostics: [], error: "\(error)"))
            } else {
                report.error("\(error)")
            }
            return
        }
        checked.append(description.description)
        found += diagnostics
        let isFine = diagnostics.allSatisfy { $0.severity != .error }
        if !isFine { hasFailed = true }
        let isWhole = (try? description.text) != nil
        let elements = isWhole ? description.outline.elements.count : 0
        if printsJSON {
            JSONLine.print(
                Record(
                    file: input.label, ok: isFine, elements: elements,
                    diagnostics: diagnostics.map(DiagnosticRecord.init)))
            return
        }
        report.print(diagnostics)
        if isFine {
            StandardStreams.write(
                "\(input.label): fine, \(elements) element\(elements == 1 ? "" : "s")\n", to: .standardOutput)
        }
    }

    func finish() {
        for text in DiagnosticReport.variableWarnings(words, of: checked) { report.warning(text) }
        if !printsJSON { report.printCount(found) }
    }
}
