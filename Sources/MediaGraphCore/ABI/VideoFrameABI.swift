import CGStreamer
import CMediaGraphABI
import GStreamer

extension MGVideoFrame {
    /// A raw frame that belongs to no stream.
    @usableFromInline
    package init(
        mapped: UnsafeMutablePointer<GstVideoFrame>!, buffer: UnsafeMutablePointer<GstBuffer>!,
        caps: UnsafeMutablePointer<GstCaps>!, running_time: UInt64, presentation_timestamp: UInt64,
        capture_time: UInt64, rotation: Int32
    ) {
        self.init(
            mapped: mapped, buffer: buffer, caps: caps, running_time: running_time,
            presentation_timestamp: presentation_timestamp, capture_time: capture_time, rotation: rotation, flip: 0,
            mirror: 0, kind: MG_RAW, stream_start: nil, data: nil, length: 0, decode_timestamp: .max, duration: .max,
            segment: nil)
    }

    /// A raw frame of a stream. `mapped` maps `shown`, which is the stream's buffer or a converted copy of it; timestamps
    /// come from `original`, the stream's buffer.
    @inlinable @inline(__always)
    package init(
        _ mapped: borrowing MappedVideoFrame, in shown: BufferAccess, _ caps: Caps, of original: BufferAccess,
        _ orientation: VideoOrientation, mirror: Flip, runningTime: ClockTime?, segment: UnsafePointer<GstSegment>,
        stream: StreamStart? = nil
    ) {
        self.init(
            mapped: mapped.frame, buffer: shown.raw, caps: caps.raw, running_time: UInt64(runningTime.raw),
            presentation_timestamp: UInt64(original.presentationTimestamp.raw),
            capture_time: original.captureTime ?? 0, rotation: orientation.degrees)
        flip = (mirror ^ orientation.flip).rawValue
        self.mirror = mirror.rawValue
        stream_start = stream?.raw
        self.segment = segment
    }

    /// How the picture lies, without what the mirror mode asks for.
    var orientation: VideoOrientation {
        VideoOrientation(quarterTurns: rotation / 90, isFlipped: (flip ^ mirror) == Flip.x.rawValue)
    }

    /// What a frame's fields say beyond its pixels, whatever kind it is of.
    var presentationTimestamp: ClockTime? { ClockTime(raw: GstClockTime(presentation_timestamp)) }
    var streamTime: ClockTime? { segment?.streamTime(of: presentationTimestamp) }
    var decodingTimestamp: ClockTime? { ClockTime(raw: GstClockTime(decode_timestamp)) }
    var runningTime: ClockTime? { ClockTime(raw: GstClockTime(running_time)) }
    var durationTime: ClockTime? { ClockTime(raw: GstClockTime(duration)) }
    var captureTime: UInt64? { capture_time == 0 ? nil : capture_time }
    var streamID: String? { stream_start.map { StreamStart(retaining: $0).id } }
}

/// A frame of any kind but raw, kept: the structure points to what it holds.
///
/// `@unchecked Sendable`: constant, and what it points to is immutable while shared.
final class KeptFrame: @unchecked Sendable {
    let frame: MGVideoFrame
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    private let segment: UnsafeMutablePointer<GstSegment>?

    /// Throws at the limit of the buffer's pool.
    package init(_ frame: MGVideoFrame) throws(MediaGraphError) {
        guard let buffer = KeptBuffer(keeping: BufferAccess(frame.buffer)) else { throw .poolLimit }
        self.buffer = buffer
        caps = Caps(retaining: frame.caps)
        stream = frame.stream_start.map { StreamStart(retaining: $0) }
        segment = frame.segment.map {
            let copy = UnsafeMutablePointer<GstSegment>.allocate(capacity: 1)
            copy.initialize(to: $0.pointee)
            return copy
        }
        // Bytes are mapped anew by whoever reads them.
        var frame = frame
        frame.data = nil
        frame.segment = segment.map { UnsafePointer($0) }
        self.frame = frame
    }

    deinit { segment?.deallocate() }
}

extension MediaGraphError {
    static var poolLimit: MediaGraphError {
        .allocationFailed(
            .init(
                "can't retain the frame", actual: "all buffers of its pool are retained; release some"))
    }
}

extension MediaGraphError {
    static var unknownFormat: MediaGraphError {
        .unsupported(.init("the frame's format", expected: "one that the nodes carry"))
    }
    static var unknownCodec: MediaGraphError {
        .unsupported(.init("the stream's codec", expected: "one that the nodes carry"))
    }
    /// A receiver that wasn't written for the pipe's `buffer-type`.
    static func doesNotTake(_ receiver: Any.Type, _ type: BufferType) -> MediaGraphError {
        if receiver is any NamedHandler.Type {
            // A description's: there it is the property that can be changed.
            return .unsupported(
                .init("buffer-type", expected: "one whose frames the handler takes", actual: type.nick))
        }
        return .unsupported(
            .init(typeName(receiver), expected: "a receiver of \(type.nick) frames, for buffer-type=\(type.nick)"))
    }
}
