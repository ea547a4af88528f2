import CGStreamer
import CMediaGraphABI
import GStreamer

/// An owned video frame (`memory-mode=heap`): holds a reference on the stream's buffer, released once, with the last copy
/// of the reference. It may be kept and sent to other tasks, and stays valid after the graph has ended.
///
/// Keeping many keeps the source's buffers from being used again: let them go.
public final class OwnedVideoFrame: Sendable {
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    /// Format, size, strides and colours, as the caps say.
    public let info: VideoInfo
    /// The pixel format.
    public let format: VideoFormat
    /// How far to turn the frame, clockwise, to show it upright.
    public let rotation: Rotation
    /// What to flip in it as it lies, before it is turned.
    public let flip: Flip
    private let mirror: Flip
    /// When to show it, as a timestamp in the stream's segment, which need not begin at 0.
    public let presentationTimestamp: ClockTime?
    /// The position in the medium: where a player's slider would stand.
    public var streamTime: ClockTime? { segment?.streamTime(of: presentationTimestamp) }
    private let segment: Segment?
    /// When to show it, as running time of the graph.
    public let runningTime: ClockTime?
    /// Unix nanoseconds.
    public let captureTime: UInt64?

    /// Width in pixels, as the frame lies in memory.
    public var width: Int { info.width }
    /// Height in pixels, as the frame lies in memory.
    public var height: Int { info.height }
    /// Which stream it belongs to.
    public var streamID: String? { stream?.id }
    /// Which of a user's two channels it comes by, in a session.
    public var publishChannel: PublishChannel? { streamID.flatMap { PublishChannel(streamID: $0) } }

    /// Throws at the limit of the buffer's pool.
    convenience init(retaining frame: MGVideoFrame) throws(MediaGraphError) {
        if frame.isEdited {
            // It goes on changing: what is kept of it is a copy.
            self.init(frame, KeptBuffer(copying: BufferAccess(frame.buffer)))
        } else {
            guard let buffer = KeptBuffer(keeping: BufferAccess(frame.buffer)) else { throw .poolLimit }
            self.init(frame, buffer)
        }
    }

    /// At the limit of the buffer's pool, a copy.
    package convenience init(retainingOrCopying frame: MGVideoFrame) {
        if let buffer = KeptBuffer(keeping: BufferAccess(frame.buffer)) {
            self.init(frame, buffer)
        } else {
            self.init(frame, KeptBuffer(copying: BufferAccess(frame.buffer)))
        }
    }

    private init(_ frame: MGVideoFrame, _ buffer: consuming KeptBuffer) {
        self.buffer = buffer
        stream = frame.stream_start.map { StreamStart(retaining: $0) }
        flip = Flip(rawValue: frame.flip) ?? .none
        mirror = Flip(rawValue: frame.mirror) ?? .none
        caps = Caps(retaining: frame.caps)
        info = VideoInfo(frame.mapped.pointee.info)
        format = VideoFormat(frame.mapped.pointee.info.finfo.pointee.format) ?? .i420
        rotation = Rotation(rawValue: frame.rotation) ?? .none
        presentationTimestamp = ClockTime(raw: GstClockTime(frame.presentation_timestamp))
        runningTime = ClockTime(raw: GstClockTime(frame.running_time))
        segment = frame.segment.map { Segment($0.pointee) }
        captureTime = frame.capture_time == 0 ? nil : frame.capture_time
    }

    /// Maps the buffer for reading while `body` runs. Any thread, several at once.
    public func withFrame<R>(_ body: (borrowing VideoFrame) throws -> R) throws -> R {
        let result = try buffer.access.withVideoFrame(info, .read) { mapped in
            var source = MGVideoFrame(
                mapped: mapped.frame, buffer: buffer.access.raw, caps: caps.raw,
                running_time: UInt64(runningTime.raw), presentation_timestamp: UInt64(presentationTimestamp.raw),
                capture_time: captureTime ?? 0, rotation: rotation.rawValue)
            source.flip = flip.rawValue
            source.mirror = mirror.rawValue
            source.stream_start = stream?.raw
            var segment = (segment ?? .undefined).raw
            return try withUnsafePointer(to: &segment) { segment in
                source.segment = segment
                return try withUnsafePointer(to: &source) { pointer in
                    guard let frame = VideoFrame(pointer) else {
                        throw MediaGraphError.unsupported(.init("frame", actual: info.formatName))
                    }
                    return try body(frame)
                }
            }
        }
        guard let result else {
            throw MediaGraphError.processingFailed(.init("frame", actual: "its buffer can't be mapped for reading"))
        }
        return result
    }

    /// The frame's bytes, plane after plane, without padding.
    public func packedBytes() throws -> [UInt8] { try withFrame { $0.packedBytes } }
}

extension MGVideoFrame {
    /// Mapped for writing: a frame that a processor has.
    var isEdited: Bool { mapped.pointee.map.0.flags.rawValue & GST_MAP_WRITE.rawValue != 0 }
}
