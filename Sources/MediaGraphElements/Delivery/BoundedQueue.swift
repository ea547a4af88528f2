import DequeModule
import GStreamer
import MediaGraphCore

/// A first-in-first-out queue of frames and signals. The number of frames is bounded, the number of signals isn't.
/// `offer` returns the frame that was dropped.
///
/// A pure state machine without lock or thread; the owner must lock.
package struct BoundedQueue<Frame, Signal> {
    package enum Item {
        case frame(Frame)
        case signal(Signal)
    }

    package enum Offer {
        case accepted
        /// The queue is full and its policy is to block or to refuse.
        case full
        /// This frame was dropped: the new one or the oldest.
        case dropped(Frame)
    }

    @usableFromInline var items = Deque<Item>()
    @usableFromInline package private(set) var frameCount = 0
    @inlinable
    package var signalCount: Int { items.count - frameCount }
    package let bound: Int
    package let policy: OverflowPolicy
    /// Whether the first frame is never dropped before it is taken. The second oldest or the new frame is dropped
    /// instead.
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
            appendBeyondBound(frame)
            return .dropped(lost)
        }
    }

    /// Removes the oldest frame, or the second oldest with `keepingFirst`. Returns `nil` if there is no such frame.
    @inlinable
    package mutating func removeOldest(keepingFirst: Bool = false) -> Frame? {
        var oldest = nextFrame(from: items.startIndex)
        if keepingFirst, let first = oldest { oldest = nextFrame(from: first + 1) }
        guard let oldest, case .frame(let frame) = items.remove(at: oldest) else { return nil }
        frameCount -= 1
        return frame
    }

    /// Returns the frame at `position`, counted from the oldest.
    @inlinable
    package func frame(at position: Int) -> Frame? {
        var left = position
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

    /// Appends a signal. Signals are never dropped and keep their position among the frames.
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

    /// Appends a frame even if the queue is full.
    @inline(__always)
    @inlinable
    package mutating func appendBeyondBound(_ frame: consuming Frame) {
        items.append(.frame(frame))
        frameCount += 1
    }

    /// Removes the signals for which `matches` returns true.
    @inlinable
    package mutating func removeSignals(where matches: (Signal) -> Bool) {
        items.removeAll { if case .signal(let signal) = $0 { matches(signal) } else { false } }
    }

    /// Removes the signals for which `isOutdated` returns true. `later` are the kept signals between the signal and the
    /// next frame, nearest first.
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

    /// Removes the frames for which `matches` returns true, and passes each to `body`. Keeps the signals.
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

/// Media that waits in a queue for its presentation time.
package protocol TimedMedia {
    /// The timestamp in the media's segment; increases in the order of the queue.
    var timestamp: ClockTime? { get }
    var byteCount: Int { get }
}

/// The limits of how much a live queue holds beyond its bound.
///
/// A sink shows a frame when the graph's latency has passed since the frame's timestamp. Until then the frame waits
/// somewhere upstream of the sink, and the frames behind it wait in the queue: they are not late, so the bound doesn't
/// count them.
package enum LatencyAllowance {
    /// The maximum number of bytes in one queue, whatever the latency: five seconds of 1080p30 in I420.
    package static let memory = 512 << 20
    /// The minimum number of bytes counted per frame: an empty frame takes memory too.
    static let leastSize = 4096
}

extension BoundedQueue where Frame: TimedMedia {
    /// Returns whether the queue has no room for a frame with this timestamp. It has none if more than `bound` frames
    /// whose latency is over would wait, or if all frames together would exceed `LatencyAllowance.memory`.
    @inlinable
    package func isFull(for timestamp: ClockTime?, bound: Int, latencyNanoseconds: UInt64) -> Bool {
        guard frameCount >= bound else { return false }
        guard latencyNanoseconds > 0, let timestamp else { return true }
        guard frameCount > bound else { return isMemoryFull }
        // If timestamps start over, the frames queued before that still wait for their time.
        guard let late = frame(at: bound)?.timestamp, timestamp >= late else { return isMemoryFull }
        return timestamp.nanoseconds - late.nanoseconds >= latencyNanoseconds || isMemoryFull
    }

    /// Whether one more frame would exceed `LatencyAllowance.memory`. Assumes that all frames are as large as the
    /// oldest.
    package var isMemoryFull: Bool {
        let size = max(frame(at: 0)?.byteCount ?? 0, LatencyAllowance.leastSize)
        return size * (frameCount + 1) > LatencyAllowance.memory
    }
}

extension BoundedQueue: Sendable where Frame: Sendable, Signal: Sendable {}
extension BoundedQueue.Item: Sendable where Frame: Sendable, Signal: Sendable {}
