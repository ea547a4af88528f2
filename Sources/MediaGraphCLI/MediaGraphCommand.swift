import ArgumentParser
import GStreamer
import Glibc
import MediaGraph

/// The program: `mediagraph SUBCOMMAND …`.
@main
struct MediaGraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediagraph",
        abstract: "Media graphs from text: cameras, codecs, files and raw frames for your own code.",
        discussion: """
            A description is what gst-launch-1.0 takes, and comments, line breaks and variables:

              # a camera, and what software sees of it
              ${CAMERA:-videotestsrc} ! videoconvert ! rawdatapipe handler=count

            Begin with
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
        // Ctrl-\ ends the program; Swift's own answer is a crash report with a prompt. `run` takes it over.
        signal(SIGQUIT) { _ in _exit(ExitStatus.stopped(signal: SIGQUIT).number) }
        do {
            try checkSubcommand(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot(keepingPastedOptions(CommandLine.arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            end(with: error)
        }
        StandardStreams.exitIfOutputIsLost()
        leaveCalls(0)
    }

    /// As argument-parser's own `exit(withError:)`, which doesn't see when help can't be written.
    private static func end(with error: any Error) -> Never {
        let code = exitCode(for: error)
        var text = fullMessage(for: error)
        // As everything else here says it.
        if text.hasPrefix("Error: ") { text = "e" + text.dropFirst() }
        text = LaunchOptions.explained(text)
        if !text.isEmpty {
            StandardStreams.write(text + "\n", to: code.isSuccess ? .standardOutput : .standardError)
        }
        StandardStreams.exitIfOutputIsLost()
        leaveCalls(code.rawValue)
        exit(withError: code)
    }

    /// A whole `gst-launch-1.0 -e …` that was pasted unquoted has options of its own, which are part of the text here.
    private static func keepingPastedOptions(_ words: ArraySlice<String>) -> [String] {
        guard let program = words.firstIndex(where: { ShellCommand.isProgram($0[...]) }),
            !words[..<program].contains("--")
        else { return Array(words) }
        return words[..<program] + ["--"] + words[program...]
    }

    /// What a server or a driver that hangs was asked is left behind, but not for destructors to meet.
    private static func leaveCalls(_ status: Int32) {
        guard DeviceCalls.areUnderWay else { return }
        fflush(nil)
        _exit(status)
    }

    /// To argument-parser a mistyped subcommand is just an argument too many.
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
            return "mediagraph run \(word) runs it"
        }
        let isElement =
            word.contains(" ! ") || Nodes.factoryNames.contains(word) || ElementFactoryInfo.find(word) != nil
        return isElement
            ? "to run a description, write mediagraph run before it" : "there are \(known.joined(separator: ", "))"
    }
}

enum MediaGraphVersion {
    static let current = "0.1.0"
}
