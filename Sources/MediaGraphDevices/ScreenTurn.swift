import GStreamer
import MediaGraphCore
import X11

/// Serializes connecting to and disconnecting from X servers with libX11.
///
/// The X extension libraries keep lists of the process's connections, and concurrent connects and disconnects corrupt
/// the heap (libXext 1.3.4). Besides, Xlib has one error handler for the whole process. `ximagesrc` installs its own
/// while it tries shared memory, and then restores the handler that it found. If two did that at the same time, one
/// would restore the other's, and closed windows would no longer be noticed.
package enum ScreenTurn {
    /// Whether it is a thread's turn.
    private static let isTaken = BlockingMonitor(false)
    /// How long a graph waits for its turn.
    package static let graphTimeLimit = Duration.seconds(2)

    /// Waits for the turn and runs `body`.
    ///
    /// - Parameter timeLimit: The time to wait for the turn; after that, `body` runs without it. `nil`
    ///   waits forever, which only threads that can be abandoned may do, because a turn may never end if the server
    ///   hangs.
    static func take<Result, Failure: Error>(
        within timeLimit: Duration? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let isMine = isTaken.wait(timeout: timeLimit) { isTaken -> Bool? in
            guard !isTaken else { return nil }
            isTaken = true
            return true
        }
        defer { if isMine == true { isTaken.withLock { $0 = false } } }
        return try body()
    }

    /// The factories of elements that connect to an X server, and of those that make such elements later.
    private static let factories = Set(
        [ScreenCapture.factory, "autovideosink", "playbin", "playbin3", "playsink"] + ScreenCaptures.windowSinks)

    /// Runs `body`, which creates elements of these factories. If they may connect to an X server, which they do as soon
    /// as they are linked, the handlers for its loss are installed, and `body` waits for its turn.
    ///
    /// So no element of a graph or a check tries shared memory while the handlers are installed for the first time. An
    /// element that the program makes itself, without a `Graph`, may do so. Xlib offers no lock for its handlers; in
    /// this case the element restores Xlib's handler, and the next call here installs ours again.
    package static func make<Result, Failure: Error>(
        _ factories: Set<String>, within timeLimit: Duration? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard !factories.isDisjoint(with: Self.factories) else { return try body() }
        return try take(within: timeLimit) { () throws(Failure) in
            XConnections.installHandlers()
            return try body()
        }
    }
}
