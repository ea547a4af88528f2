import CMediaGraphABI
import Dispatch
import GStreamer

/// A task's frame that waits for room, and how the task hears what became of it.
struct WaitingSend: Sendable {
    /// `@unchecked Sendable`: the other side's C function and its context, which may be called once from any thread.
    struct Callback: @unchecked Sendable {
        let waiter: UnsafeMutableRawPointer?
        let done: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<MGError>?) -> Void

        func call(_ outcome: Int32, _ error: MediaGraphError?) {
            var stored = MGError()
            error?.store(in: &stored)
            done(waiter, outcome, &stored)
        }
    }

    let ticket: UInt64
    let frame: QueuedFrame
    let time: SendTimeline.Time
    let callback: Callback
}

/// What became of a frame that was offered.
enum SendOffer {
    case accepted
    case dropped(QueuedFrame)
    case full
    case closed
    /// Faster than this declared rate.
    case tooFrequent(Fraction)
}

extension VideoGate.State {
    /// Stamps the frame and puts it into the queue, where it gets in.
    mutating func offer(_ frame: QueuedFrame, _ time: SendTimeline.Time, suspends: Bool) -> SendOffer {
        switch queue.room(suspends: suspends) {
        case .closed: return .closed
        case .full: return .full
        case .free: break
        }
        guard let timestamp = timeline.stamp(time, frame.format, settings.pace) else {
            return .tooFrequent(frame.format.maximumRate ?? Fraction(0, 1))
        }
        frame.access.presentationTimestamp = timestamp
        if !frame.has(format) { format = frame.format }
        if let lost = queue.put(frame) { return .dropped(lost) }
        return .accepted
    }

    /// The first of those who wait gets the room that there is; too early a frame was paced by its waiting.
    mutating func admitWaiting() -> WaitingSend? {
        guard let first = waiting.first, case .free = queue.room(suspends: true) else { return nil }
        waiting.removeFirst()
        first.frame.access.presentationTimestamp =
            timeline.stamp(first.time, first.frame.format, settings.pace) ?? first.time.clockTime
        if !first.frame.has(format) { format = first.frame.format }
        _ = queue.put(first.frame)
        return first
    }

    mutating func takeWaiting() -> [WaitingSend] {
        defer { waiting.removeAll() }
        // An array of nothing made from a deque writes to the one that all empty arrays share, a race in Thread Sanitizer's eyes.
        return waiting.isEmpty ? [] : Array(waiting)
    }

    mutating func takeWaiting(_ ticket: UInt64) -> WaitingSend? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return waiting.remove(at: index)
    }
}

/// Time-outs of tasks, which no thread may wait for.
enum Timer {
    static func run(after time: ClockTime, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .nanoseconds(Int(clamping: time.nanoseconds)), execute: body)
    }
}
