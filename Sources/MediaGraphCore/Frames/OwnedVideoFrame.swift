import CGStreamer
import CMediaGraphABI
import Foundation
import GStreamer

/// An owned video frame. It may be kept and sent to other tasks, and stays valid after the graph
/// has ended. The frame holds a reference to the stream's buffer, which its deinitializer releases.
///
/// Release frames soon: the source can't reuse their buffers meanwhile.
public final class OwnedVideoFrame: Sendable {
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    /// The format that the caps describe: pixel format, size, strides and colorimetry.
    public let info: VideoInfo
    /// The pixel format.
    public let format: VideoFormat
    /// The clockwise rotation that shows the frame upright, once it is flipped by ``flip``.
    public let rotation: Rotation
    /// The flip to apply to the frame, before its ``rotation``.
    public let flip: Flip
    private let mirror: Flip
    /// The time at which to show the frame, as a timestamp in the stream's segment, which need not start at 0.
    public let presentationTimestamp: ClockTime?
    /// The position in the medium, as a player's slider shows it; `nil` outside the stream's segment.
    public var streamTime: ClockTime? { segment?.streamTime(of: presentationTimestamp) }
    private let segment: Segment?
    /// The presentation timestamp as running time.
    public let runningTime: ClockTime?
    /// The wall-clock time of capture; `nil` if the source doesn't provide it.
    public var captureTime: Date? { captureUnixNanoseconds.map(Date.init(unixNanoseconds:)) }
    private let captureUnixNanoseconds: UInt64?

    /// Width in pixels, before rotation.
    public var width: Int { info.width }
    /// Height in pixels, before rotation.
    public var height: Int { info.height }
    /// The ID of the stream that the frame belongs to.
    public var streamID: String? { stream?.id }
    /// The user's camera channel that the frame comes from, in a session; `nil` if it isn't from a user's camera.
    public var publishChannel: PublishChannel? { streamID.flatMap { PublishChannel(streamID: $0) } }

    /// Throws `allocationFailed` in `stack` mode if the buffer's pool can't spare another buffer.
    package init(retaining frame: MGVideoFrame) throws(MediaGraphError) {
        buffer = try KeptBuffer(
            BufferAccess(frame.buffer), memoryMode: frame.memory_mode, isEdited: frame.isEdited)
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
        captureUnixNanoseconds = frame.captureUnixNanoseconds
    }

    /// Maps the buffer for reading while `body` runs. May be called on several threads at once. Throws
    /// `processingFailed` if the buffer can't be mapped, and rethrows the error of `body`.
    public func withFrame<R>(_ body: (borrowing VideoFrame) throws -> R) throws -> R {
        let result = try buffer.access.withVideoFrame(info, .read) { mapped in
            var source = MGVideoFrame(
                mapped: mapped.frame, buffer: buffer.access.raw, caps: caps.raw,
                running_time: UInt64(runningTime.raw), presentation_timestamp: UInt64(presentationTimestamp.raw),
                capture_time: captureUnixNanoseconds ?? 0, rotation: rotation.rawValue)
            source.flip = flip.rawValue
            source.mirror = mirror.rawValue
            source.stream_start = stream?.raw
            source.memory_mode = MG_HEAP
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

    /// Returns a copy of the frame's bytes, plane after plane, without padding.
    public func packedBytes() throws -> [UInt8] { try withFrame { $0.packedBytes } }
}

extension MGVideoFrame {
    /// Whether the frame is mapped for writing, because a processor may edit it.
    var isEdited: Bool { mapped.pointee.map.0.flags.rawValue & GST_MAP_WRITE.rawValue != 0 }
}
