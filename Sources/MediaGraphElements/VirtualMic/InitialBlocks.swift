import GStreamer

/// The first blocks of live sound without timestamps. They are held back until their start time can be computed from
/// the arrival times of all of them.
///
/// If only the first block's arrival decided, all sound would be off by that block's jitter, until the drift correction
/// had corrected it seconds later. So blocks are held back until their total duration reaches `jitter`, or until the
/// first of them is due. The mean of their arrivals then decides. A `jitter` of 60 ms holds six blocks of 10 ms; with a
/// jitter of ±30 ms their mean is within ±7 ms. Holding blocks back adds no latency, because the latency includes
/// `jitter` anyway.
///
/// Only the streaming thread uses this structure.
struct InitialBlocks {
    private var blocks: [QueuedBlock] = []
    /// The arrival times of the first and the last block.
    private var (first, last) = (ClockTime.zero, ClockTime.zero)
    /// The blocks' total duration in nanoseconds.
    private var duration = 0
    /// The sum of the blocks' lateness relative to the first block, in nanoseconds, weighted by their durations.
    private var lateness = 0.0

    var isEmpty: Bool { blocks.isEmpty }

    /// The running time of the first block, according to all arrivals. If all blocks arrived together, which
    /// isn't jitter, this is the arrival time of the first block.
    var time: ClockTime {
        guard last.nanoseconds - first.nanoseconds >= UInt64(duration / 4) else { return first }
        return ClockTime(nanoseconds: UInt64(max(0, Double(first.nanoseconds) + lateness / Double(max(duration, 1)))))
    }

    /// Returns the time at which the first block must go out.
    func deadline(jitterNanoseconds: UInt64) -> ClockTime {
        ClockTime(nanoseconds: time.nanoseconds + jitterNanoseconds)
    }

    /// Returns whether the blocks last as long as the jitter; further blocks would arrive after the first block's
    /// deadline.
    func isComplete(jitterNanoseconds: UInt64) -> Bool { UInt64(duration) >= jitterNanoseconds }

    mutating func add(_ block: QueuedBlock) {
        let arrival = block.access.presentationTimestamp ?? .zero
        if isEmpty { first = arrival }
        last = max(first, arrival)
        let late = Double(arrival.nanoseconds) - Double(first.nanoseconds) - Double(duration)
        lateness += late * Double(block.weight)
        duration += block.weight
        blocks.append(block)
    }

    /// Returns the blocks and starts anew.
    mutating func take() -> [QueuedBlock] {
        defer { self = InitialBlocks() }
        return blocks
    }
}

/// The streaming thread's handling of the first blocks.
extension VirtualMicElement {
    /// Returns whether to hold a block back until the arrivals of further blocks are known.
    func isHeldBack(_ block: QueuedBlock) -> Bool {
        !beginning.isEmpty || isLive && !block.isGiven && jitterNanoseconds > 0 && element.currentRunningTime != nil
    }

    /// Returns whether blocks are still held back after this step.
    func keepsHolding(_ step: AudioGate.Queue.Step?) -> Bool {
        switch step {
        case .frame(let block): !block.isGiven
        case .reconfigure, .flush: true
        default: false
        }
    }

    /// Decides the time of the held blocks and pushes them. Returns the flow result if the stream ends, otherwise
    /// `nil`.
    func pushInitialBlocks() -> FlowReturn? {
        let time = beginning.time
        var blocks = beginning.take()[...]
        defer { for block in blocks { gate.drop(block) } }
        // Downstream may have asked for another format while the blocks were held back.
        if let info = blocks.first?.format.info, assembler.needsFormat(info), !setFormat(info) { return .endOfStream }
        assembler.beginAfterArrival(time)
        while let block = blocks.popFirst() {
            if let flow = push(block) { return flow }
        }
        return nil
    }
}
