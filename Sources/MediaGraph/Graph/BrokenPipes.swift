import Glibc

extension Graph {
    /// Makes a pipe whose reader has gone an element's error: SIGPIPE would end the process, and cut its other files off.
    /// GIO does the same for its sockets. A handler that the program has set stays.
    static let ignoresBrokenPipes: Void = {
        var action = sigaction()
        guard sigaction(SIGPIPE, nil, &action) == 0,
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
        else { return }
        signal(SIGPIPE, SIG_IGN)
    }()
}
