import GStreamer
import Synchronization

/// The stream's status on the bus: on before any receiver has a frame, off after the last one's callback, once each.
final class PipeStatus: Sendable {
    private struct State: Sendable {
        /// The stream itself, and the receivers that haven't been told yet that it is off.
        var on = 0
        var told = false
        /// A thread is posting, and looks again when it has.
        var isPosting = false

        mutating func next() -> Bool? {
            guard !isPosting, told != (on > 0) else { return nil }
            told = on > 0
            isPosting = true
            return told
        }
    }

    private let owner: WeakElement
    private let state = Mutex(State())

    init(owner: WeakElement) { self.owner = owner }

    func turnedOn() { change { $0.on += 1 } }
    func turnedOff() { change { $0.on -= 1 } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        // Not under the lock: whoever hears a message may do anything.
        while let on = state.withLock({ $0.next() }) {
            owner.post(StreamStatus.message(on: on))
            state.withLock { $0.isPosting = false }
        }
    }
}
