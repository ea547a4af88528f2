import CMediaGraphABI
import Foundation
import GStreamer

/// A borrowed video frame, whose planes are in GStreamer's own buffer. It is valid only during
/// the call that receives it: the compiler doesn't let it escape, be stored, or cross threads. ``retain()`` returns an
/// owned frame.
///
/// An `inout` frame (in a ``VideoProcessor``) can be edited in place; a `borrowing` one can only be read.
public struct VideoFrame: ~Copyable, ~Escapable {
    @usableFromInline package var mapped: MappedVideoFrame
    @usableFromInline let source: UnsafePointer<MGVideoFrame>
    /// The pixel format, from this frame's own caps.
    public let format: VideoFormat

    /// Borrows `source`, which is valid for the length of the call. `nil` for a pixel format that nodes don't carry.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGVideoFrame>) {
        guard let format = VideoFormat(source.pointee.mapped.pointee.info.finfo.pointee.format) else { return nil }
        mapped = MappedVideoFrame(source.pointee.mapped)
        self.source = copy source
        self.format = format
    }

    /// Width in pixels, before rotation.
    @inlinable public var width: Int { mapped.width }
    /// Height in pixels, before rotation.
    @inlinable public var height: Int { mapped.height }
    /// The clockwise rotation that shows the frame upright, once it is flipped by ``flip``.
    @inlinable public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// The flip to apply to the frame before its ``rotation``, because of the mirror mode or the stream's tag.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// The orientation of the picture in memory, without the flip that the mirror mode asks for.
    package var orientation: VideoOrientation { source.pointee.orientation }
    /// The ID of the stream that the frame belongs to. Each remote user's stream has its own ID.
    public var streamID: String? { source.pointee.streamID }
    /// The user's camera channel that the frame comes from, in a session; `nil` if it isn't from a user's camera, and
    /// upstream of the session, such as in a pre-processor.
    public var publishChannel: PublishChannel? { streamID.flatMap { PublishChannel(streamID: $0) } }
    /// The format that the caps describe: pixel format, size, colorimetry, frame rate, pixel aspect ratio, interlacing.
    public var info: VideoInfo { mapped.info }
    /// The color range, full or limited, from the caps.
    public var colorRange: Colorimetry.Range { mapped.info.colorimetry.range }
    /// The matrix that converts between RGB and YUV, from the caps.
    public var colorMatrix: Colorimetry.Matrix { mapped.info.colorimetry.matrix }
    /// Whether the frame interleaves two fields, captured at different times.
    public var isInterlaced: Bool { mapped.isInterlaced }
    /// The time at which to show the frame, as a timestamp in the stream's segment. The segment need not start at 0:
    /// after a seek, in live streams, and in files with edit lists it doesn't. ``streamTime`` is the position in the
    /// medium.
    @inlinable public var presentationTimestamp: ClockTime? {
        ClockTime(raw: GstClockTime(source.pointee.presentation_timestamp))
    }
    /// The position in the medium, as a player's slider shows it; `nil` outside the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The presentation timestamp as running time, by which audio and video are synchronized.
    @inlinable public var runningTime: ClockTime? { ClockTime(raw: GstClockTime(source.pointee.running_time)) }
    /// The wall-clock time of capture; `nil` if the source doesn't provide it. Never `nil` for frames of a `videosource`
    /// or `devicesource`, or in a session: a frame without one gets the time at which it enters there.
    public var captureTime: Date? { source.pointee.captureTime }
    /// The wall-clock time of capture in nanoseconds since 1970 (UTC); `nil` if the source doesn't provide it.
    package var captureUnixNanoseconds: UInt64? { source.pointee.captureUnixNanoseconds }
    /// The size of the frame in bytes, without padding.
    public var packedLength: Int { format.packedLength(width: width, height: height) }

    @usableFromInline @inline(never)
    func noPlane(_ plane: VideoFormat.Plane) -> MediaGraphError {
        let planes = format.planes.map(\.rawValue).joined(separator: ", ")
        return .invalidParameter(
            .init("plane", expected: "one of \(planes) in \(format.gstreamerName) frames", actual: plane.rawValue))
    }

    @inlinable @inline(__always)
    func layout(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> (index: Int, width: Int, height: Int) {
        guard let index = format.index(of: plane) else { throw noPlane(plane) }
        let size = format.size(of: plane, width: width, height: height)
        return (index, size.width, size.height)
    }

    /// Returns a plane for reading. Throws `invalidParameter` if the format doesn't have it.
    @_lifetime(borrow self)
    @inlinable @inline(__always)
    public func plane(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> VideoPlane {
        let (index, width, height) = try layout(plane)
        let pixelStride = format.pixelStride(of: plane)
        return VideoPlane(
            bytes: mapped.bytes(plane: index, rows: height, rowBytes: width * pixelStride), width: width,
            height: height, stride: mapped.stride(plane: index), pixelStride: pixelStride)
    }

    /// The alpha plane, of exactly `width`×`height` pixels with one byte each; `nil` if the format has none. In packed
    /// formats, alpha is a component of each pixel.
    public var alpha: VideoPlane? {
        @_lifetime(borrow self)
        borrowing get {
            guard format.index(of: .alpha) != nil else { return nil }
            return try? plane(.alpha)
        }
    }

    /// Returns a plane for editing. Throws `invalidParameter` if the format doesn't have it. To edit several planes at
    /// once, use ``withMutablePlanes(_:_:_:)``.
    @_lifetime(&self)
    @inlinable @inline(__always)
    public mutating func mutablePlane(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> MutableVideoPlane {
        let (index, width, height) = try layout(plane)
        let pixelStride = format.pixelStride(of: plane)
        let stride = mapped.stride(plane: index)
        return MutableVideoPlane(
            bytes: mapped.mutableBytes(plane: index, rows: height, rowBytes: width * pixelStride), width: width,
            height: height, stride: stride, pixelStride: pixelStride)
    }

    /// Returns an owned frame, which you may keep or send to another task. It shares the buffer, except in two cases,
    /// in which the pixels are copied: in a ``VideoProcessor``, whose frame may still change, and with
    /// `memory-mode=heap` if the buffer's pool has no buffer to spare.
    ///
    /// Throws `allocationFailed` if ``canRetain`` is false; the stream continues.
    public func retain() throws(MediaGraphError) -> OwnedVideoFrame { try OwnedVideoFrame(retaining: source.pointee) }

    /// Whether ``retain()`` would succeed. All buffers of a bounded pool (a camera's, for example) except two can be
    /// retained at once; with `memory-mode=heap` there is no limit.
    public var canRetain: Bool {
        KeptBuffer.canKeep(
            BufferAccess(source.pointee.buffer), memoryMode: source.pointee.memory_mode,
            isEdited: source.pointee.isEdited)
    }

    /// Calls `body` with each row's pixels, plane after plane, without padding. In sequence, they are FFmpeg's rawvideo
    /// format.
    public func withPackedRows(_ body: (Span<UInt8>) throws -> Void) throws {
        for plane in format.planes {
            let plane = try self.plane(plane)
            for index in 0..<plane.height { try body(plane.row(index)) }
        }
    }

    /// A copy of the frame's bytes, plane after plane, without padding.
    public var packedBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(packedLength)
        try? withPackedRows { row in row.withUnsafeBufferPointer { bytes.append(contentsOf: $0) } }
        return bytes
    }
}
