import CGStreamer
import CMediaGraphABI
import Foundation
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
            segment: nil, memory_mode: MG_STACK)
    }

    /// A raw frame of a stream. `mapped` maps `shown`, which is the stream's buffer or a converted copy of it. The
    /// timestamps are those of `original`, the stream's buffer.
    @inlinable @inline(__always)
    package init(
        _ mapped: borrowing MappedVideoFrame, in shown: BufferAccess, _ caps: Caps, of original: BufferAccess,
        _ metas: FrameMetas, runningTime: ClockTime?, segment: UnsafePointer<GstSegment>, stream: StreamStart? = nil
    ) {
        self.init(
            mapped: mapped.frame, buffer: shown.raw, caps: caps.raw, running_time: UInt64(runningTime.raw),
            presentation_timestamp: UInt64(original.presentationTimestamp.raw),
            capture_time: metas.captureTime, rotation: metas.orientation.degrees)
        flip = (metas.mirror ^ metas.orientation.flip).rawValue
        mirror = metas.mirror.rawValue
        stream_start = stream?.raw
        self.segment = segment
    }

    /// The orientation of the picture in memory, without the flip that the mirror mode asks for.
    var orientation: VideoOrientation {
        VideoOrientation(quarterTurns: rotation / 90, isFlipped: (flip ^ mirror) == Flip.x.rawValue)
    }

    // The fields that frames of every kind have.
    var presentationTimestamp: ClockTime? { ClockTime(raw: GstClockTime(presentation_timestamp)) }
    var streamTime: ClockTime? { segment?.streamTime(of: presentationTimestamp) }
    var decodingTimestamp: ClockTime? { ClockTime(raw: GstClockTime(decode_timestamp)) }
    var runningTime: ClockTime? { ClockTime(raw: GstClockTime(running_time)) }
    var captureTime: Date? { captureUnixNanoseconds.map(Date.init(unixNanoseconds:)) }
    var captureUnixNanoseconds: UInt64? { capture_time == 0 ? nil : capture_time }
    var streamID: String? { stream_start.map { StreamStart(retaining: $0).id } }
}

/// A retained native or encoded frame. Holds everything that the C structure points to.
///
/// `@unchecked Sendable`: the structure is constant, and the objects that it points to are immutable while shared.
final class KeptFrame: @unchecked Sendable {
    let frame: MGVideoFrame
    private let buffer: KeptBuffer
    private let caps: Caps
    private let stream: StreamStart?
    private let segment: UnsafeMutablePointer<GstSegment>?

    /// Throws `allocationFailed` if the buffer's pool can't spare another buffer.
    package init(_ frame: MGVideoFrame) throws(MediaGraphError) {
        buffer = try KeptBuffer(BufferAccess(frame.buffer), memoryMode: frame.retainingMode)
        caps = Caps(retaining: frame.caps)
        stream = frame.stream_start.map { StreamStart(retaining: $0) }
        segment = frame.segment.map {
            let copy = UnsafeMutablePointer<GstSegment>.allocate(capacity: 1)
            copy.initialize(to: $0.pointee)
            return copy
        }
        // The mapping ends with the call; `withFrame` maps the buffer again.
        var frame = frame
        frame.data = nil
        frame.buffer = buffer.access.raw
        frame.memory_mode = MG_HEAP
        frame.segment = segment.map { UnsafePointer($0) }
        self.frame = frame
    }

    deinit { segment?.deallocate() }
}

extension MGVideoFrame {
    /// The memory mode that counts when a native or encoded frame is retained. Frames in special memory, such as DMABuf
    /// or GL, can't be copied without leaving that memory, so `stack` counts for them.
    var retainingMode: Int32 {
        memory_mode == MG_HEAP && Caps(retaining: caps).isInSystemMemory(0) ? MG_HEAP : MG_STACK
    }
}

extension MediaGraphError {
    static var unknownFormat: MediaGraphError {
        .unsupported(.init("frame format", expected: "one of \(FrameCaps.formatNames)"))
    }
    static var unknownCodec: MediaGraphError {
        .unsupported(
            .init("codec", expected: "one of \(VideoCodec.allCases.map(\.rawValue).joined(separator: ", "))"))
    }
    /// Returns the error of a receiver that doesn't implement the pipe's `buffer-type`.
    static func doesNotTake(_ receiver: Any.Type, _ type: BufferType) -> MediaGraphError {
        if receiver is any NamedHandler.Type {
            // The handler was named in a description, whose author can only change the property.
            return .unsupported(
                .init(
                    "buffer-type=\(type.nick)",
                    actual: "the handler doesn't accept \(type.nick) frames; choose another buffer-type"))
        }
        return .unsupported(
            .init(
                typeName(receiver),
                actual: "has no method for the \(type.nick) frames of buffer-type=\(type.nick); "
                    + "add one, or choose another buffer-type"))
    }
}
