import CMediaGraphABI
import GStreamer

/// A borrowed access unit of encoded video (`buffer-type=encoded`), as it came. Valid only inside the call; `retain()` gives
/// an owned one.
public struct EncodedVideoFrame: ~Copyable, ~Escapable {
    private let source: UnsafePointer<MGVideoFrame>
    /// The codec of the bytes.
    public let codec: VideoCodec

    /// Lives as long as `source`, which is the length of the call. `nil` for a codec that no pipe takes.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGVideoFrame>) {
        guard let codec = VideoCodec(rawValue: Caps(retaining: source.pointee.caps)[0].name) else { return nil }
        self.codec = codec
        self.source = copy source
    }

    /// The coded bytes: one picture, or the fields of one.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = unsafe Span<UInt8>(_unsafeStart: source.pointee.data, count: Int(source.pointee.length))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// It can be decoded without the ones before it.
    public var isKeyframe: Bool { BufferAccess(source.pointee.buffer).isKeyframe }
    /// Size, rate, profile, and how the bytes are packed (`stream-format`, `codec_data`).
    public var caps: Caps { Caps(retaining: source.pointee.caps) }
    /// When to show it, as a timestamp in the stream's segment. That need not begin at 0: a file with an edit list, a seek or a
    /// live stream begins elsewhere. ``streamTime`` is the position in the medium.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium: where a player's slider would stand. `nil` outside of the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// When to decode it, where that is another time.
    public var decodingTimestamp: ClockTime? { source.pointee.decodingTimestamp }
    /// How long the frame is shown; `nil` where the stream doesn't say.
    public var duration: ClockTime? { source.pointee.durationTime }
    /// The presentation timestamp as running time.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// Wall-clock time of capture in Unix nanoseconds, where the source said it.
    public var captureTime: UInt64? { source.pointee.captureTime }
    /// How far to turn the decoded picture clockwise to stand upright.
    public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// What to flip in the decoded picture as it lies, before it is turned.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// Which stream it belongs to.
    public var streamID: String? { source.pointee.streamID }

    /// Whether its pool can spare it.
    public var canRetain: Bool { BufferAccess(source.pointee.buffer).canBeKept }

    /// An owned access unit on the same buffer. Throws `allocationFailed` at the limit of its pool.
    public func retain() throws(MediaGraphError) -> OwnedEncodedVideoFrame {
        OwnedEncodedVideoFrame(kept: try KeptFrame(source.pointee))
    }
}

/// An access unit that may be kept and sent to other tasks; its buffer is released with the last copy.
public struct OwnedEncodedVideoFrame: Sendable {
    fileprivate let kept: KeptFrame

    /// Maps the buffer and lends the access unit while `body` runs. Any thread, several at once.
    public func withFrame<R>(_ body: (borrowing EncodedVideoFrame) throws -> R) throws -> R {
        let result = try BufferAccess(kept.frame.buffer).withBytes { bytes -> R? in
            var frame = kept.frame
            frame.data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            frame.length = Int64(bytes.count)
            return try withUnsafePointer(to: &frame) { pointer in
                guard let frame = EncodedVideoFrame(pointer) else { return nil }
                return try body(frame)
            }
        }
        guard let result = result ?? nil else {
            throw MediaGraphError.processingFailed(.init("access unit", actual: "its buffer can't be mapped"))
        }
        return result
    }
}
