import CMediaGraphABI
import Foundation
import GStreamer

/// Sends a virtual microphone's sound into its node (Zoom's `ZoomVideoSDKAudioSender`).
///
/// Its methods may be called on any thread. A sender may outlive the graph; `send` then throws `wrongUsage`.
///
/// Sound is 16-bit PCM in native byte order, with the samples of two channels interleaved, at one of ``sampleRates``. A
/// block may have any length up to the node's `max-duration`; consecutive blocks join without a gap. A block without a
/// timestamp follows the end of the block before it. After a pause, it starts at the time of its arrival.
///
/// The node compares the arrival times or timestamps of blocks with the graph's clock. If the sender's clock drifts,
/// the node's `drift` property decides: the sound is resampled (`resample`), cut or padded with silence (`skew`), or
/// left uncorrected (`none`). In every mode, a timestamp that leaves a gap of more than 40 ms starts a pause, which is
/// filled with silence.
///
/// With `backpressure=block`, `send` waits while the node queues `buffer-time` of sound, but never inside
/// `micStartSend`. `send` throws:
/// - `invalidParameter` if the length, rate or channel count is impossible
/// - `unsupported` for stereo if the node has `stereo=false`
/// - `tooMuchAtOnce` for a block longer than `max-duration`
/// - `tooFrequent` if the queue is full and the node has `backpressure=refuse`
/// - `wrongUsage` outside `micStartSend`…`micStopSend`
/// - `timeOut` if the queue stayed full for `block-timeout`
///
/// A block that was accepted is played, unless the node drops it to shorten a queue that only delays all sound.
///
/// `@unchecked Sendable`: see ``MediaSender``.
public final class AudioSender: MediaSender, @unchecked Sendable {
    /// The sample rates that `send` accepts, in Hz.
    public static let sampleRates = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 96000, 192000]

    /// Returns the caps of sound that can be sent.
    package static func caps(stereo: Bool) -> String {
        """
        audio/x-raw, format=\(AudioFormat.s16.gstreamerName), layout=interleaved, \
        rate={ \(sampleRates.map(String.init).joined(separator: ", ")) }, \
        channels=\(stereo ? "[ 1, 2 ]" : "1")
        """
    }

    fileprivate let abi: MGAudioSender

    package init(_ abi: MGAudioSender) {
        self.abi = abi
        super.init(abi.control)
    }

    /// The highest channel count that `send` accepts: 2 if the node has `stereo=true`, otherwise 1.
    public var maximumChannelCount: Int { Int(abi.channels) }

    /// The duration of the sound that waits in the node's queue.
    public var buffered: Duration { .nanoseconds(max(0, control.level(control.context))) }

    /// Sends a block, which is copied once. `timestamp` is the running time of its first sample.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(
        _ samples: Span<Int16>, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try samples.withUnsafeBytes { (memory) throws(MediaGraphError) in
            try send(memory.baseAddress, memory.count, sampleRate, channelCount, timestamp, nil, nil)
        }
    }

    /// Sends a block from an array, which is copied once. `timestamp` is the running time of its first sample.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(
        _ samples: [Int16], sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try send(samples.span, sampleRate: sampleRate, channelCount: channelCount, timestamp: timestamp)
    }

    /// Sends a block from raw memory, which is copied once, with the parameters of the SDKs' call. `dataLength` is in
    /// bytes, a multiple of two for each channel.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(
        _ data: UnsafeRawPointer, dataLength: Int, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try send(data, dataLength, sampleRate, channelCount, timestamp, nil, nil)
    }

    /// Sends a block without copying it. `release` is called exactly once with `context`, on any thread, also if this
    /// throws. Don't change or free the memory before.
    @available(*, noasync, message: "blocks under back-pressure; write `await` for the form that suspends")
    public func send(
        owning memory: UnsafeMutableRawBufferPointer, sampleRate: Int, channelCount: Int = 1,
        timestamp: ClockTime? = nil, release: @convention(c) (UnsafeMutableRawPointer?) -> Void,
        context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        try send(
            UnsafeRawPointer(memory.baseAddress), memory.count, sampleRate, channelCount, timestamp, release, context)
    }

    private func send(
        _ data: UnsafeRawPointer?, _ length: Int, _ rate: Int, _ channels: Int, _ timestamp: ClockTime?,
        _ release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        var outgoing = MGOutgoingAudio(data, length, rate, channels, timestamp)
        outgoing.release = release
        outgoing.release_context = context
        try MediaGraphError.check { abi.send(control.context, &outgoing, $0) }
    }
}

/// Sending from tasks: these calls suspend under back-pressure instead of blocking the thread. Waiting tasks get room
/// in the order of their calls.
///
/// Each call throws the errors of its blocking form, and `CancellationError` if the task is cancelled while it waits;
/// the block isn't sent then. Samples are copied before a call suspends.
extension AudioSender {
    /// Sends a block, which is copied once. `timestamp` is the running time of its first sample.
    public nonisolated(nonsending) func send(
        _ samples: Span<Int16>, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await samples.withUnsafeBytes { try begin($0.baseAddress, $0.count, sampleRate, channelCount, timestamp) }?
            .wait(control)
    }

    /// Sends a block from an array, which is copied once. `timestamp` is the running time of its first sample.
    public nonisolated(nonsending) func send(
        _ samples: [Int16], sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await send(samples.span, sampleRate: sampleRate, channelCount: channelCount, timestamp: timestamp)
    }

    /// Sends a block from raw memory, which is copied once, with the parameters of the SDKs' call. `dataLength` is in
    /// bytes, a multiple of two for each channel.
    public nonisolated(nonsending) func send(
        _ data: UnsafeRawPointer, dataLength: Int, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await begin(data, dataLength, sampleRate, channelCount, timestamp)?.wait(control)
    }

    /// Sends a block from an array of bytes, with the parameters of the SDKs' call. `dataLength` must be the size of
    /// `bytes`.
    public nonisolated(nonsending) func send(
        _ bytes: [UInt8], dataLength: Int, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await send(bytes.span, dataLength, sampleRate, channelCount, timestamp)
    }

    /// Sends a block from `Data`, with the parameters of the SDKs' call. `dataLength` must be the size of `bytes`.
    public nonisolated(nonsending) func send(
        _ bytes: Data, dataLength: Int, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await send(bytes.span, dataLength, sampleRate, channelCount, timestamp)
    }

    /// Sends a block without copying it, under the rules of the blocking form.
    public nonisolated(nonsending) func send(
        owning memory: UnsafeMutableRawBufferPointer, sampleRate: Int, channelCount: Int = 1,
        timestamp: ClockTime? = nil, release: @convention(c) (UnsafeMutableRawPointer?) -> Void,
        context: UnsafeMutableRawPointer?
    ) async throws {
        try await begin(
            UnsafeRawPointer(memory.baseAddress), memory.count, sampleRate, channelCount, timestamp, release, context)?
            .wait(control)
    }

    private nonisolated(nonsending) func send(
        _ bytes: Span<UInt8>, _ length: Int, _ rate: Int, _ channels: Int, _ timestamp: ClockTime?
    ) async throws {
        try MediaGraphError.check(dataLength: length, of: bytes.count)
        try await bytes.withUnsafeBytes { try begin($0.baseAddress, $0.count, rate, channels, timestamp) }?
            .wait(control)
    }

    private func begin(
        _ data: UnsafeRawPointer?, _ length: Int, _ rate: Int, _ channels: Int, _ timestamp: ClockTime?,
        _ release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)? = nil,
        _ context: UnsafeMutableRawPointer? = nil
    ) throws -> SendSuspension? {
        var outgoing = MGOutgoingAudio(data, length, rate, channels, timestamp)
        (outgoing.release, outgoing.release_context) = (release, context)
        guard !Task.isCancelled else {
            outgoing.releaseMedia()
            throw CancellationError()
        }
        return try SendSuspension.begin { waiter, ticket, error in
            abi.send_later(control.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
        }
    }
}

extension MediaGraphError {
    /// Throws `invalidParameter` if the SDKs' parameter `dataLength` isn't the size of the buffer.
    static func check(dataLength: Int, of size: Int) throws(MediaGraphError) {
        guard dataLength == size else {
            throw .invalidParameter(
                .init("dataLength", expected: "\(size), the size of the buffer", actual: "\(dataLength)"))
        }
    }
}

extension MGOutgoingAudio {
    /// Returns the block's memory to its owner, if the block isn't sent.
    package func releaseMedia() {
        release?(release_context)
        if let buffer { _ = Buffer(taking: buffer) }
    }

    package init(_ data: UnsafeRawPointer?, _ length: Int, _ rate: Int, _ channels: Int, _ timestamp: ClockTime?) {
        self.init(
            data: data, length: Int64(length), rate: Int32(clamping: rate), channels: Int32(clamping: channels),
            timestamp: UInt64(timestamp.raw), release: nil, release_context: nil, buffer: nil)
    }
}
