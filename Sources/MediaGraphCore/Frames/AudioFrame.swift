import CMediaGraphABI
import GStreamer

/// A borrowed block of audio (`memory-mode=stack`): 16-bit PCM, interleaved, in GStreamer's own buffer, valid only inside
/// the call that got it. The compiler refuses to let it escape, be stored, or cross threads; `retain()` gives an owned one.
///
/// As `inout` (in an `AudioProcessor`) its samples can be edited in place; as `borrowing` they can only be read. A frame,
/// as in PCM's own vocabulary, is one sample of each channel.
public struct AudioFrame: ~Copyable, ~Escapable {
    private var mapped: MappedAudioBuffer
    private let source: UnsafePointer<MGAudioFrame>

    /// Lives as long as `source`, which is the length of the call. `nil` for samples that aren't 16 bits wide.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGAudioFrame>) {
        let mapped = MappedAudioBuffer(source.pointee.mapped)
        guard mapped.info.format == .s16 else { return nil }
        self.mapped = mapped
        self.source = copy source
    }

    /// The samples of all channels, one of each channel after the other (left, right, left, right …).
    public var samples: Span<Int16> {
        @_lifetime(borrow self)
        get { mapped.samples(as: Int16.self) }
    }

    /// The same for editing in place.
    public var mutableSamples: MutableSpan<Int16> {
        @_lifetime(&self)
        mutating get { mapped.mutableSamples(as: Int16.self) }
    }

    /// 1: mono, 2: stereo.
    public var channelCount: Int { mapped.channels }
    /// Samples per second of each channel.
    public var sampleRate: Int { mapped.rate }
    /// Samples of each channel.
    public var frameCount: Int { mapped.frameCount }
    /// Bytes of all samples (the SDKs' buffer length).
    public var byteLength: Int { mapped.byteCount }
    /// Everything that its caps say.
    public var info: AudioInfo { mapped.info }
    /// How long it sounds.
    public var duration: ClockTime { mapped.info.duration(ofFrames: frameCount) }
    /// When its first sample is to be heard, as a timestamp in the stream's segment, which need not begin at 0.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium; `nil` where that isn't known, as of a mix or a device.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The same as running time: what sound and picture are synchronised by.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// Wall-clock time of capture in Unix nanoseconds, where the source said it.
    public var captureTime: UInt64? { source.pointee.captureTime }
    /// Which stream it belongs to: a remote user's has an ID of its own.
    public var streamID: String? { source.pointee.streamID }
    /// Silence that stands for sound that never came, rather than sound that is silent.
    public var isGap: Bool { source.pointee.is_gap != 0 }

    /// An owned block on the same buffer: nothing is copied. Keep it, or send it to another task. In an `AudioProcessor`,
    /// where the block goes on changing, it is a copy as it is now.
    ///
    /// Throws `allocationFailed` when ``canRetain`` is false; the stream goes on.
    public func retain() throws(MediaGraphError) -> OwnedAudioFrame { try OwnedAudioFrame(retaining: source.pointee) }

    /// Whether the pool of its buffer can spare it: of a pool with a bound all buffers but two can be kept at once.
    public var canRetain: Bool { source.pointee.is_edited != 0 || BufferAccess(source.pointee.buffer).canBeKept }

    /// The same samples, not copied, as a buffer of another stream.
    package func placed(at timestamp: ClockTime?) -> Buffer {
        let buffer = BufferAccess(source.pointee.buffer).described
        buffer.access.presentationTimestamp = timestamp
        return buffer
    }
}

/// An owned block of audio (`memory-mode=heap`): holds a reference on the stream's buffer, released once, with the last
/// copy of the reference. It may be kept and sent to other tasks, and stays valid after the graph has ended.
public final class OwnedAudioFrame: Sendable {
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    /// Sample format, rate and channels.
    public let info: AudioInfo
    /// Samples of each channel.
    public let frameCount: Int
    /// When to play the first sample, as a timestamp in the stream's segment, which need not begin at 0.
    public let presentationTimestamp: ClockTime?
    /// When to play the first sample, as running time of the graph.
    public let runningTime: ClockTime?
    /// The position in the medium.
    public let streamTime: ClockTime?
    /// Unix nanoseconds.
    public let captureTime: UInt64?
    /// Silence that stands for sound that never came.
    public let isGap: Bool

    /// 1: mono, 2: stereo.
    public var channelCount: Int { info.channels }
    /// Samples per second of each channel.
    public var sampleRate: Int { info.rate }
    /// Bytes of all samples.
    public var byteLength: Int { frameCount * info.bytesPerFrame }
    /// How long it sounds.
    public var duration: ClockTime { info.duration(ofFrames: frameCount) }
    /// Which stream it belongs to.
    public var streamID: String? { stream?.id }

    /// Throws at the limit of the buffer's pool.
    convenience init(retaining frame: MGAudioFrame) throws(MediaGraphError) {
        if frame.is_edited != 0 {
            // It goes on changing: what is kept of it is a copy.
            self.init(frame, KeptBuffer(copying: BufferAccess(frame.buffer)))
        } else {
            guard let buffer = KeptBuffer(keeping: BufferAccess(frame.buffer)) else { throw .poolLimit }
            self.init(frame, buffer)
        }
    }

    /// At the limit of the buffer's pool, a copy.
    package convenience init(retainingOrCopying frame: MGAudioFrame) {
        if let buffer = KeptBuffer(keeping: BufferAccess(frame.buffer)) {
            self.init(frame, buffer)
        } else {
            self.init(frame, KeptBuffer(copying: BufferAccess(frame.buffer)))
        }
    }

    private init(_ frame: MGAudioFrame, _ buffer: consuming KeptBuffer) {
        self.buffer = buffer
        caps = Caps(retaining: frame.caps)
        stream = frame.stream_start.map { StreamStart(retaining: $0) }
        info = AudioInfo(frame.mapped.pointee.info)
        frameCount = Int(frame.mapped.pointee.n_samples)
        presentationTimestamp = frame.presentationTimestamp
        runningTime = frame.runningTime
        streamTime = frame.streamTime
        captureTime = frame.captureTime
        isGap = frame.is_gap != 0
    }

    /// Maps the buffer for reading while `body` runs. Any thread, several at once.
    public func withFrame<R>(_ body: (borrowing AudioFrame) throws -> R) throws -> R {
        let result = try buffer.access.withAudioBuffer(info, .read) { mapped in
            var source = MGAudioFrame(
                mapped, in: buffer.access, caps, times: AudioTimes(running: runningTime, stream: streamTime),
                streamStart: stream, isEdited: false)
            // What it was given when it came: the buffer's own may have been changed meanwhile.
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

    /// The samples of all channels, one of each channel after the other.
    public func samples() throws -> [Int16] {
        try withFrame { frame in frame.samples.withUnsafeBufferPointer(Array.init) }
    }
}
