import GStreamer
import MediaGraphCore
import Synchronization

/// Holds a node's handler. Any thread may set the handler. The streaming thread picks up a change between two frames,
/// and needs neither a lock nor a retain for each frame.
final class HandlerSlot<Handle: AnyObject & Sendable>: Sendable {
    private struct State: Sendable {
        /// The handler attached from Swift. Kept across runs.
        var attached: Handle?
        /// The handler that `handler=` names. Made for each run.
        var named: Handle?
        /// The handler that failed and is detached until the next run.
        var detached: Handle?
        var current: Handle? {
            let last = attached ?? named
            return last === detached ? nil : last
        }
        /// How often the handler was set.
        var changes = 0
    }

    private let state = Mutex(State())
    private let hasChanged = Atomic<Bool>(false)

    /// The handler that was set last; `nil` for none, and while that handler is detached.
    var wanted: Handle? { state.withLock { $0.current } }

    var isAttached: Bool { state.withLock { $0.attached != nil } }

    /// Replaces the current handler with one from Swift. Returns the previous state, which the caller must release
    /// outside any lock: destroying a handler may run any code.
    func attach(_ handle: Handle?) -> any Sendable {
        change {
            $0.attached = handle
            $0.named = nil
        }
    }

    /// Replaces the current handler. The new one is released after this run, and an attached handler doesn't return.
    /// Returns the previous state, like `attach`.
    func setNamed(_ handle: Handle?) -> any Sendable {
        change {
            $0.attached = nil
            $0.named = handle
        }
    }

    /// Returns the handler for a new run, before data flows: the attached one, or else the one that `make` returns. A
    /// handler that was set while `make` ran has precedence.
    func start(_ make: () throws(MediaGraphError) -> Handle?) throws(MediaGraphError) -> Handle? {
        let before = state.withLock { $0 }
        if let attached = before.attached { return attached }
        let handle = try make()
        return state.withLock { state in
            if state.changes == before.changes { state.named = handle }
            return state.attached ?? state.named
        }
    }

    /// Detaches a failed handler until the next run, unless another handler has been set meanwhile. The caller, which
    /// is still inside a call of that handler, keeps a reference to it.
    func detach(_ handle: Handle) {
        state.withLock { if $0.attached ?? $0.named === handle { $0.detached = handle } }
        markChanged()
    }

    /// Ends `detach`.
    func reattach() {
        _ = state.withLock { $0.detached.take() }
        markChanged()
    }

    /// Releases the named handler, after data flow has ended.
    func stop() {
        // Released outside the lock: a handler's `deinit` may call anything.
        _ = state.withLock { ($0.named.take(), $0.detached.take()) }
    }

    private func change(_ body: (inout State) -> Void) -> any Sendable {
        let replaced = state.withLock { state in
            let before = state
            body(&state)
            state.detached = nil
            state.changes += 1
            return before
        }
        markChanged()
        return replaced
    }

    /// Makes the next `takeChange` return true.
    func markChanged() { hasChanged.store(true, ordering: .releasing) }

    /// Returns whether the handler has changed since the last call. Only for the streaming thread.
    @inline(__always)
    func takeChange() -> Bool {
        hasChanged.load(ordering: .relaxed) && hasChanged.exchange(false, ordering: .acquiring)
    }
}
