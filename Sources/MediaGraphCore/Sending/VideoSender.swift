import CGStreamer
import CMediaGraphABI
import Foundation
import GStreamer

/// Sends a video source's frames into its node.
///
/// Its methods may be called on any thread. A sender may outlive the graph; `send` then throws `wrongUsage`.
///
/// `@unchecked Sendable`: see ``MediaSender``.
public final class VideoSender: MediaSender, @unchecked Sendable {
    let abi: MGVideoSender

    init(_ abi: MGVideoSender) {
        self.abi = abi
        super.init(abi.control)
    }

    /// Sends a frame whose planes follow each other without padding. The bytes are copied once.
    ///
    /// Blocks while the node's queue is full and its pace is `fast`, but never inside `startSend`. Throws:
    /// - `invalidParameter` if the length, size or format is impossible; the error names what was expected
    /// - `wrongUsage` outside `startSend`…`stopSend`
    /// - `timeOut` if the queue stayed full for `block-timeout`. By default, live sources have such a limit and fast
    ///   ones don't.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(_ bytes: Span<UInt8>, _ frame: FrameDescription) throws(MediaGraphError) {
        try bytes.withUnsafeBytes { (memory) throws(MediaGraphError) in
            try send(memory.baseAddress, length: memory.count, frame, release: nil, context: nil)
        }
    }

    /// Sends a frame from `Data` whose planes follow each other without padding. The bytes are copied once.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(_ bytes: Data, _ frame: FrameDescription) throws(MediaGraphError) {
        try send(bytes.span, frame)
    }

    /// Sends a frame from an array whose planes follow each other without padding. The bytes are copied once.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(_ bytes: [UInt8], _ frame: FrameDescription) throws(MediaGraphError) {
        try send(bytes.span, frame)
    }

    /// Sends a frame from raw memory, which is copied once, with the parameters of the SDKs' call. `dataLength` is
    /// `width*height*3/2` for I420 with even width and height; odd chroma sizes are rounded up.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func sendVideoFrame(
        _ buffer: UnsafeRawPointer, width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) throws(MediaGraphError) {
        try send(
            buffer, length: dataLength,
            FrameDescription(width: width, height: height, format: format, rotation: rotation),
            release: nil, context: nil)
    }

    /// Sends a frame without copying it, if GStreamer's layout has no padding at this size; otherwise it is copied
    /// once. `release` is called exactly once with `context`, on any thread, also if this throws. Don't change or free
    /// the memory before.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(
        owning memory: UnsafeMutableRawBufferPointer, _ frame: FrameDescription,
        release: @convention(c) (UnsafeMutableRawPointer?) -> Void, context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        try send(UnsafeRawPointer(memory.baseAddress), length: memory.count, frame, release: release, context: context)
    }

    /// Sends a frame from ``makeFrame(_:)`` without copying it.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(_ frame: consuming OutgoingFrame) throws(MediaGraphError) {
        var outgoing = frame.handOver()
        try MediaGraphError.check { abi.send(control.context, &outgoing, $0) }
    }

    /// Returns a frame from the node's pool, to be filled in place and sent without a copy. Its bytes are
    /// uninitialized. May be called at any time after `initialize` was called; throws the errors of `send`.
    public func makeFrame(_ frame: FrameDescription) throws(MediaGraphError) -> OutgoingFrame {
        var outgoing = MGOutgoingFrame(frame)
        var buffer: UnsafeMutablePointer<GstBuffer>?
        var caps: UnsafeMutablePointer<GstCaps>?
        try MediaGraphError.check { abi.acquire(control.context, &outgoing, &buffer, &caps, $0) }
        return OutgoingFrame(Buffer(taking: buffer!), Caps(taking: caps!), frame)
    }

    private func send(
        _ data: UnsafeRawPointer?, length: Int, _ frame: FrameDescription,
        release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        var outgoing = MGOutgoingFrame(frame, data, length, release, context)
        try MediaGraphError.check { abi.send(control.context, &outgoing, $0) }
    }
}

extension MGOutgoingFrame {
    /// Returns the frame's memory to its owner, if the frame isn't sent.
    package func releaseMedia() {
        release?(release_context)
        if let buffer { _ = Buffer(taking: buffer) }
    }

    init(
        _ frame: FrameDescription, _ data: UnsafeRawPointer?, _ length: Int,
        _ release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ context: UnsafeMutableRawPointer?
    ) {
        self.init(frame)
        (self.data, self.length) = (data, Int64(length))
        (self.release, release_context) = (release, context)
    }

    /// All fields except the bytes.
    init(_ frame: FrameDescription) {
        self.init(
            data: nil, length: 0, width: Int32(clamping: frame.width), height: Int32(clamping: frame.height),
            rotation: frame.rotation.rawValue, format: frame.format.pixelFormat.raw,
            range: frame.format.range == .limited ? GST_VIDEO_COLOR_RANGE_16_235 : GST_VIDEO_COLOR_RANGE_0_255,
            rate_numerator: frame.framesPerSecond?.numerator ?? 0,
            rate_denominator: frame.framesPerSecond?.denominator ?? 1,
            aspect_numerator: frame.pixelAspectRatio.numerator, aspect_denominator: frame.pixelAspectRatio.denominator,
            timestamp: UInt64(frame.timestamp.raw), release: nil, release_context: nil, buffer: nil)
    }
}

/// Sending from tasks: these calls suspend under back-pressure instead of blocking the thread. Waiting tasks get room
/// in the order of their calls.
///
/// Each call throws the errors of its blocking form, including `timeOut` after `block-timeout`, and `CancellationError`
/// if the task is cancelled while it waits; the frame isn't sent then. Bytes are copied before a call suspends.
extension VideoSender {
    /// Sends a frame whose planes follow each other without padding. The bytes are copied once.
    public nonisolated(nonsending) func send(_ bytes: Span<UInt8>, _ frame: FrameDescription) async throws {
        try await bytes.withUnsafeBytes { try begin($0.baseAddress, $0.count, frame) }?.wait(control)
    }

    /// Sends a frame from an array whose planes follow each other without padding. The bytes are copied once.
    public nonisolated(nonsending) func send(_ bytes: [UInt8], _ frame: FrameDescription) async throws {
        try await send(bytes.span, frame)
    }

    /// Sends a frame from `Data` whose planes follow each other without padding. The bytes are copied once.
    public nonisolated(nonsending) func send(_ bytes: Data, _ frame: FrameDescription) async throws {
        try await send(bytes.span, frame)
    }

    /// Sends a frame from raw memory, which is copied once, with the parameters of the SDKs' call.
    public nonisolated(nonsending) func sendVideoFrame(
        _ buffer: UnsafeRawPointer, width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) async throws {
        let frame = FrameDescription(width: width, height: height, format: format, rotation: rotation)
        try await begin(buffer, dataLength, frame)?.wait(control)
    }

    /// Sends a frame from an array, with the parameters of the SDKs' call. `dataLength` must be the size of `bytes`.
    public nonisolated(nonsending) func sendVideoFrame(
        _ bytes: [UInt8], width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) async throws {
        try MediaGraphError.check(dataLength: dataLength, of: bytes.count)
        try await send(
            bytes.span, FrameDescription(width: width, height: height, format: format, rotation: rotation))
    }

    /// Sends a frame from `Data`, with the parameters of the SDKs' call. `dataLength` must be the size of `bytes`.
    public nonisolated(nonsending) func sendVideoFrame(
        _ bytes: Data, width: Int, height: Int, dataLength: Int, rotation: Rotation = .none,
        format: FrameFormat = .i420
    ) async throws {
        try MediaGraphError.check(dataLength: dataLength, of: bytes.count)
        try await send(
            bytes.span, FrameDescription(width: width, height: height, format: format, rotation: rotation))
    }

    /// Sends a frame without copying it, under the rules of the blocking form.
    public nonisolated(nonsending) func send(
        owning memory: UnsafeMutableRawBufferPointer, _ frame: FrameDescription,
        release: @convention(c) (UnsafeMutableRawPointer?) -> Void, context: UnsafeMutableRawPointer?
    ) async throws {
        try await begin(UnsafeRawPointer(memory.baseAddress), memory.count, frame, release, context)?.wait(control)
    }

    /// Sends a frame from ``makeFrame(_:)`` without copying it.
    public nonisolated(nonsending) func send(_ frame: consuming OutgoingFrame) async throws {
        var outgoing = frame.handOver()
        try await begin(&outgoing)?.wait(control)
    }

    private func begin(
        _ data: UnsafeRawPointer?, _ length: Int, _ frame: FrameDescription,
        _ release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)? = nil,
        _ context: UnsafeMutableRawPointer? = nil
    ) throws -> SendSuspension? {
        var outgoing = MGOutgoingFrame(frame, data, length, release, context)
        return try begin(&outgoing)
    }

    private func begin(_ outgoing: inout MGOutgoingFrame) throws -> SendSuspension? {
        guard !Task.isCancelled else {
            outgoing.releaseMedia()
            throw CancellationError()
        }
        return try SendSuspension.begin { waiter, ticket, error in
            abi.send_later(control.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
        }
    }
}
