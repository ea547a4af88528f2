import GStreamer

/// The memories in which one stream's buffers are shown to other processes, and who still reads which. Pure.
///
/// Bounded: a holder that keeps what it has been shown gets no more, and takes nothing from the others.
struct SharedMemoryPool<Holder: Hashable & Sendable>: Sendable {
    /// What one holder may keep.
    private let share: Int

    private struct Slot: Sendable {
        let memory: SharedMemory
        var holders: Set<Holder> = []
        /// Who has its file already.
        var knownTo: Set<Holder> = []
    }

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
        /// Another that was given up for it.
        var replaced: UInt64?
    }

    /// One that nobody reads, with room for so much; `nil` when there is no memory. `holders` is how many may keep some.
    mutating func free(_ size: Int, holders: Int) -> Place? {
        let limit = holders * share + 1
        let free = slots.filter { $0.value.holders.isEmpty }
        let fitting = free.filter { $0.value.memory.size >= size }
        if let fit = fitting.min(by: { ($0.value.memory.size, $0.key) < ($1.value.memory.size, $1.key) }) {
            return Place(id: fit.key, memory: fit.value.memory)
        }
        // Those of another size make room.
        var replaced: UInt64?
        if slots.count >= limit {
            replaced = free.keys.min()
            if let replaced { slots[replaced] = nil }
        }
        guard slots.count < limit, let memory = SharedMemory(size: size) else { return nil }
        let id = nextID()
        slots[id] = Slot(memory: memory)
        return Place(id: id, memory: memory, replaced: replaced)
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

    /// The holder is gone, and with it what it read.
    mutating func remove(_ holder: Holder) {
        for id in slots.keys {
            slots[id]?.holders.remove(holder)
            slots[id]?.knownTo.remove(holder)
        }
    }
}
