import GStreamer
import MediaGraphCore
import Synchronization

/// Holds a node's handler. Any thread may set it; the streaming thread takes over the change between two frames and needs
/// neither a lock nor a retain per frame.
final class HandlerSlot<Handle: AnyObject & Sendable>: Sendable {
    private struct State: Sendable {
        /// From Swift: stays for the next run too.
        var attached: Handle?
        /// From `handler=`: made anew for each run.
        var named: Handle?
        /// Counts what was set.
        var changes = 0
    }

    private let state = Mutex(State())
    private let hasChanged = Atomic<Bool>(false)

    /// The latest of all that were set; `nil` for none.
    var wanted: Handle? { state.withLock { $0.attached ?? $0.named } }

    var isAttached: Bool { state.withLock { $0.attached != nil } }

    /// Replaces the current handler. Returns what was set before, for release outside any lock: destroying a handler may
    /// call anything.
    func attach(_ handle: Handle?) -> any Sendable {
        change {
            $0.attached = handle
            $0.named = nil
        }
    }

    /// The same, only for this run.
    func setNamed(_ handle: Handle?) -> any Sendable {
        change {
            $0.attached = nil
            $0.named = handle
        }
    }

    /// The one that `make` gives, unless one is attached, or was set while it was made. Before data flows.
    func start(_ make: () throws(MediaGraphError) -> Handle?) throws(MediaGraphError) -> Handle? {
        let before = state.withLock { $0 }
        if let attached = before.attached { return attached }
        let handle = try make()
        return state.withLock { state in
            if state.changes == before.changes { state.named = handle }
            return state.attached ?? state.named
        }
    }

    /// After data flow has ended.
    func stop() {
        let named = state.withLock { state in
            defer { state.named = nil }
            return state.named
        }
        withExtendedLifetime(named) {}
    }

    private func change(_ body: (inout State) -> Void) -> any Sendable {
        let replaced = state.withLock { state in
            let before = state
            body(&state)
            state.changes += 1
            return before
        }
        markChanged()
        return replaced
    }

    /// `takeChange` is true once more.
    func markChanged() { hasChanged.store(true, ordering: .releasing) }

    /// Whether there is something new since the last time. Streaming thread.
    @inline(__always)
    func takeChange() -> Bool {
        hasChanged.load(ordering: .relaxed) && hasChanged.exchange(false, ordering: .acquiring)
    }
}
