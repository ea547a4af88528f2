import CMediaGraphABI
import Foundation
import GStreamer

/// A borrowed frame in the stream's own memory (`buffer-type=native`): DMABuf, GL, or system memory. The counterpart of
/// Zoom's and ZEGO's `CVPixelBuffer`. It is valid only during the call that receives it; ``retain()`` returns an owned
/// one.
///
/// If the pipe or the subscription asks for a format that the stream lacks, the frame is converted, and then in system
/// memory.
public struct NativeVideoFrame: ~Copyable, ~Escapable {
    private let source: UnsafePointer<MGVideoFrame>

    /// Borrows `source`, which is valid for the length of the call.
    @_lifetime(borrow source)
    init(_ source: borrowing UnsafePointer<MGVideoFrame>) { self.source = copy source }

    /// The caps: format, size and caps features, such as `video/x-raw(memory:DMABuf), format=NV12`.
    public var caps: Caps { Caps(retaining: source.pointee.caps) }
    /// The width in pixels; 0 if the caps have none.
    public var width: Int { VideoInfo(caps)?.width ?? 0 }
    /// The height in pixels; 0 if the caps have none.
    public var height: Int { VideoInfo(caps)?.height ?? 0 }
    /// The pixel format; `nil` if it isn't one that nodes carry as raw frames, such as a GPU's tiled format.
    public var format: VideoFormat? { VideoInfo(caps)?.format }
    /// The types of the buffer's memories, such as "dmabuf", "GLMemory" or "SystemMemory".
    public var memoryTypes: [String] { BufferAccess(source.pointee.buffer).memoryTypes }
    /// The clockwise rotation that shows the frame upright, once it is flipped by ``flip``.
    public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// The flip to apply to the frame, before its ``rotation``.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// The time at which to show the frame, as a timestamp in the stream's segment. The segment need not start at 0:
    /// after a seek, in live streams, and in files with edit lists it doesn't. ``streamTime`` is the position in the
    /// medium.
    public var presentationTimestamp: ClockTime? { source.pointee.presentationTimestamp }
    /// The position in the medium, as a player's slider shows it; `nil` outside the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The presentation timestamp as running time.
    public var runningTime: ClockTime? { source.pointee.runningTime }
    /// The wall-clock time of capture; `nil` if the source doesn't provide it.
    public var captureTime: Date? { source.pointee.captureTime }
    /// The ID of the stream that the frame belongs to.
    public var streamID: String? { source.pointee.streamID }
    /// The camera that the frame comes from; `nil` if it isn't from a user's camera (ZEGO's publish channel).
    public var publishChannel: PublishChannel? { streamID.flatMap { PublishChannel(streamID: $0) } }

    /// Calls `body` with the `GstBuffer *`, for libraries that understand its memory (gstreamer-allocators,
    /// gstreamer-gl). The buffer is shared: don't write to it, and don't use it after the call.
    public func withUnsafeBuffer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try body(UnsafeMutableRawPointer(source.pointee.buffer))
    }

    /// Maps the buffer for reading while `body` runs, and lends it as a frame with planes. Memory of a GPU is copied for
    /// that.
    ///
    /// Throws `unsupported` for a format that the nodes don't carry, `processingFailed` if the CPU can't read the memory,
    /// and the error of `body`.
    public func withVideoFrame<R>(_ body: (borrowing VideoFrame) throws -> R) throws -> R {
        let buffer = BufferAccess(source.pointee.buffer)
        guard let info = VideoInfo(caps), info.format != nil else {
            throw MediaGraphError.unsupported(
                .init("a native frame's planes", expected: "one of \(FrameCaps.formatNames)", actual: "\(caps)"))
        }
        let result = try buffer.withVideoFrame(info, .read) { mapped -> R? in
            var frame = source.pointee
            frame.mapped = mapped.frame
            frame.kind = MG_RAW
            return try withUnsafePointer(to: &frame) { pointer in
                guard let frame = VideoFrame(pointer) else { return nil }
                return try body(frame)
            }
        }
        guard let result = result ?? nil else {
            throw MediaGraphError.processingFailed(
                .init(
                    "a native frame",
                    actual: "can't be mapped: it is \(caps) in \(buffer.memoryTypes), \(buffer.size) bytes"))
        }
        return result
    }

    /// Whether ``retain()`` would succeed. All buffers of a bounded pool except two can be retained at once; with
    /// `memory-mode=heap` there is no limit for frames in system memory.
    public var canRetain: Bool {
        KeptBuffer.canKeep(BufferAccess(source.pointee.buffer), memoryMode: source.pointee.retainingMode)
    }

    /// Returns an owned frame that shares the buffer, without a copy. With `memory-mode=heap`, a frame in system memory
    /// is copied if the buffer's pool has no buffer to spare. Throws `allocationFailed` if ``canRetain`` is false.
    public func retain() throws(MediaGraphError) -> OwnedNativeVideoFrame {
        OwnedNativeVideoFrame(kept: try KeptFrame(source.pointee))
    }
}

/// An owned native frame, which may be kept and sent to other tasks. Its buffer is released with the last copy.
public struct OwnedNativeVideoFrame: Sendable {
    fileprivate let kept: KeptFrame

    /// Lends the frame to `body`. May be called on several threads at once.
    public func withFrame<R>(_ body: (borrowing NativeVideoFrame) throws -> R) rethrows -> R {
        try withUnsafePointer(to: kept.frame) { try body(NativeVideoFrame($0)) }
    }
}
