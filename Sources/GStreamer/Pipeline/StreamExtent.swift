import CGStreamer
import Synchronization

/// How far a stream has come at a source pad. Any thread may read it.
public final class StreamExtent: Sendable {
    private struct State: Sendable {
        var end: ClockTime?
        var isTimed = true
    }

    private let state = Mutex(State())

    /// Where its last data ends, in stream time.
    public var end: ClockTime? { state.withLock { $0.end } }

    /// False where data has come without timestamps: then its end isn't known.
    public var isTimed: Bool { state.withLock { $0.isTimed } }

    /// Forgets what it has measured.
    public func reset() { state.withLock { ($0.end, $0.isTimed) = (nil, true) } }

    fileprivate func passes(_ buffer: UnsafeMutablePointer<GstBuffer>, at pad: UnsafeMutablePointer<GstPad>) {
        let (begin, duration) = (buffer.pointee.pts, buffer.pointee.duration)
        guard begin != .max else {
            let isHeader = buffer.pointee.mini_object.flags & GST_BUFFER_FLAG_HEADER.rawValue != 0
            return state.withLock { if !isHeader { $0.isTimed = false } }
        }
        guard let segment = Segment(passing: pad) else { return }
        let time = ClockTime(raw: duration == .max ? begin : begin + duration)
        // A buffer that ends after the segment counts only up to its own timestamp.
        guard let end = segment.streamTime(of: time) ?? segment.streamTime(of: ClockTime(raw: begin)) else { return }
        state.withLock { $0.end = max($0.end ?? .zero, end) }
    }
}

extension Pad {
    /// Starts to measure the stream of a source pad, until the pad is freed.
    public func measureStream() -> StreamExtent {
        let extent = StreamExtent()
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, holding: extent) { pad, info, context in
            Unmanaged<StreamExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { extent in
                guard info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 else {
                    return extent.passes(gst_pad_probe_info_get_buffer(info), at: pad!)
                }
                let list = gst_pad_probe_info_get_buffer_list(info)
                let count = gst_buffer_list_length(list)
                if count > 0 { extent.passes(gst_buffer_list_get(list, count - 1), at: pad!) }
            }
            return GST_PAD_PROBE_OK
        }
        return extent
    }
}
