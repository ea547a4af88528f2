import GStreamer

/// The first blocks of live sound whose sender doesn't say when they were taken: held back, and placed together.
///
/// Placed by when the first came, all sound would be off by that block's jitter until the drift's correction has made up for
/// it, seconds later. Held back until they last as long as the jitter that is allowed for, or the first of them is due, they
/// are placed by the mean: for ±30 ms, and the six of 10 ms that a `jitter` of 60 ms holds, that is ±7 ms. It costs no
/// latency, for that has the jitter in it. Belongs to the streaming thread.
struct SoundBeginning {
    private var blocks: [QueuedBlock] = []
    /// When the first and the last came.
    private var (first, last) = (ClockTime.zero, ClockTime.zero)
    /// How long the blocks are together, in nanoseconds.
    private var duration = 0
    /// By how much later than where they follow on the first the blocks came, in nanoseconds, times their lengths.
    private var lateness = 0.0

    var isEmpty: Bool { blocks.isEmpty }

    /// Where the first block belongs, by all that have come; by itself where they came at once, which is no jitter.
    var time: ClockTime {
        guard last.nanoseconds - first.nanoseconds >= UInt64(duration / 4) else { return first }
        return ClockTime(nanoseconds: UInt64(max(0, Double(first.nanoseconds) + lateness / Double(max(duration, 1)))))
    }

    /// When the first block is due at the latest.
    func deadline(_ jitter: ClockTime) -> ClockTime { ClockTime(nanoseconds: time.nanoseconds + jitter.nanoseconds) }

    /// More would come later than the first is due.
    func isComplete(_ jitter: ClockTime) -> Bool { UInt64(duration) >= jitter.nanoseconds }

    mutating func add(_ block: QueuedBlock) {
        let arrival = block.access.presentationTimestamp ?? .zero
        if isEmpty { first = arrival }
        last = max(first, arrival)
        let late = Double(arrival.nanoseconds) - Double(first.nanoseconds) - Double(duration)
        lateness += late * Double(block.weight)
        duration += block.weight
        blocks.append(block)
    }

    /// The blocks, which are no longer held.
    mutating func take() -> [QueuedBlock] {
        defer { self = SoundBeginning() }
        return blocks
    }
}
