import DequeModule
import GStreamer
import MediaGraphCore

/// A first-in-first-out queue of frames with a bound, and of signals without one, that says what it lost.
///
/// A pure state machine: no lock, no thread. Whoever owns it locks.
package struct BoundedQueue<Frame, Signal> {
    package enum Item {
        case frame(Frame)
        case signal(Signal)
    }

    package enum Offer {
        case accepted
        /// The queue is full and its policy is to wait, or to say so.
        case full
        /// Lost: this frame (the new one, or the oldest).
        case dropped(Frame)
    }

    @usableFromInline var items = Deque<Item>()
    @usableFromInline package private(set) var frameCount = 0
    @inlinable
    package var signalCount: Int { items.count - frameCount }
    package let bound: Int
    package let policy: OverflowPolicy
    /// The very first frame isn't dropped before it was taken: the next oldest goes, or the new one.
    @usableFromInline let keepsFirst: Bool
    @usableFromInline var hasTaken = false

    @inlinable
    package init(bound: Int, policy: OverflowPolicy, keepsFirst: Bool = false) {
        self.bound = max(1, bound)
        self.policy = policy
        self.keepsFirst = keepsFirst
        items.reserveCapacity(self.bound + 8)
    }

    @inlinable
    package mutating func offer(_ frame: consuming Frame) -> Offer {
        guard frameCount >= bound else {
            items.append(.frame(frame))
            frameCount += 1
            return .accepted
        }
        switch policy {
        case .block, .refuse: return .full
        case .dropNewest: return .dropped(frame)
        case .dropOldest:
            guard let lost = removeOldest(keepingFirst: keepsFirst && !hasTaken) else { return .dropped(frame) }
            force(frame)
            return .dropped(lost)
        }
    }

    /// `nil` without frames, and where the only one is kept.
    @inlinable
    package mutating func removeOldest(keepingFirst: Bool = false) -> Frame? {
        var oldest = nextFrame(from: items.startIndex)
        if keepingFirst, let first = oldest { oldest = nextFrame(from: first + 1) }
        guard let oldest, case .frame(let frame) = items.remove(at: oldest) else { return nil }
        frameCount -= 1
        return frame
    }

    /// Counted from the oldest.
    @inlinable
    package func frame(at place: Int) -> Frame? {
        var left = place
        for item in items {
            guard case .frame(let frame) = item else { continue }
            if left == 0 { return frame }
            left -= 1
        }
        return nil
    }

    @inlinable
    func nextFrame(from index: Int) -> Int? {
        items[index...].firstIndex { if case .frame = $0 { true } else { false } }
    }

    /// Signals are never lost, and keep their place among the frames.
    @inlinable
    package mutating func append(_ signal: Signal) { items.append(.signal(signal)) }

    @inlinable
    package mutating func take() -> Item? {
        guard let item = items.popFirst() else { return nil }
        if case .frame = item {
            frameCount -= 1
            hasTaken = true
        }
        return item
    }

    /// Takes a frame beyond the bound.
    @inline(__always)
    @inlinable
    package mutating func force(_ frame: consuming Frame) {
        items.append(.frame(frame))
        frameCount += 1
    }

    /// Takes the signals out that `matches` says.
    @inlinable
    package mutating func removeSignals(where matches: (Signal) -> Bool) {
        items.removeAll { if case .signal(let signal) = $0 { matches(signal) } else { false } }
    }

    /// Takes the signals out that `isOutdated` says, given those that stay up to the next frame, the nearest first.
    @inlinable
    package mutating func removeSignals(where isOutdated: (Signal, _ later: [Signal]) -> Bool) {
        var (kept, later) = (Deque<Item>(), [Signal]())
        for item in items.reversed() {
            switch item {
            case .frame: later = []
            case .signal(let signal):
                if isOutdated(signal, later) { continue }
                later.insert(signal, at: 0)
            }
            kept.prepend(item)
        }
        items = kept
    }

    /// Takes the frames out that `matches` says, and leaves the signals.
    @inlinable
    package mutating func removeFrames(where matches: (Frame) -> Bool = { _ in true }, _ body: (Frame) -> Void) {
        items.removeAll { item in
            guard case .frame(let frame) = item, matches(frame) else { return false }
            body(frame)
            frameCount -= 1
            return true
        }
    }
}

/// Media that waits for its time in a queue.
package protocol TimedMedia {
    /// In its segment, in the order of the queue.
    var timestamp: ClockTime? { get }
    var byteCount: Int { get }
}

/// How much a live queue takes beyond its bound.
///
/// A sink shows a frame when the graph's latency has passed since the frame's timestamp. Until then the frame waits somewhere
/// upstream of the sink, and the frames behind it wait in the queue: they are not late, so the bound doesn't count them.
package enum LatencyAllowance {
    /// In bytes: what one queue keeps at the most, however long the latency is. Five seconds of 1080p30 in I420.
    package static let memory = 512 << 20
    /// What a frame counts for at least: an empty one takes memory too.
    static let leastSize = 4096
}

extension BoundedQueue where Frame: TimedMedia {
    /// Whether there is no room for a frame with this timestamp: with it more than `bound` frames would wait whose latency is
    /// over, or all of them would be more than may be kept.
    @inlinable
    package func isFull(for timestamp: ClockTime?, bound: Int, latency: ClockTime) -> Bool {
        guard frameCount >= bound else { return false }
        guard latency > .zero, let timestamp else { return true }
        guard frameCount > bound else { return isMemoryFull }
        // Where time begins anew those before it still wait for theirs.
        guard let late = frame(at: bound)?.timestamp, timestamp >= late else { return isMemoryFull }
        return timestamp.nanoseconds - late.nanoseconds >= latency.nanoseconds || isMemoryFull
    }

    /// Frames of a stream are about as large as each other, so one stands for all.
    package var isMemoryFull: Bool {
        let size = max(frame(at: 0)?.byteCount ?? 0, LatencyAllowance.leastSize)
        return size * (frameCount + 1) > LatencyAllowance.memory
    }
}

extension BoundedQueue: Sendable where Frame: Sendable, Signal: Sendable {}
extension BoundedQueue.Item: Sendable where Frame: Sendable, Signal: Sendable {}
