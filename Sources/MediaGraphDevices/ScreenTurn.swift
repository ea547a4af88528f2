import GStreamer
import MediaGraphCore
import X11

/// Serializes connecting to and disconnecting from X servers.
///
/// The X extension libraries keep lists of the process's connections, and concurrent connects and disconnects corrupt
/// the heap (libXext 1.3.4). Besides, Xlib has one error handler for the whole process. `ximagesrc` installs its own
/// while it tries shared memory, and then restores the handler that it found. If two did that at the same time, one
/// would restore the other's, and closed windows would no longer be noticed.
package enum ScreenTurn {
    /// The number of the thread whose turn it is.
    private static let holder = BlockingMonitor<UInt?>(nil)
    /// How long a graph waits for its turn.
    static let graphTimeLimit = Duration.seconds(2)

    /// Waits for the turn and runs `body`.
    ///
    /// - Parameter timeLimit: The time to wait for the turn; after that, `body` runs without it. `nil`
    ///   waits forever, which only threads that can be abandoned may do, because a turn may never end if the server
    ///   hangs.
    package static func take<Result, Failure: Error>(
        within timeLimit: Duration? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let thread = currentThreadID()
        let isMine = holder.wait(timeout: timeLimit) { holder -> Bool? in
            guard holder == nil else { return nil }
            holder = thread
            return true
        }
        defer { if isMine == true { holder.withLock { $0 = nil } } }
        return try body()
    }

    /// Call it when the X server of this thread's connection has ended. If the thread is connecting in a `DeviceCall`,
    /// this ends its turn, abandons the call and never returns: Xlib would otherwise continue with a reply that it
    /// hasn't received, and corrupt memory.
    static func serverHasGone() {
        let thread = currentThreadID()
        guard holder.withLock({ $0 == thread }), DeviceCalls.isOnCallThread else { return }
        // `ximagesrc` may have installed its own error handler, and can't restore this one any more.
        XConnections.installErrorHandler()
        holder.withLock { $0 = nil }
        DeviceCalls.abandonCurrentCall()
    }
}
