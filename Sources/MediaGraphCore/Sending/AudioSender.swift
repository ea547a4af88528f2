import CMediaGraphABI
import GStreamer

/// What a virtual microphone sends its sound with (Zoom's `ZoomVideoSDKAudioSender`). Any thread; it outlives the
/// graph, and then refuses.
///
/// Sound is 16-bit PCM in the machine's byte order, the samples of two channels interleaved, at one of ``sampleRates``. A
/// block may be of any length up to the node's `max-duration`: blocks join without a gap, wherever they are cut. Without a
/// timestamp each goes on where the one before ended; only after a pause does it begin when it comes. Where the sender's
/// clock runs off the graph's, which is told by when blocks come or by their timestamps, the node's `drift` says what becomes
/// of the sound: it is resampled (`resample`), cut or filled up with silence (`skew`), or counted on (`none`). Whatever it is,
/// a timestamp that leaves more than 40 ms out is taken for a pause, and that is filled with silence.
///
/// `send` waits where the node's `backpressure=block`, while `buffer-time` of sound waits already; never inside
/// `micStartSend`. It throws `invalidParameter` for a length, rate or channel count that can't be, `unsupported` for stereo
/// where the node has `stereo=false`, `tooMuchAtOnce` for a block longer than `max-duration`, `tooFrequent` where the node
/// refuses what it has no room for, `wrongUsage` outside `micStartSend`…`micStopSend`, and `timeOut` when there was no room
/// within `block-timeout`. Without an error the block is in, and heard unless it waits in a queue that does nothing but make all
/// sound late.
///
/// `@unchecked Sendable`: as its superclass.
public final class AudioSender: MediaSender, @unchecked Sendable {
    /// Samples per second that may be sent.
    public static let sampleRates = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 96000, 192000]

    /// Sound that can be sent, as caps.
    package static func caps(stereo: Bool) -> String {
        """
        audio/x-raw, format=\(AudioFormat.s16.gstreamerName), layout=interleaved, \
        rate={ \(sampleRates.map(String.init).joined(separator: ", ")) }, \
        channels=\(stereo ? "[ 1, 2 ]" : "1")
        """
    }

    private let abi: MGAudioSender

    package init(_ abi: MGAudioSender) {
        self.abi = abi
        super.init(abi.control)
    }

    /// 2 where the node takes stereo, else 1.
    public var maximumChannelCount: Int { Int(abi.channels) }

    /// How much sound waits in the node to go out.
    public var buffered: ClockTime {
        ClockTime(nanoseconds: UInt64(clamping: control.level(control.context)))
    }

    /// Sends a block. One copy. `timestamp` is the running time of its first sample.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(
        _ samples: Span<Int16>, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try samples.withUnsafeBytes { (memory) throws(MediaGraphError) in
            try send(memory.baseAddress, memory.count, sampleRate, channelCount, timestamp, nil, nil)
        }
    }

    /// Sends the samples of an array.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(
        _ samples: [Int16], sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try send(samples.span, sampleRate: sampleRate, channelCount: channelCount, timestamp: timestamp)
    }

    /// The SDKs' shape: `dataLength` bytes, a multiple of two for each channel.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(
        _ data: UnsafeRawPointer, dataLength: Int, sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) throws(MediaGraphError) {
        try send(data, dataLength, sampleRate, channelCount, timestamp, nil, nil)
    }

    /// Hands memory over without a copy. `release` runs exactly once, on any thread, also when this throws; until then the
    /// memory must stay as it is.
    @available(*, noasync, message: "blocks under back-pressure; send from a thread of your own")
    public func send(
        owning memory: UnsafeMutableRawBufferPointer, sampleRate: Int, channelCount: Int = 1,
        timestamp: ClockTime? = nil, release: @convention(c) (UnsafeMutableRawPointer?) -> Void,
        context: UnsafeMutableRawPointer?
    ) throws(MediaGraphError) {
        try send(
            UnsafeRawPointer(memory.baseAddress), memory.count, sampleRate, channelCount, timestamp, release, context)
    }

    /// The same for tasks: under back-pressure it suspends, and no thread waits. Throws `CancellationError` too, when the task
    /// is cancelled while it waits; then the block isn't sent. It is copied before the call suspends.
    public func send(
        _ samples: [Int16], sampleRate: Int, channelCount: Int = 1, timestamp: ClockTime? = nil
    ) async throws {
        try await suspending(samples, sampleRate, channelCount, timestamp)
    }

    /// The SDKs' shape for tasks. `dataLength` must be what `bytes` holds.
    public func send(_ bytes: [UInt8], dataLength: Int, sampleRate: Int, channelCount: Int = 1) async throws {
        guard dataLength == bytes.count else {
            throw MediaGraphError.invalidParameter(
                .init("dataLength", expected: "\(bytes.count), as in the buffer", actual: "\(dataLength)"))
        }
        try await suspending(bytes, sampleRate, channelCount, nil)
    }

    private func suspending<Element: BitwiseCopyable>(
        _ elements: [Element], _ rate: Int, _ channels: Int, _ timestamp: ClockTime?
    ) async throws {
        try await SendSuspension.wait(control) { waiter, ticket, error in
            elements.withUnsafeBytes { memory in
                var outgoing = MGOutgoingAudio(memory.baseAddress, memory.count, rate, channels, timestamp)
                return abi.send_later(control.context, &outgoing, waiter, SendSuspension.done, &ticket, error)
            }
        }
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

extension MGOutgoingAudio {
    package init(_ data: UnsafeRawPointer?, _ length: Int, _ rate: Int, _ channels: Int, _ timestamp: ClockTime?) {
        self.init(
            data: data, length: Int64(length), rate: Int32(clamping: rate), channels: Int32(clamping: channels),
            timestamp: UInt64(timestamp.raw), release: nil, release_context: nil, buffer: nil)
    }
}
