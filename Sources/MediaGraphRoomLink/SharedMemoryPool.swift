import GStreamer

/// The shared memories in which one stream's buffers are passed to other processes, and the processes (holders) that
/// still use each. A pure value, except that it creates the memories.
///
/// The pool is bounded: a holder that keeps its buffers gets no more of them, without affecting the other holders.
/// Memories that are no longer needed are removed, because each costs this process a file descriptor.
struct SharedMemoryPool<Holder: Hashable & Sendable>: Sendable {
    /// The number of memories that one holder may keep.
    private let share: Int

    private struct Slot: Sendable {
        let memory: SharedMemory
        /// When the memory was last written to.
        var used: UInt64
        var holders: Set<Holder> = []
        /// The holders that already have the memory's file.
        var knownTo: Set<Holder> = []
    }

    /// How long an unused memory is kept, in nanoseconds.
    static var keeping: UInt64 { 3_000_000_000 }

    /// Returns a new number for a memory. A process never uses a number twice.
    private let nextID: @Sendable () -> UInt64
    private var slots: [UInt64: Slot] = [:]
    private var removed: [UInt64] = []

    init(share: Int, nextID: @escaping @Sendable () -> UInt64) {
        self.share = share
        self.nextID = nextID
    }

    /// A memory for the next buffer.
    struct Allocation: Sendable {
        let id: UInt64
        let memory: SharedMemory
    }

    /// Returns a memory of at least `size` bytes, which may be 0, that no holder uses; `nil` if there is none. The
    /// pool's size depends on the number of readers, and of former readers that still hold memories. `now` is the time
    /// in nanoseconds, by a clock that never goes back.
    mutating func allocate(_ size: Int, readers: some Sequence<Holder>, now: UInt64) -> Allocation? {
        let keepers = slots.values.reduce(into: Set(readers)) { $0.formUnion($1.holders) }
        let limit = keepers.count * share + 1
        let free = slots.filter { $0.value.holders.isEmpty }
        let fitting = free.filter { $0.value.memory.size >= size }
        if let fit = fitting.min(by: { ($0.value.memory.size, $0.key) < ($1.value.memory.size, $1.key) }) {
            slots[fit.key]?.used = now
            removeUnused(now)
            return Allocation(id: fit.key, memory: fit.value.memory)
        }
        removeUnused(now)
        // Remove free memories of another size to make room: several of them if the limit has become lower.
        for other in free.keys.filter({ slots[$0] != nil }).sorted() where slots.count >= limit { remove(other) }
        guard slots.count < limit, let memory = SharedMemory(size: max(size, 1)) else { return nil }
        let id = nextID()
        slots[id] = Slot(memory: memory, used: now)
        return Allocation(id: id, memory: memory)
    }

    /// Returns the memories that `allocate` has removed since the last call, also when it returned `nil`. Every reader
    /// must close their files.
    mutating func takeRemoved() -> [UInt64] {
        defer { removed = [] }
        return removed
    }

    private mutating func removeUnused(_ now: UInt64) {
        let old = slots.filter { $0.value.holders.isEmpty && $0.value.used + Self.keeping < now }.keys.sorted()
        for id in old { remove(id) }
    }

    private mutating func remove(_ id: UInt64) {
        slots[id] = nil
        removed.append(id)
    }

    /// Whether the holder doesn't have the memory's file yet, so that it must be sent along.
    func isNew(_ id: UInt64, to holder: Holder) -> Bool { slots[id].map { !$0.knownTo.contains(holder) } ?? false }

    /// Whether the holder may use one more memory.
    func hasRoom(_ holder: Holder) -> Bool { slots.values.count { $0.holders.contains(holder) } < share }

    /// Records that the holder uses the memory and has its file.
    mutating func hold(_ id: UInt64, _ holder: Holder) {
        slots[id]?.holders.insert(holder)
        slots[id]?.knownTo.insert(holder)
    }

    /// Records that the holder no longer uses the memory.
    mutating func release(_ id: UInt64, _ holder: Holder) { slots[id]?.holders.remove(holder) }

    /// Ends a holder's reading. The holder keeps its memories until it releases them. Returns the memories whose files
    /// it can close.
    mutating func unsubscribe(_ holder: Holder) -> [UInt64] {
        let known = slots.filter { $0.value.knownTo.contains(holder) }.keys.sorted()
        for id in known { slots[id]?.knownTo.remove(holder) }
        return known
    }

    /// Removes a holder that is gone, and the memories that it used, so that nothing is written there any more: it
    /// can't report their release. Returns the removed memories.
    mutating func remove(_ holder: Holder) -> [UInt64] {
        let held = slots.filter { $0.value.holders.contains(holder) }.keys.sorted()
        for id in held { slots[id] = nil }
        for id in slots.keys { slots[id]?.knownTo.remove(holder) }
        return held
    }
}
