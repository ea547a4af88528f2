import CGStreamer
import Synchronization

/// How far a stream has come at a source pad. Any thread may read it.
public final class StreamExtent: Sendable {
    private struct State: Sendable {
        var segment = Segment.undefined
        var end: ClockTime?
    }

    private let state = Mutex(State())

    /// Where its last data ends, in stream time.
    public var end: ClockTime? { state.withLock { $0.end } }

    /// Forgets what it has measured; the segment stays.
    public func reset() { state.withLock { $0.end = nil } }

    fileprivate func passes(_ buffer: UnsafeMutablePointer<GstBuffer>) {
        let (begin, duration) = (buffer.pointee.pts, buffer.pointee.duration)
        guard begin != .max else { return }
        let time = ClockTime(raw: duration == .max ? begin : begin + duration)
        state.withLock { state in
            // What lasts beyond the segment ends where the segment does.
            let end = state.segment.streamTime(of: time) ?? state.segment.streamTime(of: ClockTime(raw: begin))
            if let end { state.end = max(state.end ?? .zero, end) }
        }
    }

    fileprivate func passes(_ event: UnsafeMutablePointer<GstEvent>) {
        guard event.pointee.type == GST_EVENT_SEGMENT else { return }
        state.withLock { $0.segment = Segment(event) }
    }
}

extension Pad {
    /// Starts to measure the stream of a source pad, until the pad is freed.
    public func measureStream() -> StreamExtent {
        let extent = StreamExtent()
        let types =
            GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue
            | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM.rawValue
        gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types),
            { _, info, context in
                Unmanaged<StreamExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { extent in
                    let type = info!.pointee.type.rawValue
                    if type & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 {
                        extent.passes(gst_pad_probe_info_get_buffer(info))
                    } else if type & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 {
                        let list = gst_pad_probe_info_get_buffer_list(info)
                        let count = gst_buffer_list_length(list)
                        if count > 0 { extent.passes(gst_buffer_list_get(list, count - 1)) }
                    } else {
                        extent.passes(gst_pad_probe_info_get_event(info))
                    }
                }
                return GST_PAD_PROBE_OK
            }, Unmanaged.passRetained(extent).toOpaque(), { Unmanaged<StreamExtent>.fromOpaque($0!).release() })
        return extent
    }
}
