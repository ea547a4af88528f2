import ArgumentParser

/// The program's exit status. For a wrong command line, argument-parser exits with 64 (`EX_USAGE`).
enum ExitStatus: Sendable, Equatable {
    /// The streams ended, or the descriptions are correct.
    case success
    /// An element failed, the streams didn't end in time, or a file couldn't be written.
    case failure
    /// The description is wrong, or a file, library or element named on the command line is missing.
    case wrongInput
    /// The streams ended, but the input lacked a stream that a branch needed, or a file received no data.
    case missingStream
    /// The run was stopped by a signal before the streams had ended. As in shells, the status is 128 plus the signal's
    /// number. SIGPIPE stands for a reader of standard output that went away.
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
