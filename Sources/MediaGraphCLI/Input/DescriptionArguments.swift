import ArgumentParser
import Foundation
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

    /// Loads them all; whatever is wrong with one ends the program.
    func load(_ report: DiagnosticReport = DiagnosticReport()) throws {
        do {
            try HandlerRegistry.shared.loadFromEnvironment()
            for library in libraries { try HandlerRegistry.shared.load(Self.path(library)) }
        } catch {
            report.error("\(error)")
            throw ExitStatus.wrongInput.exitCode
        }
    }

    /// The loader looks for a name without "/" in the system's folders only; whoever types one means the file that is here.
    private static func path(_ library: String) -> String {
        let isHere = !library.contains("/") && FileManager.default.fileExists(atPath: library)
        return isHere ? "./\(library)" : library
    }
}

/// How descriptions are given, for the help of the commands that read them.
enum DescriptionHelp {
    /// The exit status of a run that can't even begin, in the help's columns.
    static let wrongInput = """
        2    the description is wrong; or it, a --load library or a --control file
               isn't there or can't be used
        """

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
