import CMediaGraphABI
import GStreamer

/// A borrowed video frame (`memory-mode=stack`): its planes lie in GStreamer's own buffer, and it is valid only inside
/// the call that got it. The compiler refuses to let it escape, be stored, or cross threads; `retain()` gives an owned one.
///
/// As `inout` (in a `VideoProcessor`) its planes can be edited in place; as `borrowing` it can only be read.
public struct VideoFrame: ~Copyable, ~Escapable {
    @usableFromInline package var mapped: MappedVideoFrame
    @usableFromInline let source: UnsafePointer<MGVideoFrame>
    /// The pixel format, from the caps of this very frame.
    public let format: VideoFormat

    /// Lives as long as `source`, which is the length of the call.
    @_lifetime(borrow source)
    init?(_ source: borrowing UnsafePointer<MGVideoFrame>) {
        guard let format = VideoFormat(source.pointee.mapped.pointee.info.finfo.pointee.format) else { return nil }
        mapped = MappedVideoFrame(source.pointee.mapped)
        self.source = copy source
        self.format = format
    }

    /// Pixels in a row, before rotation.
    @inlinable public var width: Int { mapped.width }
    /// Rows, before rotation.
    @inlinable public var height: Int { mapped.height }
    /// How far to turn it clockwise to stand upright, once it is flipped as `flip` says.
    @inlinable public var rotation: Rotation { Rotation(rawValue: source.pointee.rotation) ?? .none }
    /// What to flip in it as it lies: for the mirror mode, and where the stream's tag says that the picture is flipped.
    public var flip: Flip { Flip(rawValue: source.pointee.flip) ?? .none }
    /// How the picture lies, without what the mirror mode asks for.
    package var orientation: VideoOrientation { source.pointee.orientation }
    /// Which stream it belongs to: a remote user's has an ID of its own.
    public var streamID: String? { source.pointee.streamID }
    /// Which of a user's two channels it comes by, in a session; `nil` for what is no user's camera.
    public var publishChannel: PublishChannel? { streamID.flatMap { PublishChannel(streamID: $0) } }
    /// Everything that its caps say: colorimetry, rate, pixel aspect ratio, interlacing.
    public var info: VideoInfo { mapped.info }
    /// Full or limited range, from the caps.
    public var colorRange: Colorimetry.Range { mapped.info.colorimetry.range }
    /// The RGB/YUV matrix, from the caps.
    public var colorMatrix: Colorimetry.Matrix { mapped.info.colorimetry.matrix }
    /// The lines of two moments are woven into this frame.
    public var isInterlaced: Bool { mapped.isInterlaced }
    /// When to show it, as a timestamp in the stream's segment. That need not begin at 0: a file with an edit list, a seek or a
    /// live stream begins elsewhere. ``streamTime`` is the position in the medium.
    @inlinable public var presentationTimestamp: ClockTime? {
        ClockTime(raw: GstClockTime(source.pointee.presentation_timestamp))
    }
    /// The position in the medium: where a player's slider would stand. `nil` outside of the stream's segment.
    public var streamTime: ClockTime? { source.pointee.streamTime }
    /// The presentation timestamp as running time: what A/V is synchronised by.
    @inlinable public var runningTime: ClockTime? { ClockTime(raw: GstClockTime(source.pointee.running_time)) }
    /// Wall-clock time of capture in Unix nanoseconds, where the source said it.
    @inlinable public var captureTime: UInt64? { source.pointee.capture_time == 0 ? nil : source.pointee.capture_time }
    /// Bytes of the frame with no padding anywhere.
    public var packedLength: Int { format.packedLength(width: width, height: height) }

    @usableFromInline @inline(never)
    func noPlane(_ plane: VideoFormat.Plane) -> MediaGraphError {
        .invalidParameter(
            .init("plane \(plane.rawValue)", expected: "a plane of \(format.gstreamerName)", actual: plane.rawValue))
    }

    @inlinable @inline(__always)
    func layout(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> (index: Int, width: Int, height: Int) {
        guard let index = format.index(of: plane) else { throw noPlane(plane) }
        let size = format.size(of: plane, width: width, height: height)
        return (index, size.width, size.height)
    }

    /// A plane for reading. Throws when the format has none such.
    @_lifetime(borrow self)
    @inlinable
    public func plane(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> VideoPlane {
        let (index, width, height) = try layout(plane)
        let pixelStride = format.pixelStride(of: plane)
        return VideoPlane(
            bytes: mapped.bytes(plane: index, rows: height, rowBytes: width * pixelStride), width: width,
            height: height, stride: mapped.stride(plane: index), pixelStride: pixelStride)
    }

    /// The alpha plane, one byte a pixel, of exactly `width`×`height`; `nil` in formats without one (in packed formats alpha
    /// is a component of each pixel).
    public var alpha: VideoPlane? {
        @_lifetime(borrow self)
        borrowing get {
            guard format.index(of: .alpha) != nil else { return nil }
            return try? plane(.alpha)
        }
    }

    /// A plane for editing, one at a time; `withMutablePlanes` gives several. Throws when the format has none such.
    @_lifetime(&self)
    @inlinable
    public mutating func mutablePlane(_ plane: VideoFormat.Plane) throws(MediaGraphError) -> MutableVideoPlane {
        let (index, width, height) = try layout(plane)
        let pixelStride = format.pixelStride(of: plane)
        let stride = mapped.stride(plane: index)
        return MutableVideoPlane(
            bytes: mapped.mutableBytes(plane: index, rows: height, rowBytes: width * pixelStride), width: width,
            height: height, stride: stride, pixelStride: pixelStride)
    }

    /// An owned frame on the same buffer: nothing is copied. Keep it, or send it to another task. In a `VideoProcessor`,
    /// where the frame goes on changing, it is a copy as it is now.
    ///
    /// Throws `allocationFailed` when ``canRetain`` is false; the stream goes on.
    public func retain() throws(MediaGraphError) -> OwnedVideoFrame { try OwnedVideoFrame(retaining: source.pointee) }

    /// Whether the frame's pool can spare its buffer: of a pool with a bound (a camera's, say) all buffers but two can be
    /// kept at once.
    public var canRetain: Bool { source.pointee.isEdited || BufferAccess(source.pointee.buffer).canBeKept }

    /// The frame's bytes, plane after plane, without padding: what FFmpeg calls rawvideo.
    public func withPackedRows(_ body: (Span<UInt8>) throws -> Void) throws {
        for plane in format.planes {
            let plane = try self.plane(plane)
            for index in 0..<plane.height { try body(plane.row(index)) }
        }
    }

    /// The packed bytes as an array.
    public var packedBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(packedLength)
        try? withPackedRows { row in row.withUnsafeBufferPointer { bytes.append(contentsOf: $0) } }
        return bytes
    }
}
