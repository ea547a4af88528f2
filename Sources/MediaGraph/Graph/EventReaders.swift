import Synchronization

/// Distributes events to any number of streams, each of which gets all events. Releasing this object ends the streams.
final class EventReaders<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<Event>.Continuation] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())
    private let bufferingPolicy: AsyncStream<Event>.Continuation.BufferingPolicy

    /// Creates a distributor whose streams hold unread events as the policy says: by default 256, then the oldest are
    /// dropped.
    init(bufferingPolicy: AsyncStream<Event>.Continuation.BufferingPolicy = .bufferingNewest(256)) {
        self.bufferingPolicy = bufferingPolicy
    }

    /// Makes a stream of the events from now on.
    func makeStream() -> AsyncStream<Event> {
        AsyncStream(bufferingPolicy: bufferingPolicy) { continuation in
            let id = state.withLock { state in
                state.lastID += 1
                state.continuations[state.lastID] = continuation
                return state.lastID
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.continuations.removeValue(forKey: id) }
            }
        }
    }

    func yield(_ event: Event) {
        for reader in state.withLock({ $0.continuations.values }) { reader.yield(event) }
    }

    /// Ends all current streams. Streams made later get the events after that.
    func finish() {
        let readers = state.withLock { state in
            defer { state.continuations = [:] }
            return state.continuations.values
        }
        for reader in readers { reader.finish() }
    }

    deinit { finish() }
}
