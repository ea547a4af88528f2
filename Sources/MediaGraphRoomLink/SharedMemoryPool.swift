import GStreamer

/// The memories in which one stream's buffers are shown to other processes, and who still reads which. Pure.
///
/// Bounded: a holder that keeps what it has been shown gets no more, and takes nothing from the others. What was needed once and
/// no longer is goes: each memory costs this process a descriptor.
struct SharedMemoryPool<Holder: Hashable & Sendable>: Sendable {
    /// What one holder may keep.
    private let share: Int

    private struct Slot: Sendable {
        let memory: SharedMemory
        /// When it was last written to.
        var used: UInt64
        var holders: Set<Holder> = []
        /// Who has its file already.
        var knownTo: Set<Holder> = []
    }

    /// In nanoseconds: what nobody reads goes after as long without use.
    static var keeping: UInt64 { 3_000_000_000 }

    /// Numbers are never given twice by a process.
    private let nextID: @Sendable () -> UInt64
    private var slots: [UInt64: Slot] = [:]

    init(share: Int, nextID: @escaping @Sendable () -> UInt64) {
        self.share = share
        self.nextID = nextID
    }

    struct Place: Sendable {
        let id: UInt64
        let memory: SharedMemory
        /// Others that were given up for it, or have long been of no use.
        var replaced: [UInt64] = []
    }

    /// One that nobody reads, with room for so much, which may be nothing; `nil` when there is no memory. Each reader may keep
    /// some, and so may those who were readers. `now` is the time in nanoseconds, by a clock that never goes back.
    mutating func free(_ size: Int, readers: some Sequence<Holder>, now: UInt64) -> Place? {
        let keepers = slots.values.reduce(into: Set(readers)) { $0.formUnion($1.holders) }
        let limit = keepers.count * share + 1
        let free = slots.filter { $0.value.holders.isEmpty }
        let fitting = free.filter { $0.value.memory.size >= size }
        if let fit = fitting.min(by: { ($0.value.memory.size, $0.key) < ($1.value.memory.size, $1.key) }) {
            slots[fit.key]?.used = now
            return Place(id: fit.key, memory: fit.value.memory, replaced: removeUnused(now))
        }
        var replaced = removeUnused(now)
        // Those of another size make room.
        if slots.count >= limit, let other = free.keys.filter({ slots[$0] != nil }).min() {
            slots[other] = nil
            replaced.append(other)
        }
        guard slots.count < limit, let memory = SharedMemory(size: max(size, 1)) else { return nil }
        let id = nextID()
        slots[id] = Slot(memory: memory, used: now)
        return Place(id: id, memory: memory, replaced: replaced)
    }

    private mutating func removeUnused(_ now: UInt64) -> [UInt64] {
        let old = slots.filter { $0.value.holders.isEmpty && $0.value.used + Self.keeping < now }.keys.sorted()
        for id in old { slots[id] = nil }
        return old
    }

    /// Whether the holder gets the file along with its first message.
    func isNew(_ id: UInt64, to holder: Holder) -> Bool { slots[id].map { !$0.knownTo.contains(holder) } ?? false }

    /// Whether the holder may keep one more.
    func hasRoom(_ holder: Holder) -> Bool { slots.values.count { $0.holders.contains(holder) } < share }

    mutating func hold(_ id: UInt64, _ holder: Holder) {
        slots[id]?.holders.insert(holder)
        slots[id]?.knownTo.insert(holder)
    }

    mutating func release(_ id: UInt64, _ holder: Holder) { slots[id]?.holders.remove(holder) }

    /// The holder reads no more, and may keep what it has until it releases that. Answers which memories it need know no longer.
    mutating func unsubscribe(_ holder: Holder) -> [UInt64] {
        let known = slots.filter { $0.value.knownTo.contains(holder) }.keys.sorted()
        for id in known { slots[id]?.knownTo.remove(holder) }
        return known
    }

    /// The holder won't say any more what it has released: what it holds is given up, so that nobody writes there. Answers which
    /// memories those are.
    mutating func remove(_ holder: Holder) -> [UInt64] {
        let held = slots.filter { $0.value.holders.contains(holder) }.keys.sorted()
        for id in held { slots[id] = nil }
        for id in slots.keys { slots[id]?.knownTo.remove(holder) }
        return held
    }
}
