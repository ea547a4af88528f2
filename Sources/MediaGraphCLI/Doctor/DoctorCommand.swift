import ArgumentParser
import Foundation
import GStreamer
import MediaGraph

/// `mediagraph doctor`: finds what this machine lacks, and suggests how to fix it.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find what this machine lacks for a description, and how to fix it.",
        discussion: """
            Checks plugins, devices, servers and permissions. With descriptions, checks what they need; the devices that \
            they name are opened for a moment. Without a description, checks the usual elements for cameras, sound, \
            screens, files and rooms.

            With --json, prints one object: "checkups", each with title and findings (problem, mend).

            EXAMPLES
              mediagraph doctor
              mediagraph doctor Pipelines/privacy-camera.pipeline CAMERA=v4l2src

            EXIT STATUS
              0    nothing is missing
              1    something is missing
              2    a description is missing or can't be used
              64   the command line is wrong
            """)

    @Argument(
        help: ArgumentHelp(
            "Descriptions or their files, and values for their variables.", valueName: "file|description|NAME=value"),
        completion: .file(extensions: ["pipeline"]))
    var words: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        var checkups: [Checkup]
    }

    func validate() throws { _ = try inputs() }

    func run() throws {
        try Nodes.register()
        let checkups = try inputs().map { try checkup($0) }
        let all = checkups.isEmpty ? Checkup.general() : checkups
        if json {
            JSONLine.print(Report(checkups: all))
        } else {
            let style = Style(for: .standardOutput)
            StandardStreams.write(all.map { Self.text($0, style) }.joined(), to: .standardOutput)
        }
        if all.contains(where: { !$0.findings.isEmpty }) { throw ExitStatus.failure.exitCode }
    }

    private func inputs() throws -> [DescriptionInput] {
        let rest = CommandWords(words).rest
        guard !rest.isEmpty else { return [] }
        do { return try DescriptionInput.several(rest) } catch { throw ValidationError("\(error)") }
    }

    private func checkup(_ input: DescriptionInput) throws -> Checkup {
        let variables = CommandWords(words).variables
        do {
            let description = try input.load()
            for text in DiagnosticReport.variableWarnings(CommandWords(words), of: [description]) {
                DiagnosticReport().warning(text)
            }
            return try Checkup.of(description, input.label, variables)
        } catch {
            try DiagnosticReport(printsJSON: json).fail("\(error)", with: .wrongInput)
        }
    }

    private static func text(_ checkup: Checkup, _ style: Style) -> String {
        let title = TextWidth.printable(checkup.title)
        guard !checkup.findings.isEmpty else { return "\(style.paint("ok", .good))    \(title)\n" }
        func fitted(_ text: String, behind indent: Int) -> String {
            TextWidth.fitted(TextWidth.printable(text), behind: indent, on: .standardOutput)
        }
        let lines = checkup.findings.map { finding in
            "      \(fitted(finding.problem, behind: 6))\n      → \(style.paint(fitted(finding.mend, behind: 8), .name))\n"
        }
        return "\(style.paint("fail", .warning))  \(title)\n" + lines.joined()
    }
}
