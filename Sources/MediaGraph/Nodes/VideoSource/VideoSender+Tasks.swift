import CMediaGraphABI
import GStreamer
import Synchronization

/// The same for tasks: under back-pressure they suspend, and no thread waits. They get room in the order in which they asked.
///
/// Each throws what its blocking form does, also `timeOut` after `block-timeout`, and `CancellationError` when the task is
/// cancelled while it waits; then the frame isn't sent. Memory is copied before the call suspends.
extension VideoSender {
    /// Sends one frame whose planes lie one behind the other without padding. One copy.
    public func send(_ bytes: [UInt8], _ frame: FrameDescription) async throws {
        try await suspending { waiter, ticket, error in
            bytes.withUnsafeBytes { memory in
                var outgoing = MGOutgoingFrame(frame)
                outgoing.data = memory.baseAddress
                outgoing.length = Int64(memory.count)
                return abi.send_later(abi.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
            }
        }
    }

    /// The SDKs' shape. `dataLength` must be what `bytes` holds.
    public func sendVideoFrame(
        _ bytes: [UInt8], width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) async throws {
        guard dataLength == bytes.count else {
            throw MediaGraphError.invalidParameter(
                .init("dataLength", expected: "\(bytes.count), as in the buffer", actual: "\(dataLength)"))
        }
        try await send(bytes, FrameDescription(width: width, height: height, format: format, rotation: rotation))
    }

    /// Sends a frame that was made by `makeFrame`: nothing is copied.
    public func send(_ frame: consuming OutgoingFrame) async throws {
        var outgoing = frame.handOver()
        try await suspending { waiter, ticket, error in
            abi.send_later(abi.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
        }
    }

    private func suspending(
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
        let waiting = ticket
        try await withTaskCancellationHandler {
            try await suspension.result
        } onCancel: {
            abi.cancel(abi.context, waiting)
        }
    }
}

/// A task that waits for what becomes of its frame, which may be known before it waits.
private final class SendSuspension: Sendable {
    private enum State {
        case undecided
        case waiting(CheckedContinuation<Void, any Error>)
        case decided(Result<Void, any Error>)
    }

    private let state = Mutex(State.undecided)

    var result: Void {
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

    /// What C calls, once.
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
