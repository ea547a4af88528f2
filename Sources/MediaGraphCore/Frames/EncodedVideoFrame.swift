import CMediaGraphABI
import Foundation
import GStreamer

/// A borrowed access unit of encoded video (`buffer-type=encoded`). It is valid only during the call that receives it;
/// ``retain()`` returns an owned one.
public struct EncodedVideoFrame: ~Copyable, ~Escapable {
    private let source: UnsafePointer<MGVideoFrame>
    /// The codec.
    public let codec: VideoCodec

    /// Borrows `source`, which is valid for the length of the call. `nil` for a codec that no pipe accepts.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGVideoFrame>) {
        guard let codec = VideoCodec(rawValue: Caps(retaining: source.pointee.caps)[0].name) else { return nil }
        self.codec = codec
        self.source = copy source
    }

    /// The coded bytes of one picture, or of its fields.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = unsafe Span<UInt8>(_unsafeStart: source.pointee.data, count: Int(source.pointee.length))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Whether the access unit can be decoded without the ones before it.
    public var isKeyframe: Bool { BufferAccess(source.pointee.buffer).isKeyframe }
    /// The caps: size, frame rate, profile, and packaging of the bytes (`stream-format`, `codec_data`).
    public var caps: Caps { Caps(retaining: source.pointee.caps) }
    /// The time at which to show the picture, as a timestamp in the stream's segment. The segment need not start at 0:
    /// after a seek, in live streams, and in files with edit lists it doesn't. ``streamTime`` is the position in the
    /// medium.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium, as a player's slider shows it; `nil` outside the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The time at which to decode the access unit, as a timestamp in the stream's segment; `nil` if the stream doesn't
    /// say.
    public var decodingTimestamp: ClockTime? { source.pointee.decodingTimestamp }
    /// How long the picture is shown; `nil` if the stream doesn't say.
    public var duration: Duration? { Duration(raw: GstClockTime(source.pointee.duration)) }
    /// The presentation timestamp as running time.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// The wall-clock time of capture; `nil` if the source doesn't provide it.
    public var captureTime: Date? { source.pointee.captureTime }
    /// The clockwise rotation that shows the decoded picture upright, once it is flipped by ``flip``.
    public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// The flip to apply to the decoded picture, before its ``rotation``.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// The ID of the stream that the access unit belongs to.
    public var streamID: String? { source.pointee.streamID }

    /// Whether ``retain()`` would succeed. All buffers of a bounded pool except two can be retained at once; with
    /// `memory-mode=heap` there is no limit.
    public var canRetain: Bool {
        KeptBuffer.canKeep(BufferAccess(source.pointee.buffer), memoryMode: source.pointee.retainingMode)
    }

    /// Returns an owned access unit. It shares the buffer, unless the buffer's pool has no buffer to spare: then the
    /// bytes are copied with `memory-mode=heap`. Throws `allocationFailed` if ``canRetain`` is false.
    public func retain() throws(MediaGraphError) -> OwnedEncodedVideoFrame {
        OwnedEncodedVideoFrame(kept: try KeptFrame(source.pointee))
    }
}

/// An owned access unit, which may be kept and sent to other tasks. Its buffer is released with the last copy.
public struct OwnedEncodedVideoFrame: Sendable {
    fileprivate let kept: KeptFrame

    /// Maps the buffer and lends the access unit to `body`. May be called on several threads at once. Throws
    /// `processingFailed` if the buffer can't be mapped, and rethrows the error of `body`.
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
