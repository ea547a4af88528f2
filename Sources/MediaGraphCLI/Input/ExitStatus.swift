import ArgumentParser

/// What the program's exit status says. A wrong command line is 64 (`EX_USAGE`), argument-parser's own.
enum ExitStatus: Int32, Sendable {
    /// The graph came to its end, or the descriptions are fine.
    case success = 0
    /// An element ended the graph with an error, or a file couldn't be written.
    case failure = 1
    /// The description is wrong, or there is none.
    case wrongDescription = 2
    /// It was stopped before its streams had ended: by a second Ctrl-C, or because they didn't end in time.
    case forced = 130

    var exitCode: ExitCode { ExitCode(rawValue) }
}
