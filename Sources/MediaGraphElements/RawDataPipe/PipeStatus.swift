import GStreamer
import Synchronization

/// Posts the stream's status on the bus: on before any receiver gets a frame, off after the last receiver's callback,
/// once each.
final class PipeStatus: Sendable {
    private struct State: Sendable {
        /// The stream itself, and the receivers that haven't been told yet that it is off.
        var holders: Set<ObjectIdentifier> = []
        var posted = false
        /// Whether a thread is posting. That thread checks for changes again afterwards.
        var isPosting = false

        /// Returns the status to post; `nil` if there is nothing to post, or if another thread is posting.
        mutating func next() -> Bool? {
            guard !isPosting, posted == holders.isEmpty else { return nil }
            posted = !holders.isEmpty
            isPosting = true
            return posted
        }
    }

    private let owner: WeakElement
    private let state = Mutex(State())

    init(owner: WeakElement) { self.owner = owner }

    /// Keeps the status on until `release`. Returns false if `holder` already holds the status.
    @discardableResult
    func hold(for holder: ObjectIdentifier) -> Bool { change { $0.insert(holder).inserted } }

    func release(for holder: ObjectIdentifier) { _ = change { $0.remove(holder) } }

    private func change<Result>(_ body: (inout Set<ObjectIdentifier>) -> Result) -> Result {
        let result = state.withLock { body(&$0.holders) }
        // Not under the lock: a message handler may call anything.
        while let on = state.withLock({ $0.next() }) {
            owner.post(StreamStatus.message(on: on))
            state.withLock { $0.isPosting = false }
        }
        return result
    }
}
