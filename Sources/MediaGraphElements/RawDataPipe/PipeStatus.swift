import GStreamer
import Synchronization

/// The stream's status on the bus: on before any receiver has a frame, off after the last one's callback, once each.
final class PipeStatus: Sendable {
    private struct State: Sendable {
        /// The stream itself, and the receivers that haven't been told yet that it is off.
        var holders: Set<ObjectIdentifier> = []
        var told = false
        /// A thread is posting, and looks again when it has.
        var isPosting = false

        mutating func next() -> Bool? {
            guard !isPosting, told == holders.isEmpty else { return nil }
            told = !holders.isEmpty
            isPosting = true
            return told
        }
    }

    private let owner: WeakElement
    private let state = Mutex(State())

    init(owner: WeakElement) { self.owner = owner }

    /// For as long as anybody holds it the status is on. True when this one hasn't held it before.
    @discardableResult
    func hold(for holder: ObjectIdentifier) -> Bool { change { $0.insert(holder).inserted } }

    func release(for holder: ObjectIdentifier) { _ = change { $0.remove(holder) } }

    private func change<Result>(_ body: (inout Set<ObjectIdentifier>) -> Result) -> Result {
        let result = state.withLock { body(&$0.holders) }
        // Not under the lock: whoever hears a message may do anything.
        while let on = state.withLock({ $0.next() }) {
            owner.post(StreamStatus.message(on: on))
            state.withLock { $0.isPosting = false }
        }
        return result
    }
}
