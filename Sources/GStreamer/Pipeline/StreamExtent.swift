import CGStreamer
import Synchronization

/// Measures how far a stream has advanced at a source pad. Thread-safe.
package final class StreamExtent: Sendable {
    private struct State: Sendable {
        var end: ClockTime?
        var isTimed = true
    }

    private let state = Mutex(State())

    /// The end of the data that has passed, in stream time; `nil` if no data with a timestamp has passed.
    package var end: ClockTime? { state.withLock { $0.end } }

    /// Whether all data had timestamps. If false, the end of the stream isn't known.
    package var isTimed: Bool { state.withLock { $0.isTimed } }

    /// Starts over.
    package func reset() { state.withLock { ($0.end, $0.isTimed) = (nil, true) } }

    fileprivate func record(_ buffer: UnsafeMutablePointer<GstBuffer>, at pad: UnsafeMutablePointer<GstPad>) {
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
    /// Starts measuring the stream at this source pad, until the pad is freed.
    package func measureStream() -> StreamExtent {
        let extent = StreamExtent()
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, holding: extent) { pad, info, context in
            Unmanaged<StreamExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { extent in
                guard info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 else {
                    return extent.record(gst_pad_probe_info_get_buffer(info), at: pad!)
                }
                let list = gst_pad_probe_info_get_buffer_list(info)
                let count = gst_buffer_list_length(list)
                if count > 0 { extent.record(gst_buffer_list_get(list, count - 1), at: pad!) }
            }
            return GST_PAD_PROBE_OK
        }
        return extent
    }
}
