import GStreamer
import Synchronization

/// Those who read events as they happen: any number, each with all of them. Their streams end with it.
final class EventReaders<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<Event>.Continuation] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// A new reader: it gets what happens from now on, and loses the oldest of more than 256 that it hasn't taken.
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

    /// The streams of those who read now end.
    func finish() {
        let readers = state.withLock { state in
            defer { state.continuations = [:] }
            return state.continuations.values
        }
        for reader in readers { reader.finish() }
    }

    deinit { finish() }
}
