import CMediaGraphABI
import Foundation
import GStreamer

/// A borrowed block of audio: interleaved 16-bit PCM in GStreamer's own buffer. It is valid only
/// during the call that receives it: the compiler doesn't let it escape, be stored, or cross threads. ``retain()``
/// returns an owned block.
///
/// An `inout` block (in an ``AudioProcessor``) can be edited in place; a `borrowing` one can only be read. In the
/// property names, "frame" has its PCM meaning: one sample of each channel.
public struct AudioFrame: ~Copyable, ~Escapable {
    private var mapped: MappedAudioBuffer
    private let source: UnsafePointer<MGAudioFrame>

    /// Borrows `source`, which is valid for the length of the call. `nil` if the samples aren't 16 bits wide.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGAudioFrame>) {
        let mapped = MappedAudioBuffer(source.pointee.mapped)
        guard mapped.info.format == .s16 else { return nil }
        self.mapped = mapped
        self.source = copy source
    }

    /// The interleaved samples of all channels (left, right, left, right …).
    public var samples: Span<Int16> {
        @_lifetime(borrow self)
        get { mapped.samples(as: Int16.self) }
    }

    /// The interleaved samples of all channels, for editing in place.
    public var mutableSamples: MutableSpan<Int16> {
        @_lifetime(&self)
        mutating get { mapped.mutableSamples(as: Int16.self) }
    }

    /// The number of channels: 1 for mono, 2 for stereo.
    public var channelCount: Int { mapped.channels }
    /// The number of samples per second in each channel.
    public var sampleRate: Int { mapped.rate }
    /// The number of samples in each channel.
    public var frameCount: Int { mapped.frameCount }
    /// The size of all samples in bytes (the SDKs' buffer length).
    public var byteLength: Int { mapped.byteCount }
    /// The format that the caps describe.
    public var info: AudioInfo { mapped.info }
    /// The playing time of the block.
    public var duration: Duration { mapped.info.duration(ofFrames: frameCount) }
    /// The time at which to play the first sample, as a timestamp in the stream's segment, which need not start at 0.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium; `nil` if it isn't known, as with mixes and devices.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The presentation timestamp as running time, by which audio and video are synchronized.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// The wall-clock time of capture; `nil` if the source doesn't provide it.
    public var captureTime: Date? { source.pointee.captureTime }
    /// The ID of the stream that the block belongs to. Each remote user's stream has its own ID.
    public var streamID: String? { source.pointee.streamID }
    /// Whether the block is silence that replaces missing sound, rather than silence that was recorded.
    public var isGap: Bool { source.pointee.is_gap != 0 }

    /// Returns an owned block, which you may keep or send to another task. It shares the buffer, except in two cases,
    /// in which the samples are copied: in an ``AudioProcessor``, whose block may still change, and with
    /// `memory-mode=heap` if the buffer's pool has no buffer to spare.
    ///
    /// Throws `allocationFailed` if ``canRetain`` is false; the stream continues.
    public func retain() throws(MediaGraphError) -> OwnedAudioFrame { try OwnedAudioFrame(retaining: source.pointee) }

    /// Whether ``retain()`` would succeed. All buffers of a bounded pool except two can be retained at once; with
    /// `memory-mode=heap` there is no limit.
    public var canRetain: Bool {
        KeptBuffer.canKeep(
            BufferAccess(source.pointee.buffer), memoryMode: source.pointee.memory_mode,
            isEdited: source.pointee.is_edited != 0)
    }

    /// Returns a buffer for another stream that shares the samples, with another timestamp.
    package func placed(at timestamp: ClockTime?) -> Buffer {
        let buffer = BufferAccess(source.pointee.buffer).shallowCopy
        buffer.access.presentationTimestamp = timestamp
        return buffer
    }
}

/// An owned block of audio. It may be kept and sent to other tasks, and stays valid after the
/// graph has ended. The block holds a reference to the stream's buffer, which its deinitializer releases.
public final class OwnedAudioFrame: Sendable {
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    /// The sample format, rate and channels.
    public let info: AudioInfo
    /// The number of samples in each channel.
    public let frameCount: Int
    /// The time at which to play the first sample, as a timestamp in the stream's segment, which need not start at 0.
    public let presentationTimestamp: ClockTime?
    /// The presentation timestamp as running time.
    public let runningTime: ClockTime?
    /// The position in the medium; `nil` if it isn't known.
    public let streamTime: ClockTime?
    /// The wall-clock time of capture; `nil` if the source doesn't provide it.
    public var captureTime: Date? { captureUnixNanoseconds.map(Date.init(unixNanoseconds:)) }
    private let captureUnixNanoseconds: UInt64?
    /// Whether the block is silence that replaces missing sound.
    public let isGap: Bool

    /// The number of channels: 1 for mono, 2 for stereo.
    public var channelCount: Int { info.channels }
    /// The number of samples per second in each channel.
    public var sampleRate: Int { info.rate }
    /// The size of all samples in bytes.
    public var byteLength: Int { frameCount * info.bytesPerFrame }
    /// The playing time of the block.
    public var duration: Duration { info.duration(ofFrames: frameCount) }
    /// The ID of the stream that the block belongs to.
    public var streamID: String? { stream?.id }

    /// Throws `allocationFailed` in `stack` mode if the buffer's pool can't spare another buffer.
    package init(retaining frame: MGAudioFrame) throws(MediaGraphError) {
        buffer = try KeptBuffer(
            BufferAccess(frame.buffer), memoryMode: frame.memory_mode, isEdited: frame.is_edited != 0)
        caps = Caps(retaining: frame.caps)
        stream = frame.stream_start.map { StreamStart(retaining: $0) }
        info = AudioInfo(frame.mapped.pointee.info)
        frameCount = Int(frame.mapped.pointee.n_samples)
        presentationTimestamp = frame.presentationTimestamp
        runningTime = frame.runningTime
        streamTime = frame.streamTime
        captureUnixNanoseconds = frame.captureUnixNanoseconds
        isGap = frame.is_gap != 0
    }

    /// Maps the buffer for reading while `body` runs. May be called on several threads at once. Throws
    /// `processingFailed` if the buffer can't be mapped, and rethrows the error of `body`.
    public func withFrame<R>(_ body: (borrowing AudioFrame) throws -> R) throws -> R {
        let result = try buffer.access.withAudioBuffer(info, .read) { mapped in
            var source = MGAudioFrame(
                mapped, in: buffer.access, caps, times: AudioTimes(running: runningTime, stream: streamTime),
                streamStart: stream, isEdited: false, memoryMode: .heap)
            // The timestamp on arrival: the buffer's own may have changed since.
            source.presentation_timestamp = UInt64(presentationTimestamp.raw)
            return try withUnsafePointer(to: &source) { pointer in
                guard let frame = AudioFrame(pointer) else {
                    throw MediaGraphError.unsupported(.init("audio", actual: info.formatName))
                }
                return try body(frame)
            }
        }
        guard let result else {
            throw MediaGraphError.processingFailed(.init("audio", actual: "its buffer can't be mapped for reading"))
        }
        return result
    }

    /// Returns a copy of the interleaved samples of all channels.
    public func samples() throws -> [Int16] {
        try withFrame { frame in frame.samples.withUnsafeBufferPointer(Array.init) }
    }
}

/// A block's timestamp as running time and as stream time.
package struct AudioTimes: Sendable {
    package var running: ClockTime?
    /// The position in the medium; `nil` if it isn't known.
    package var stream: ClockTime?

    package init(running: ClockTime?, stream: ClockTime?) {
        self.running = running
        self.stream = stream
    }
}

extension AudioTimes {
    package init(of buffer: BufferAccess, in segment: Segment) {
        running = segment.runningTime(of: buffer.presentationTimestamp)
        stream = segment.streamTime(of: buffer.presentationTimestamp)
    }
}
