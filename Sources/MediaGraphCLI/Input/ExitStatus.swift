import ArgumentParser

/// What the program's exit status says. A wrong command line is 64 (`EX_USAGE`), argument-parser's own.
enum ExitStatus: Sendable, Equatable {
    /// The graph came to its end, or the descriptions are fine.
    case success
    /// An element ended the graph with an error, its streams didn't end in time, or a file couldn't be written.
    case failure
    /// The description is wrong, or what the command line names (a file, a library, an element) isn't there.
    case wrongInput
    /// The graph came to its end, but the input lacked a stream that a branch waited for, or a file received no data.
    case missingStream
    /// It was stopped before its streams had ended by this signal, as shells count: 128 and the signal's number. SIGPIPE
    /// stands for a reader of standard output that went away.
    case stopped(signal: CInt)

    var number: Int32 {
        switch self {
        case .success: 0
        case .failure: 1
        case .wrongInput: 2
        case .missingStream: 3
        case .stopped(let signal): 128 + signal
        }
    }

    var exitCode: ExitCode { ExitCode(number) }
}
