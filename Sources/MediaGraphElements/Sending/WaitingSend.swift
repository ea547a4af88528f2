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

extension SendGate.State {
    /// Queues waiting sends in their order while there is room.
    mutating func admitWaiting() {
        while let first = waiting.first {
            let offer = queue.offer(first.payload, first.time, suspends: true, hasWaited: true)
            var isTooFrequent = false
            switch offer {
            case .full, .closed: return
            case .tooFrequent: isTooFrequent = true
            // Only with a queue that blocks does anyone wait, and that drops nothing.
            case .accepted, .dropped: break
            }
            waiting.removeFirst()
            settled.append(SettledSend(waiting: first, isTooFrequent: isTooFrequent))
        }
    }

    mutating func takeWaiting() -> [WaitingSend<Payload>] {
        defer { waiting.removeAll() }
        // An array of nothing made from a deque writes to the one that all empty arrays share, a race in Thread Sanitizer's eyes.
        return waiting.isEmpty ? [] : Array(waiting)
    }

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
