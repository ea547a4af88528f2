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

            On a terminal, a table shows the progress; otherwise one line is printed per second. Both go to standard \
            error, so handlers may write to standard output, except with --json.

            Ctrl-C, SIGTERM or SIGHUP ends the streams, so that files are complete. If the streams haven't ended after \
            \(GraphRun.finishLimit.components.seconds) s, or if the graph is still starting after \
            \(GraphRun.startLimit.components.seconds) s, the graph is stopped; elements that don't stop within another \
            \(GraphRun.stopLimit.components.seconds) s are reported and abandoned. A second signal (at least 0.3 s \
            after the first), or SIGQUIT (Ctrl-\\), stops at once.

            If GST_DEBUG_DUMP_DOT_DIR is set, drawings of the graph are written to that folder: \
            mediagraph.playing.dot, and mediagraph.error.dot after an error.

            EXAMPLES
              mediagraph run Pipelines/privacy-camera.pipeline CAMERA=videotestsrc
              mediagraph run videotestsrc ! rawdatapipe handler=framemd5 --frames 9
              mediagraph run 'videotestsrc ! fakesink' --duration 1m30s --json
              mediagraph run --load ./libmine.so mine.pipeline
              echo 'set blur.handler=grayscale' | mediagraph run call.pipeline --control -

            CONTROL
              --control reads commands while the graph runs, one per line, from a file, a
              FIFO or standard input (-). On a terminal, - shows a prompt. The commands:
              set NODE.PROPERTY=VALUE   sets a property, with a value as in a description:
                                        set call.mic-muted=true mutes a session's microphone
              get NODE.PROPERTY         shows the value of a property
              send NODE.USER TEXT       sends a command to another user in a session's room
              send NODE TEXT            sends a command to all other users there
              help                      shows this list
              quit                      ends the streams, then the run, like Ctrl-C
              The handler and options of a preprocessor can be set too. A new handler
              takes over between two frames, with its default options. A command that is
              refused changes nothing.

            JSON LINES
              With --json, each line is an object. Its "event" tells the other fields:
            \(JSONEvent.help)

              nodes is a list with name and element of each node. From the first
              progress event on, each also has unit (frames or buffers), frames,
              framesPerSecond, dropped, refused, handlerMilliseconds (per frame) and
              latencyMilliseconds (of the last frame; p50 and p99 are percentiles of
              values sampled ten times a second). Audio nodes may have lateSamples (too
              late for a live mix), skippedMilliseconds (discarded because the device's
              clock ran ahead) and silenceMilliseconds (inserted where no sound came).
              The reason of finishing and end is one of:
              \(StopReason.help).
              Fields without a value are left out.

            EXIT STATUS
              0    the streams ended
              1    an element failed, the streams didn't end after --duration, or
                   standard output can't be written
              \(DescriptionHelp.wrongInput)
              3    all streams ended, but the input lacked a stream that a branch
                   needed, a filesink received no data, or a udpsink had no receiver
              64   the command line is wrong
              128+n  stopped by signal n before the streams had ended: 130 for
                   Ctrl-C, 143 for SIGTERM, 129 for SIGHUP, 131 for SIGQUIT; 141 if
                   the reader of an element's standard output went away (if the
                   reader of --json goes away, the streams are ended: 0)
            """)

    @Argument(
        help: ArgumentHelp(
            "A description or its file, and values for its variables.", valueName: "file|description|NAME=value"),
        completion: .file(extensions: ["pipeline"]))
    var words: [String] = []

    @OptionGroup var libraries: HandlerLibraryOptions

    // Unconditional, so that "-1" is reported as a wrong time, not as an unknown option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            End the streams after this much real time: 10, 2.5, 1m30s, 500ms. Data in flight is still delivered. \
            Files that aren't synchronized to a clock are read faster than real time; use --to to stop at a position \
            in the file.
            """,
            valueName: "time"),
        transform: { try CommandDuration(parsing: $0) })
    var duration: CommandDuration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Play files from this position: 10, 2.5, 1m30s, 1:30. Streams that aren't decoded start at the preceding \
            key frame (in FLV and fragmented MP4, at the next one). In MPEG-TS and MPEG-PS the position is approximate.
            """,
            valueName: "time"),
        transform: { try CommandDuration(parsing: $0, mayBeZero: true) })
    var from: CommandDuration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Play files up to this position.", valueName: "time"),
        transform: { try CommandDuration(parsing: $0) })
    var to: CommandDuration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            End the streams after exactly this many frames at the first rawdatapipe or, without one, at the first \
            sink (counted before its encoder). A muxer omits data that begins after the last frame; other branches \
            end with the data that they have received.
            """,
            valueName: "count"),
        transform: { try FrameCount(parsing: $0) })
    var frames: FrameCount?

    @Option(
        help: ArgumentHelp(
            """
            Read commands, one per line, from this file or FIFO while the graph runs. - is standard input, with a \
            prompt on a terminal.
            """,
            valueName: "file"),
        completion: .file())
    var control: String?

    @Flag(
        name: [.short, .long],
        help: "Print the messages that elements post, such as those of level; --json always includes them.")
    var messages = false

    @Flag(help: "Print JSON lines on standard output instead of the table.")
    var json = false

    @Flag(name: [.short, .long], help: "Print warnings and errors only.")
    var quiet = false

    func validate() throws {
        if try input() == .standardInput, control == "-" {
            throw ValidationError("standard input is already the description; give --control a file or a FIFO")
        }
        if json, quiet { throw ValidationError("--json and --quiet can't be combined") }
        if let to, to.seconds <= from?.seconds ?? 0 { throw ValidationError("--to must be later than --from") }
    }

    func run() async throws {
        let report = self.report
        FileLimit.raise()
        try libraries.load(report)
        let (input, path, words) = (try input(), control, words)
        let description = try await runBlocking {
            // The parser asks the nodes which pads are named after users.
            try Nodes.register()
            return try input.loadOrExit(report).resolved(with: CommandWords(words).variables)
        }
        var channel = try await runBlocking { try Self.openControl(path, report) }
        let graph = try await makeGraph(description, report)
        do throws(GraphError) {
            if let frames { try graph.endAfter(frames: frames.number) }
            // --from 0 needs no seek, so it also works with sources that can't seek.
            let start = from.flatMap { $0.seconds > 0 ? $0.clockTime : nil }
            if start != nil || to != nil { try graph.setMediaRange(from: start, to: to?.clockTime) }
        } catch {
            try report.fail("\(error)", with: .wrongInput)
        }
        // Uses what GStreamer knows about the elements, so it must come after the graph has been created.
        let writers = StandardOutputWriters(description)
        let drawsInPlace = drawsInPlace(beside: writers)
        let prompt = drawsInPlace ? prompt : nil
        channel?.prompt = prompt
        let run = GraphRun(
            graph: graph, title: RunTitle.text(description.description), reporter: makeReporter(drawsInPlace, prompt),
            duration: duration?.seconds, control: channel, ownFiles: try ownFiles, outputWriters: writers.factories)
        let status = await run.run()
        if status != .success { throw status.exitCode }
    }

    private static func openControl(_ path: String?, _ report: DiagnosticReport) throws -> ControlChannel? {
        do { return try path.map { path throws(ControlError) in try ControlChannel(path) } } catch {
            try report.fail("--control \(error)", with: .wrongInput)
        }
    }

    private func input() throws -> DescriptionInput { try .single(validating: words) }

    /// The files that the command itself reads, which the graph mustn't overwrite.
    private var ownFiles: [FileUse] {
        get throws {
            var files = control.map { [FileUse(.reads, $0 == "-" ? "/dev/fd/0" : $0, by: "--control")] } ?? []
            if try input() == .standardInput { files.append(FileUse(.reads, "/dev/fd/0", by: "this command")) }
            return files
        }
    }

    private var report: DiagnosticReport {
        json ? DiagnosticReport(printsJSON: true, jsonStream: StandardStreams.reservedOutput) : DiagnosticReport()
    }

    private func makeReporter(_ drawsInPlace: Bool, _ prompt: Prompt?) -> any RunReporter {
        if json { return JSONReporter() }
        if quiet { return QuietReporter() }
        return drawsInPlace
            ? LiveReporter(showsMessages: messages, prompt: prompt) : LineReporter(showsMessages: messages)
    }

    /// The prompt at which a person types commands; `nil` if nobody can.
    private var prompt: Prompt? {
        control == "-" && !json && !quiet && isatty(STDIN_FILENO) == 1 ? Prompt() : nil
    }

    private func drawsInPlace(beside writers: StandardOutputWriters) -> Bool {
        // A table that is drawn in place can't share the terminal with frames or checksums.
        let isShared = isatty(STDOUT_FILENO) == 1 && !writers.diagnostics.isEmpty
        return Terminal.isCapable(.standardError) && !isShared
    }

    /// Returns the graph of a description. Prints everything that is wrong with the description, and throws an exit
    /// code if there are errors.
    private func makeGraph(
        _ description: ResolvedDescription, _ report: DiagnosticReport
    ) async throws -> Graph {
        do {
            let files = try ownFiles
            var found = try await runBlocking {
                try TimeLimit.wait { try Graph.diagnose(description, isMadeNext: true, besides: files) }
            }
            if json { found += StandardOutputWriters(description).diagnostics }
            let otherUse: String? =
                try input() == .standardInput
                ? "already contains the description" : control == "-" ? "is already read by --control" : nil
            found += StandardInputReaders(description, beside: otherUse).diagnostics
            let hasErrors = found.contains { $0.severity == .error }
            report.print(found)
            for text in DiagnosticReport.variableWarnings(CommandWords(words), of: [description.description]) {
                report.warning(text)
            }
            if hasErrors {
                report.printCount(found)
                throw ExitStatus.wrongInput.exitCode
            }
            return try await runBlocking { try TimeLimit.wait { try Graph(checked: description) } }
        } catch let error as MediaGraphError {
            try report.fail("\(error)", with: .failure)
        } catch let error as GraphError {
            guard case .description(let error) = error else { try report.fail("\(error)", with: .wrongInput) }
            report.print(error.diagnostics)
            throw ExitStatus.wrongInput.exitCode
        }
    }
}
