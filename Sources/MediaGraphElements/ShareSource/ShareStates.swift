import GStreamer
import MediaGraphCore

/// Brings a share's streams to the states where they belong: the node's own, but no further than PAUSED while the share is
/// paused.
///
/// One thread at a time moves them. A pause that comes meanwhile is left to that thread, so a source may pause its own share
/// from any of its callbacks, and no lock is held while these run.
final class ShareStates: Sendable {
    private struct Position: Sendable {
        /// The node's own state.
        var node = State.null
        var isPaused = false
        /// Where the streams are, or are being brought.
        var reached = State.null
        /// The thread that brings them there.
        var mover: UInt?

        var goal: State { isPaused ? min(node, .paused) : node }
    }

    private let streams: [ShareStream]
    private let position = BlockingMonitor(Position())

    init(_ streams: [ShareStream]) { self.streams = streams }

    /// The node is going to a state, and the streams with it. False when one can't.
    func follow(_ state: State) -> Bool {
        let isMine = begin()
        position.withLock { $0.node = state }
        return isMine ? move() : true
    }

    /// Whether the share is to be paused; asked under the lock, so that of two who change it the last one's wish holds. Any
    /// thread.
    func pause(_ isPaused: () -> Bool) {
        let isMine = position.withLock { position in
            position.isPaused = isPaused()
            guard position.mover == nil else { return false }
            position.mover = currentThread()
            return true
        }
        if isMine { _ = move() }
    }

    /// Runs `body` with the stream in NULL, and brings it back to where the others are.
    func whileIdle(_ stream: ShareStream, _ body: () throws(MediaGraphError) -> Void) throws(MediaGraphError) {
        guard begin() else {
            throw .wrongUsage(
                .init("a share's source", expected: "to be set outside of its own callbacks", actual: "from inside one")
            )
        }
        let reached = position.withLock { $0.reached }
        _ = stream.go(to: .null)
        defer {
            _ = stream.go(to: reached)
            _ = move()
        }
        try body()
    }

    /// Waits until nobody moves them. False on the thread that does.
    private func begin() -> Bool {
        let thread = currentThread()
        return position.wait { position -> Bool? in
            guard position.mover != thread else { return false }
            guard position.mover == nil else { return nil }
            position.mover = thread
            return true
        }!
    }

    /// On the mover's thread, which is none behind it.
    private func move() -> Bool {
        var succeeded = true
        while let goal = next() {
            for stream in streams where !stream.go(to: goal) { succeeded = false }
        }
        return succeeded
    }

    private func next() -> State? {
        position.withLock { position in
            guard position.goal != position.reached else {
                position.mover = nil
                return nil
            }
            position.reached = position.goal
            return position.goal
        }
    }
}
