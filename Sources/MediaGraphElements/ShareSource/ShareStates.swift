import GStreamer
import MediaGraphCore

/// Changes the states of a share's streams. The streams follow the node's state, but no further than PAUSED while the
/// share is paused.
///
/// Only one thread at a time changes the states. If the share is paused or resumed meanwhile, that thread also makes
/// this change. So a source may pause its own share from any of its callbacks, and no lock is held while callbacks run.
final class ShareStates: Sendable {
    private struct Position: Sendable {
        /// The node's own state.
        var node = State.null
        var isPaused = false
        /// The streams' state, or the state that they are changing to.
        var reached = State.null
        /// The thread that is changing the streams' states.
        var mover: UInt?

        var goal: State { isPaused ? min(node, .paused) : node }
    }

    private let streams: [ShareStream]
    private let position = BlockingMonitor(Position())

    init(_ streams: [ShareStream]) { self.streams = streams }

    /// Brings the streams to the node's new state. Returns false if a stream's state change fails.
    func follow(_ state: State) -> Bool {
        let isMover = begin()
        position.withLock { $0.node = state }
        return isMover ? move() : true
    }

    /// Pauses or resumes the share. May be called on any thread. `isPaused` runs under the lock, so that of two
    /// concurrent changes the later one wins.
    func pause(_ isPaused: () -> Bool) {
        let isMover = position.withLock { position in
            position.isPaused = isPaused()
            guard position.mover == nil else { return false }
            position.mover = currentThreadID()
            return true
        }
        if isMover { _ = move() }
    }

    /// Runs `body` while the stream is in NULL, and then brings the stream back to the other streams' state. If that
    /// fails, runs `undo` in NULL and returns false.
    func whileIdle(
        _ stream: ShareStream, undo: () -> Void = {}, _ body: () throws(MediaGraphError) -> Void
    ) throws(MediaGraphError) -> Bool {
        guard begin() else {
            throw .wrongUsage(.init("a share's source", actual: "can't be changed from inside its own callbacks"))
        }
        let reached = position.withLock { $0.reached }
        _ = stream.changeState(to: .null)
        defer { _ = move() }
        do throws(MediaGraphError) { try body() } catch {
            _ = stream.changeState(to: reached)
            throw error
        }
        guard !stream.changeState(to: reached) else { return true }
        _ = stream.changeState(to: .null)
        undo()
        return false
    }

    /// Waits until no thread is changing the states, and makes the calling thread the one that does. Returns false at
    /// once if the calling thread is doing so already, inside a callback.
    private func begin() -> Bool {
        let thread = currentThreadID()
        return position.wait { position -> Bool? in
            guard position.mover != thread else { return false }
            guard position.mover == nil else { return nil }
            position.mover = thread
            return true
        }!
    }

    /// Changes the streams' states until they have reached the goal; afterwards no thread is the mover. Returns false
    /// if a state change failed.
    private func move() -> Bool {
        var succeeded = true
        while let goal = next() {
            for stream in streams where !stream.changeState(to: goal) { succeeded = false }
        }
        return succeeded
    }

    /// Returns the next state for the streams; `nil` if they have reached the goal.
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
