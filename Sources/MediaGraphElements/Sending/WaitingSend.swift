import CMediaGraphABI
import Dispatch
import GStreamer
import MediaGraphCore

/// Reports the result of a send to the task that sent.
///
/// `@unchecked Sendable`: the sender's C function may be called on any thread, exactly once.
struct SendCallback: @unchecked Sendable {
    let waiter: UnsafeMutableRawPointer?
    let done: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<MGError>?) -> Void

    func call(_ outcome: Int32, _ error: MediaGraphError?) {
        var stored = MGError()
        error?.store(in: &stored)
        done(waiter, outcome, &stored)
    }
}

/// A task's send that waits for room in the queue.
struct WaitingSend<Payload: SentPayload>: Sendable {
    let ticket: UInt64
    let payload: Payload
    let time: SendTime
    let callback: SendCallback
}

/// A task's send that no longer waits: the queue accepted the payload, or refused it as too frequent.
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
            // Tasks wait only while the queue's policy is to block, and such a queue drops nothing.
            case .accepted, .dropped: break
            }
            waiting.removeFirst()
            settled.append(SettledSend(waiting: first, isTooFrequent: isTooFrequent))
        }
    }

    /// Removes and returns all waiting sends.
    mutating func takeWaiting() -> [WaitingSend<Payload>] {
        defer { waiting.removeAll() }
        // Making an array from an empty deque writes to the storage that all empty arrays share, which Thread Sanitizer
        // reports as a race.
        return waiting.isEmpty ? [] : Array(waiting)
    }

    /// Removes and returns the waiting send with this ticket; `nil` if it no longer waits.
    mutating func takeWaiting(_ ticket: UInt64) -> WaitingSend<Payload>? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return waiting.remove(at: index)
    }
}

/// Runs code after a delay, for the time-outs of tasks: no thread may block for a task.
enum Timer {
    static func run(after time: Duration, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .nanoseconds(Int(clamping: time.nanoseconds)), execute: body)
    }
}
