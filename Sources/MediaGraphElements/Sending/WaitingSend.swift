import CMediaGraphABI
import Dispatch
import GStreamer
import MediaGraphCore

/// How a task hears what became of what it sent.
///
/// `@unchecked Sendable`: the other side's C function and its context, which may be called once from any thread.
struct SendCallback: @unchecked Sendable {
    let waiter: UnsafeMutableRawPointer?
    let done: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<MGError>?) -> Void

    func call(_ outcome: Int32, _ error: MediaGraphError?) {
        var stored = MGError()
        error?.store(in: &stored)
        done(waiter, outcome, &stored)
    }
}

/// What a task sends, while it waits for room.
struct WaitingSend<Payload: SentPayload>: Sendable {
    let ticket: UInt64
    let payload: Payload
    let time: SendTime
    let callback: SendCallback
}

/// One that waits no more: it is in, or was refused.
struct SettledSend<Payload: SentPayload>: Sendable {
    let waiting: WaitingSend<Payload>
    let isTooFrequent: Bool
}

/// What became of what was offered.
enum SendOffer<Payload: SentPayload> {
    case accepted
    case dropped(Payload)
    case full
    case closed
    case tooFrequent
}

extension SendGate.State {
    /// Stamps the payload and puts it into the queue, where it gets in.
    @inline(__always)
    mutating func offer(_ payload: Payload, _ time: SendTime, suspends: Bool) -> SendOffer<Payload> {
        switch queue.room(for: time.clockTime, suspends: suspends) {
        case .closed: return .closed
        case .full: return .full
        case .free: break
        }
        guard timeline.stamp(payload, time, settings.pace) else { return .tooFrequent }
        if !payload.has(format) { format = payload.format }
        if let lost = queue.put(payload) { return .dropped(lost) }
        return .accepted
    }

    /// Queues waiting sends in their order while there is room. A send without a timestamp can't be too early: waiting has
    /// paced it. A send whose own timestamp is too early is refused.
    mutating func admitWaiting() {
        while let first = waiting.first, case .free = queue.room(for: first.time.clockTime, suspends: true) {
            waiting.removeFirst()
            let isInTime = timeline.stamp(first.payload, first.time, settings.pace)
            if !isInTime, case .given = first.time {
                settled.append(SettledSend(waiting: first, isTooFrequent: true))
                continue
            }
            if !isInTime { timeline.force(first.payload, first.time) }
            if !first.payload.has(format) { format = first.payload.format }
            _ = queue.put(first.payload)
            settled.append(SettledSend(waiting: first, isTooFrequent: false))
        }
    }

    mutating func takeWaiting() -> [WaitingSend<Payload>] {
        defer { waiting.removeAll() }
        // An array of nothing made from a deque writes to the one that all empty arrays share, a race in Thread Sanitizer's eyes.
        return waiting.isEmpty ? [] : Array(waiting)
    }

    func isWaiting(_ ticket: UInt64) -> Bool { waiting.contains { $0.ticket == ticket } }

    mutating func takeWaiting(_ ticket: UInt64) -> WaitingSend<Payload>? {
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
