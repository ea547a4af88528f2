import CMediaGraphABI
import GStreamer
import Synchronization

/// Suspends a task until its frame or block was accepted or refused. The outcome may arrive before the task suspends.
final class SendSuspension: Sendable {
    private enum State {
        case undecided
        case waiting(CheckedContinuation<Void, any Error>)
        case decided(Result<Void, any Error>)
    }

    private let state = Mutex(State.undecided)
    private let ticket = Atomic<UInt64>(0)

    /// Sends by calling a sender's `send_later` through `start`, which reads the bytes before it returns. Returns a
    /// suspension to wait for if there is no room yet. Throws the node's error. The caller checks for cancellation first,
    /// because it owns the payload until then.
    static func begin(
        _ start: (UnsafeMutableRawPointer, inout UInt64, UnsafeMutablePointer<MGError>) -> Int32
    ) throws -> SendSuspension? {
        let suspension = SendSuspension()
        let waiter = Unmanaged.passRetained(suspension)
        var ticket: UInt64 = 0
        var error = MGError()
        let outcome = start(waiter.toOpaque(), &ticket, &error)
        guard outcome == MG_WAITING else {
            waiter.release()
            if outcome == MG_REFUSED { throw MediaGraphError(taking: error) }
            return nil
        }
        suspension.ticket.store(ticket, ordering: .relaxed)
        return suspension
    }

    /// Waits until the payload was accepted. Cancelling the task cancels the send.
    func wait(_ control: MGSenderControl) async throws {
        let (waiting, cancel, context) = (
            ticket.load(ordering: .relaxed), control.cancel!, Context(raw: control.context)
        )
        try await withTaskCancellationHandler {
            try await result
        } onCancel: {
            cancel(context.raw, waiting)
        }
    }

    /// The context of a sender's C functions. `@unchecked Sendable`: they may be called on any thread, and the sender
    /// outlives the call.
    private struct Context: @unchecked Sendable {
        let raw: UnsafeMutableRawPointer?
    }

    private var result: Void {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let decided = state.withLock { state -> Result<Void, any Error>? in
                    if case .decided(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let decided { continuation.resume(with: decided) }
            }
        }
    }

    private func decide(_ result: Result<Void, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            defer { state = .decided(result) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(with: result)
    }

    /// The `done` function of `send_later`. The node calls it once.
    static let done: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<MGError>?) -> Void = {
        waiter, outcome, error in
        let suspension = Unmanaged<SendSuspension>.fromOpaque(waiter!).takeRetainedValue()
        switch outcome {
        case MG_ACCEPTED: suspension.decide(.success(()))
        case MG_CANCELLED: suspension.decide(.failure(CancellationError()))
        default: suspension.decide(.failure(MediaGraphError(taking: error!.pointee)))
        }
    }
}
