import ArgumentParser
import MediaGraph

/// What every command that reads descriptions takes.
struct HandlerLibraryOptions: ParsableArguments {
    @Option(
        name: .customLong("load"),
        help: ArgumentHelp(
            "Load a library of handlers; may be given several times. Those in MEDIAGRAPH_HANDLERS (separated by colons) are loaded first.",
            valueName: "library"),
        completion: .file(extensions: ["so"]))
    var libraries: [String] = []

    /// Loads them all; whatever is wrong with one ends the program with exit status 1.
    func load(_ report: DiagnosticReport = DiagnosticReport()) throws {
        do {
            try HandlerRegistry.shared.loadFromEnvironment()
            for library in libraries { try HandlerRegistry.shared.load(library) }
        } catch {
            report.error("\(error)")
            throw ExitStatus.failure.exitCode
        }
    }
}

/// How descriptions are given, for the help of the commands that read them.
enum DescriptionHelp {
    static let words = """
        The description is a file, "-" for standard input, or the text itself, quoted or word by word as for \
        gst-launch-1.0. A word is a file when there is one of that name, when it ends in .pipeline, or when it has a \
        "/" or a "." and neither spaces nor "=" nor "!".

        NAME=value, in capital letters, is the value of a ${NAME} in the description.
        """
}

extension DescriptionInput {
    /// The one input that a command's words name, or a wrong command line.
    static func single(validating words: [String]) throws -> DescriptionInput {
        do { return try single(CommandWords(words).rest) } catch { throw ValidationError("\(error)") }
    }
}
