import GStreamer
import Synchronization

extension Graph {
    /// The callbacks of a graph's owner, such as a session. A structure, because reading a bare closure from behind a
    /// lock wraps the closure once more each time.
    struct Listener: Sendable {
        /// Receives each event, on the thread that posts the event. It must be quick and must not block.
        var hear: @Sendable (GraphEvent) -> Void
        /// Returns whether the graph continues after this element has failed; for `nil`, after all of its sources have
        /// ended. Called on the thread that posts the message.
        var outlives: @Sendable (Element?) -> Bool = { _ in false }
    }
}

/// Distributes events to any number of streams, each of which gets all events. Releasing this object ends the streams.
final class EventReaders<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<Event>.Continuation] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// A new stream of the events from now on. It holds 256 unread events, and then drops the oldest.
    var stream: AsyncStream<Event> {
        AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let id = state.withLock { state in
                state.last += 1
                state.continuations[state.last] = continuation
                return state.last
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
