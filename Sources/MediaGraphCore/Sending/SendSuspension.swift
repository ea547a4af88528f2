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

    /// Calls a sender's `send_later` through `start`, and suspends if it returns `MG_WAITING`.
    static func wait(
        _ control: MGSenderControl,
        _ start: (UnsafeMutableRawPointer, inout UInt64, UnsafeMutablePointer<MGError>) -> Int32
    ) async throws {
        try Task.checkCancellation()
        let suspension = SendSuspension()
        let waiter = Unmanaged.passRetained(suspension)
        var ticket: UInt64 = 0
        var error = MGError()
        let outcome = start(waiter.toOpaque(), &ticket, &error)
        guard outcome == MG_WAITING else {
            waiter.release()
            if outcome == MG_REFUSED { throw MediaGraphError(taking: error) }
            return
        }
        let (waiting, cancel, context) = (ticket, control.cancel!, Context(raw: control.context))
        try await withTaskCancellationHandler {
            try await suspension.result
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
