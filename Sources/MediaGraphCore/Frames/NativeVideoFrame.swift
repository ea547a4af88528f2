import CMediaGraphABI
import GStreamer

/// A borrowed frame in the memory that it came in (`buffer-type=native`): DMABuf, GL, or plain. The counterpart of Zoom's
/// and ZEGO's `CVPixelBuffer`. Valid only inside the call; `retain()` gives an owned one.
public struct NativeVideoFrame: ~Copyable, ~Escapable {
    private let source: UnsafePointer<MGVideoFrame>

    /// Lives as long as `source`, which is the length of the call.
    @_lifetime(borrow source)
    init(_ source: borrowing UnsafePointer<MGVideoFrame>) { self.source = copy source }

    /// Format, size and caps features, such as `video/x-raw(memory:DMABuf), format=NV12`.
    public var caps: Caps { Caps(retaining: source.pointee.caps) }
    /// The kinds of memory that it is made of, such as "dmabuf", "GLMemory" or "SystemMemory".
    public var memoryTypes: [String] { BufferAccess(source.pointee.buffer).memoryTypes }
    /// How far to turn it clockwise to stand upright.
    public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// What to flip in it as it lies, before it is turned.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// When to show it, as a timestamp in the stream's segment. That need not begin at 0: a file with an edit list, a seek or a
    /// live stream begins elsewhere. ``streamTime`` is the position in the medium.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium: where a player's slider would stand. `nil` outside of the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The presentation timestamp as running time.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// Wall-clock time of capture in Unix nanoseconds, where the source said it.
    public var captureTime: UInt64? { source.pointee.captureTime }
    /// Which stream it belongs to.
    public var streamID: String? { source.pointee.streamID }

    /// The `GstBuffer *` itself, for the libraries that know its memory (gstreamer-allocators, gstreamer-gl). It is shared:
    /// don't write to it, and keep it no longer than the call.
    public func withUnsafeBuffer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try body(UnsafeMutableRawPointer(source.pointee.buffer))
    }

    /// Whether its pool can spare it.
    public var canRetain: Bool { BufferAccess(source.pointee.buffer).canBeKept }

    /// An owned frame on the same buffer. Throws `allocationFailed` at the limit of its pool.
    public func retain() throws(MediaGraphError) -> OwnedNativeVideoFrame {
        OwnedNativeVideoFrame(kept: try KeptFrame(source.pointee))
    }
}

/// A native frame that may be kept and sent to other tasks; its buffer is released with the last copy.
public struct OwnedNativeVideoFrame: Sendable {
    fileprivate let kept: KeptFrame

    /// Lends the frame while `body` runs. Any thread, several at once.
    public func withFrame<R>(_ body: (borrowing NativeVideoFrame) throws -> R) rethrows -> R {
        try withUnsafePointer(to: kept.frame) { try body(NativeVideoFrame($0)) }
    }
}
