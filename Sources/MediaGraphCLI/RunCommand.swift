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
              mediagraph run videosource handler=counter ! rawdatapipe --frames 9
              mediagraph run 'videotestsrc ! rawdatapipe' --duration 1m30s --json
              mediagraph run --load ./libmine.so mine.pipeline
              echo 'set blur.handler=grayscale' | mediagraph run call.pipeline --control -

            CONTROL
              --control reads commands while the graph runs, one a line, from standard
              input, a file or a FIFO:
              set NODE.PROPERTY=VALUE   changes a property, as a description writes it
              get NODE.PROPERTY         says what it is
              help                      says this
              A preprocessor's handler and options may be set too; another handler takes
              over between two frames, without options. What is refused changes nothing.

            JSON LINES
              Each line of --json is an object with "event":
              start       version, title, nodes
              progress    time, position, duration (seconds), nodes
              status      node, on: a pipe's sender started or stopped
              control     command, node, property, value or error: the answer to a line
              warning     element, factory, message, detail
              error       element, factory, message, detail, formatConflict
              diagnostic  severity, message, file, line, column, length, hint
              finishing   reason: streams are asked to end
              end         reason, exitStatus, time, frames, dropped, nodes,
                          latencyMilliseconds {p50, p99}

              A node has name and element, and from the first progress on unit
              (frames or buffers), frames, framesPerSecond, dropped, refused,
              handlerMilliseconds a frame and latencyMilliseconds. A reason is end-of-stream, duration,
              interrupted, terminated, reader-gone, error or forced. What isn't
              known is left out.

            EXIT STATUS
              0    the streams came to their end
              1    an element failed
              2    the description is wrong
              64   the command line is wrong
              130  it was stopped before its streams had ended
            """)

    @Argument(
        help: ArgumentHelp(
            "A file or a description, and values of variables.", valueName: "file|description|NAME=value"),
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

    @Option(
        help: ArgumentHelp(
            "Read commands while it runs from this file or FIFO, or from standard input (-).", valueName: "file"),
        completion: .file())
    var control: String?

    @Flag(help: "Print JSON lines on standard output instead of the table.")
    var json = false

    @Flag(name: [.short, .long], help: "Print warnings and errors only.")
    var quiet = false

    func validate() throws {
        if try input() == .standardInput, control == "-" {
            throw ValidationError("standard input is the description already; give --control a file or a FIFO")
        }
        if json, quiet { throw ValidationError("--json and --quiet exclude each other") }
        if frames == 0 { throw ValidationError("--frames needs at least one frame") }
    }

    func run() async throws {
        try libraries.load()
        let description = try input().loadOrExit()
        let channel = try openControl()
        let graph = try makeGraph(description, CommandWords(words).variables)
        do throws(GraphError) {
            if let frames { try graph.endAfter(frames: frames) }
        } catch {
            DiagnosticReport().error("\(error)")
            throw ExitStatus.wrongDescription.exitCode
        }
        let run = GraphRun(
            graph: graph, title: RunTitle.text(description), reporter: reporter, duration: duration?.seconds,
            control: channel)
        let status = await run.run()
        if status != .success { throw status.exitCode }
    }

    private func openControl() throws -> ControlChannel? {
        do { return try control.map { path throws(ControlError) in try ControlChannel(path) } } catch {
            DiagnosticReport().error("--control \(error)")
            throw ExitStatus.failure.exitCode
        }
    }

    private func input() throws -> DescriptionInput { try .single(validating: words) }

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
                for diagnostic in diagnostics {
                    JSONLine.print(DiagnosticEvent(diagnostic: DiagnosticRecord(diagnostic)))
                }
            } else {
                report.print(diagnostics)
            }
        }
        do {
            let found = try Graph.diagnose(description, variables: variables, isMadeNext: true)
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
