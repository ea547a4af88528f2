import GStreamer
import MediaGraphCore
import X11

/// Connecting to an X server, and leaving it: one at a time.
///
/// X's extensions keep lists of the process's connections, and several that come and go at the same time break the heap (libXext
/// 1.3.4). And Xlib has one error handler for the whole process: `ximagesrc` puts its own in while it tries shared memory, and then
/// back what it found; of two at a time one would find the other's, and nobody hear any more that a window is closed.
package enum ScreenTurn {
    /// The number of the thread whose turn it is.
    private static let holder = BlockingMonitor<UInt?>(nil)
    /// Microseconds.
    static let graphTimeLimit: Int64 = 2_000_000

    /// - Parameter timeLimit: microseconds to wait for the turn; then `body` runs without it. `nil` waits forever: only for
    ///   threads that can be abandoned, because a server that hangs may never end its turn.
    package static func take<Result, Failure: Error>(
        within timeLimit: Int64? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let thread = currentThread()
        let isMine = holder.wait(timeout: timeLimit) { holder -> Bool? in
            guard holder == nil else { return nil }
            holder = thread
            return true
        }
        defer { if isMine == true { holder.withLock { $0 = nil } } }
        return try body()
    }

    /// Call it when this thread's X server is gone. If the thread is connecting, this never returns, because Xlib would go on
    /// with a reply that it hasn't received and corrupt memory: it ends the thread's turn and abandons its `DeviceCall`.
    static func serverHasGone() {
        let thread = currentThread()
        guard holder.withLock({ $0 == thread }), DeviceCalls.isOnCallThread else { return }
        // `ximagesrc` may have put its own in, and won't come to put this one back.
        XConnections.hearErrors()
        holder.withLock { $0 = nil }
        DeviceCalls.abandonCurrentCall()
    }
}
