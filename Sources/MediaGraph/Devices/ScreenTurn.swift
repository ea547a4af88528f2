import GStreamer

/// Connecting to an X server, one element at a time.
///
/// Xlib has one error handler for the whole process. `ximagesrc` puts its own in while it tries shared memory, and then back what
/// it found: of two at a time one would find the other's, and nobody hear any more that a window is closed.
enum ScreenTurn {
    private static let isTaken = BlockingMonitor(false)
    /// Microseconds. Who hangs with his turn isn't waited for: he won't get that far.
    private static let patience: Int64 = 300_000

    static func take<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let isMine = isTaken.wait(timeout: patience) { isTaken -> Bool? in
            guard !isTaken else { return nil }
            isTaken = true
            return true
        }
        defer { if isMine == true { isTaken.withLock { $0 = false } } }
        return try body()
    }
}
