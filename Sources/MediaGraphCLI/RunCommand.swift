import ArgumentParser
import Foundation
import MediaGraph

/// `mediagraph run`: runs a description.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a description until it ends.",
        discussion: """
            \(DescriptionHelp.words)

            On a terminal a table follows the run; elsewhere a line a second does. Both go to standard error, so that a \
            handler may write to standard output. Ctrl-C (or SIGTERM) ends the streams, so that files are complete, and \
            stops after \(GraphRun.finishLimit.components.seconds) s if they haven't ended; a second Ctrl-C stops at once. \
            GST_DEBUG_DUMP_DOT_DIR gets mediagraph.playing.dot and mediagraph.error.dot.

            EXAMPLES
              mediagraph run Pipelines/privacy-camera.pipeline CAMERA=/dev/video0
              mediagraph run 'videosource handler=counter ! rawdatapipe handler=count' --duration 1m30s
              mediagraph run videotestsrc ! videoconvert ! rawdatapipe name=frames --frames 100 --json
              mediagraph run --load ./libvignette.so 'videotestsrc ! preprocessor handler=vignette ! autovideosink'

            JSON LINES
              Each line of --json is an object with "event":
              start      version, title, nodes [name, element]
              progress   time, position and duration where known (seconds); nodes [name, element, frames, \
            framesPerSecond, dropped, refused, handlerMilliseconds a frame, latencyMilliseconds]
              status     node, on: a pipe's sender started or stopped
              warning, error   element, factory, message, detail, formatConflict
              diagnostic severity, message, file, line, column, length, hint: what is wrong with the description
              finishing  reason: streams are asked to end
              end        reason (end-of-stream, duration, interrupted, terminated, reader-gone, error, forced), \
            exitStatus, time, frames, dropped, latencyMilliseconds {p50, p99}, nodes

            EXIT STATUS
              0 at the end of the streams, 1 when an element failed, 2 for a wrong description, 64 for a wrong command \
            line, 130 when it was stopped before its streams had ended.
            """)

    @Argument(
        help: ArgumentHelp("A file or a description, and values of variables.", valueName: "file|description|NAME=value"),
        completion: .file(extensions: ["pipeline"]))
    var words: [String] = []

    @OptionGroup var libraries: HandlerLibraryOptions

    @Option(help: ArgumentHelp("End the streams after so long: 10, 2.5, 1m30s, 500ms.", valueName: "time"))
    var duration: CommandDuration?

    @Option(
        help: ArgumentHelp(
            "End the streams after exactly so many frames at the first rawdatapipe, or else at the first sink.",
            valueName: "count"))
    var frames: UInt64?

    @Flag(help: "Print JSON lines on standard output instead of the table.")
    var json = false

    @Flag(name: [.short, .long], help: "Print warnings and errors only.")
    var quiet = false

    func validate() throws {
        if json, quiet { throw ValidationError("--json and --quiet exclude each other") }
        if frames == 0 { throw ValidationError("--frames needs at least one frame") }
    }

    func run() async throws {
        let words = CommandWords(words)
        let input: DescriptionInput
        do { input = try DescriptionInput.single(words.rest) } catch { throw ValidationError("\(error)") }
        try libraries.load()
        let description = try input.loadOrExit()
        let graph = try makeGraph(description, words.variables)
        do throws(GraphError) {
            if let frames { try graph.endAfter(frames: frames) }
        } catch {
            DiagnosticReport().error("\(error)")
            throw ExitStatus.wrongDescription.exitCode
        }
        let run = GraphRun(
            graph: graph, title: RunTitle.text(description), reporter: reporter, duration: duration?.seconds)
        let status = await run.run()
        if status != .success { throw status.exitCode }
    }

    private var reporter: any RunReporter {
        if json { return JSONReporter() }
        if quiet { return QuietReporter() }
        return Terminal.isCapable(.standardError) ? LiveReporter() : LineReporter()
    }

    private struct DiagnosticEvent: Encodable {
        var event = "diagnostic"
        var diagnostic: DiagnosticRecord

        func encode(to encoder: any Encoder) throws {
            try diagnostic.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(event, forKey: .event)
        }

        private enum Key: CodingKey { case event }
    }

    /// The graph, or the program's end with all that is wrong with the description.
    private func makeGraph(_ description: Description, _ variables: [String: String]) throws -> Graph {
        let report = DiagnosticReport()
        func show(_ diagnostics: [Diagnostic]) {
            if json {
                for diagnostic in diagnostics { JSONLine.print(DiagnosticEvent(diagnostic: DiagnosticRecord(diagnostic))) }
            } else {
                report.print(diagnostics)
            }
        }
        do {
            let found = try Graph.diagnose(description, variables: variables)
            let hasErrors = found.contains { $0.severity == .error }
            show(found)
            for text in DiagnosticReport.unusedVariables(variables, of: [description]) { report.warning(text) }
            if hasErrors {
                if !json { report.printCount(found) }
                throw ExitStatus.wrongDescription.exitCode
            }
            return try Graph(description, variables: variables)
        } catch let error as GraphError {
            if case .description(let error) = error { show(error.diagnostics) } else { report.error("\(error)") }
            throw ExitStatus.wrongDescription.exitCode
        }
    }
}
