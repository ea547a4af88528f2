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
    static let graphsPatience: Int64 = 2_000_000

    /// - Parameter patience: microseconds after which it goes on without, for who can't be left behind; `nil` for any time, as
    ///   a server that hangs may hold its turn.
    package static func take<Result, Failure: Error>(
        within patience: Int64? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let thread = currentThread()
        let isMine = holder.wait(timeout: patience) { holder -> Bool? in
            guard holder == nil else { return nil }
            holder = thread
            return true
        }
        defer { if isMine == true { holder.withLock { $0 = nil } } }
        return try body()
    }

    /// The server of this thread's connection has gone. While it connects Xlib must not go on: it would take for an answer what it
    /// hasn't got, and write somewhere. So its call ends here, and its turn.
    static func serverHasGone() {
        let thread = currentThread()
        guard holder.withLock({ $0 == thread }), DeviceCalls.canForsakeCurrent else { return }
        // `ximagesrc` may have put its own in, and won't come to put this one back.
        XConnections.hearErrors()
        holder.withLock { $0 = nil }
        DeviceCalls.forsakeCurrent()
    }
}
