import ArgumentParser
import Foundation
import MediaGraph

/// The option to load handler libraries, shared by all commands that read descriptions.
struct HandlerLibraryOptions: ParsableArguments {
    @Option(
        name: .customLong("load"),
        help: ArgumentHelp(
            """
            Load a library of handlers; can be given several times. The libraries in MEDIAGRAPH_HANDLERS (separated by \
            colons) are loaded first.
            """,
            valueName: "library"),
        completion: .file(extensions: ["so"]))
    var libraries: [String] = []

    /// Loads all libraries. Reports the first error and throws an exit code.
    func load(_ report: DiagnosticReport = DiagnosticReport()) throws {
        do {
            try HandlerRegistry.shared.loadFromEnvironment()
            for library in libraries { try HandlerRegistry.shared.load(Self.path(library)) }
        } catch {
            try report.fail("\(error)", with: .wrongInput)
        }
    }

    /// Prefixes "./" to the name of a file in the current folder: `dlopen` looks for a name without "/" only in the
    /// system's folders.
    private static func path(_ library: String) -> String {
        let isHere = !library.contains("/") && FileManager.default.fileExists(atPath: library)
        return isHere ? "./\(library)" : library
    }
}

/// Parts of the help that several commands have in common.
enum DescriptionHelp {
    /// The exit status for input that can't be used.
    static let wrongInput = """
        2    the description is wrong; or the description, a --load library or a
               --control file is missing or can't be used
        """

    /// How to give a description and the values of its variables.
    static let words = """
        Give the description as a file, as "-" for standard input, or as text: either quoted, or word by word as for \
        gst-launch-1.0. An argument is taken for a file if a file has that name, if it ends in .pipeline, or if it \
        contains "/" or "." but no spaces, "=" or "!".

        NAME=value, with NAME in capital letters, sets the value of ${NAME} in the description.
        """
}

extension DescriptionInput {
    /// Returns the one input that a command's arguments name. Throws a `ValidationError` for a wrong command line.
    static func single(validating words: [String]) throws -> DescriptionInput {
        do { return try single(CommandWords(words).rest) } catch { throw ValidationError("\(error)") }
    }
}
