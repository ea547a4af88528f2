import GStreamer
import Synchronization

/// Posts on the bus that a pipe's frames have an alpha channel from now on, or no longer: once for each change, when the
/// first of the pipe's receivers reaches it, between that receiver's last frame before and its first one after it.
final class PipeAlpha: Sendable {
    /// A change in the stream that the pipe receives.
    struct Change: Sendable {
        fileprivate let number: UInt64
        fileprivate let isOn: Bool
    }

    private struct State: Sendable {
        /// The last change; `nil` before the first one.
        var last: Change?
        /// The number of the last change that was posted.
        var posted: UInt64 = 0
    }

    private let owner: WeakElement
    private let state = Mutex(State())

    init(owner: WeakElement) { self.owner = owner }

    /// Numbers a change of the stream. Called on the streaming thread.
    func recordChange(isOn: Bool) -> Change {
        state.withLock { state in
            let change = Change(number: (state.last?.number ?? 0) + 1, isOn: isOn)
            state.last = change
            return change
        }
    }

    /// Posts the last change, because no receiver is left that could reach it.
    func postLast() { if let last = state.withLock({ $0.last }) { post(last) } }

    /// Posts the change, unless another receiver was faster. May be called from any thread.
    func post(_ change: Change) {
        let isFirst = state.withLock { state in
            defer { state.posted = max(state.posted, change.number) }
            return change.number > state.posted
        }
        // Not under the lock: a message handler may call anything.
        if isFirst { owner.post(AlphaChannelMessage.structure(change.isOn)) }
    }
}
