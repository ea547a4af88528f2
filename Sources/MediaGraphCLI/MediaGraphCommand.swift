import ArgumentParser
import GStreamer
import Glibc
import MediaGraph

/// The entry point of the program: `mediagraph SUBCOMMAND …`.
@main
struct MediaGraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediagraph",
        abstract: "Run media graphs written as text: cameras, codecs, files, and raw frames for your own code.",
        discussion: """
            A description has the syntax of gst-launch-1.0, plus comments, line breaks and variables:

              # A camera whose raw frames go to a handler
              ${CAMERA:-videotestsrc} ! videoconvert ! rawdatapipe handler=count

            To begin, try:
              mediagraph inspect
              mediagraph run videosource handler=counter ! fakesink --duration 5
            """,
        version: "mediagraph \(MediaGraphVersion.current) (GStreamer \(GStreamerRuntime.version))",
        subcommands: [
            RunCommand.self, CheckCommand.self, InspectCommand.self, GraphCommand.self, DevicesCommand.self,
            DoctorCommand.self,
        ])

    static func main() async {
        StandardStreams.openMissing()
        // Without a handler, Ctrl-\ would make Swift print a crash report and prompt. `run` installs its own handler.
        signal(SIGQUIT) { _ in _exit(ExitStatus.stopped(signal: SIGQUIT).number) }
        do {
            try checkSubcommand(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot(keepingPastedOptions(CommandLine.arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            end(with: error)
        }
        StandardStreams.exitIfOutputIsLost()
        exitIfCallsAreRunning(0)
    }

    /// Prints an error or help text and exits. Unlike argument-parser's `exit(withError:)`, fails if help can't be
    /// written.
    private static func end(with error: any Error) -> Never {
        let code = exitCode(for: error)
        var text = fullMessage(for: error)
        // All other messages of the program begin with a lower-case "error:".
        if text.hasPrefix("Error: ") { text = "e" + text.dropFirst() }
        text = LaunchOptions.explained(text)
        if !text.isEmpty {
            StandardStreams.write(text + "\n", to: code.isSuccess ? .standardOutput : .standardError)
        }
        StandardStreams.exitIfOutputIsLost()
        exitIfCallsAreRunning(code.rawValue)
        exit(withError: code)
    }

    /// Inserts `--` before an unquoted `gst-launch-1.0 -e …` command, whose options are part of the description's text.
    private static func keepingPastedOptions(_ words: ArraySlice<String>) -> [String] {
        guard let program = words.firstIndex(where: { ShellCommand.isProgram($0[...]) }),
            !words[..<program].contains("--")
        else { return Array(words) }
        return words[..<program] + ["--"] + words[program...]
    }

    /// Exits at once if calls to a hanging server or driver are still running: destructors must not run under them.
    private static func exitIfCallsAreRunning(_ status: Int32) {
        guard DeviceCalls.areRunning else { return }
        fflush(nil)
        _exit(status)
    }

    /// Reports a mistyped subcommand or option with a hint. argument-parser would report an unexpected argument.
    private static func checkSubcommand(_ words: ArraySlice<String>) throws {
        let known = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        let asked = words.first == "help" ? words.dropFirst() : words
        guard let word = asked.first, !known.contains(word) else { return }
        if word.hasPrefix("-") {
            let flags = ["--help", "--version"]
            guard !flags.contains(word), let near = NearestName.find(word, among: flags) else { return }
            throw ValidationError("there is no option \"\(word)\"; did you mean \"\(near)\"?")
        }
        throw ValidationError("there is no command \"\(word)\"; \(subcommandHint(word, known))")
    }

    private static func subcommandHint(_ word: String, _ known: [String]) -> String {
        if let near = NearestName.find(word, among: known) { return "did you mean \"\(near)\"?" }
        if DescriptionInput.fileExists(word) || DescriptionInput.looksLikeFile(word) {
            return "to run the description, write mediagraph run \(word)"
        }
        let isElement =
            word.contains(" ! ") || Nodes.factoryNames.contains(word) || ElementFactoryInfo.find(word) != nil
        return isElement
            ? "to run a description, write mediagraph run before it"
            : "the commands are \(known.joined(separator: ", "))"
    }
}

/// The version of the program, as `--version` and the JSON lines of `run` report it.
enum MediaGraphVersion {
    static let current = "0.1.0"
}
