import Glibc

extension Graph {
    /// Ignores SIGPIPE, so that a write to a pipe whose reader has gone is an element's error. The signal would end the
    /// process and leave its other files incomplete. GIO ignores it too, for its sockets. A handler that the program
    /// has set is kept.
    static let ignoresBrokenPipes: Void = {
        var action = sigaction()
        guard sigaction(SIGPIPE, nil, &action) == 0,
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
        else { return }
        signal(SIGPIPE, SIG_IGN)
    }()
}
