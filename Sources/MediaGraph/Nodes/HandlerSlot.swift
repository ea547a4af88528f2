import Synchronization

/// Which handler a node's next frame is to meet: set from any thread, taken over by the streaming thread between two
/// frames, which then needs no lock and no reference count for each.
final class HandlerSlot<Handle: AnyObject & Sendable>: Sendable {
    private struct State: Sendable {
        /// From Swift: stays for the next run too.
        var attached: Handle?
        /// From `handler=`: made anew for each run.
        var named: Handle?
    }

    private let state = Mutex(State())
    private let hasChanged = Atomic<Bool>(false)

    /// The latest of all that were set; `nil` for none.
    var wanted: Handle? { state.withLock { $0.attached ?? $0.named } }

    var isAttached: Bool { state.withLock { $0.attached != nil } }

    /// Takes the place of whatever there was.
    func attach(_ handle: Handle?) {
        change {
            $0.attached = handle
            $0.named = nil
        }
    }

    /// Takes the place of whatever there was; only for this run.
    func setNamed(_ handle: Handle?) {
        change {
            $0.attached = nil
            $0.named = handle
        }
    }

    /// The one that `make` gives, unless one is attached. Before data flows.
    func start(_ make: () throws(MediaGraphError) -> Handle?) throws(MediaGraphError) -> Handle? {
        if let attached = state.withLock({ $0.attached }) { return attached }
        let handle = try make()
        state.withLock { $0.named = handle }
        return handle
    }

    /// After data flow has ended.
    func stop() { swap { $0.named = nil } }

    private func change(_ body: (inout State) -> Void) {
        swap(body)
        markChanged()
    }

    /// What is replaced is let go outside the lock: the end of a handler may call anything.
    private func swap(_ body: (inout State) -> Void) {
        let replaced = state.withLock { state in
            let before = state
            body(&state)
            return before
        }
        withExtendedLifetime(replaced) {}
    }

    /// `takeChange` is true once more.
    func markChanged() { hasChanged.store(true, ordering: .releasing) }

    /// Whether there is something new since the last time. Streaming thread.
    @inline(__always)
    func takeChange() -> Bool {
        hasChanged.load(ordering: .relaxed) && hasChanged.exchange(false, ordering: .acquiring)
    }
}
