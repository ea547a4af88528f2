import CMediaGraphABI
import GStreamer

/// The same for tasks: under back-pressure they suspend, and no thread waits. They get room in the order in which they asked.
///
/// Each throws what its blocking form does, also `timeOut` after `block-timeout`, and `CancellationError` when the task is
/// cancelled while it waits; then the frame isn't sent. Memory is copied before the call suspends.
extension VideoSender {
    /// Sends one frame whose planes lie one behind the other without padding. One copy.
    public func send(_ bytes: [UInt8], _ frame: FrameDescription) async throws {
        try await SendSuspension.wait(control) { waiter, ticket, error in
            bytes.withUnsafeBytes { memory in
                var outgoing = MGOutgoingFrame(frame)
                outgoing.data = memory.baseAddress
                outgoing.length = Int64(memory.count)
                return abi.send_later(control.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
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
        try await SendSuspension.wait(control) { waiter, ticket, error in
            abi.send_later(control.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
        }
    }
}
