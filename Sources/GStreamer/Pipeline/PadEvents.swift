import CGStreamer

extension Pad {
    /// An event that somebody beside the pad's own element may want to know of.
    public enum PassingEvent: Sendable {
        case flushStart, flushStop
        /// Downstream wants to negotiate anew.
        case reconfigure

        fileprivate init?(_ event: UnsafeMutablePointer<GstEvent>) {
            switch event.pointee.type {
            case GST_EVENT_FLUSH_START: self = .flushStart
            case GST_EVENT_FLUSH_STOP: self = .flushStop
            case GST_EVENT_RECONFIGURE: self = .reconfigure
            default: return nil
            }
        }
    }

    /// Tells of events before the pad's element has them, on the thread that sends them. For an element whose class is a
    /// stock one; it holds `body` as long as the pad lives.
    public func watchEvents(_ body: @escaping @Sendable (PassingEvent) -> Void) {
        let watch = Unmanaged.passRetained(EventWatch(body)).toOpaque()
        let types = GST_PAD_PROBE_TYPE_EVENT_BOTH.rawValue | GST_PAD_PROBE_TYPE_EVENT_FLUSH.rawValue
        gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types),
            { _, info, context in
                if let event = gst_pad_probe_info_get_event(info), let seen = PassingEvent(event) {
                    Unmanaged<EventWatch>.fromOpaque(context!).takeUnretainedValue().body(seen)
                }
                return GST_PAD_PROBE_OK
            }, watch, { Unmanaged<EventWatch>.fromOpaque($0!).release() })
    }

    /// Every stream that begins on this source pad has this ID, in place of the one that its element makes. Once.
    public func setStreamID(_ id: String) {
        let id = Unmanaged.passRetained(StreamID(id)).toOpaque()
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_STREAM_START
                else { return GST_PAD_PROBE_OK }
                let renamed = gst_event_new_stream_start(
                    Unmanaged<StreamID>.fromOpaque(context!).takeUnretainedValue().id)
                gst_event_set_seqnum(renamed, gst_event_get_seqnum(event))
                gst_event_set_group_id(renamed, gst_util_group_id_next())
                gst_event_unref(event)
                info!.pointee.data = UnsafeMutableRawPointer(renamed)
                return GST_PAD_PROBE_OK
            }, id, { Unmanaged<StreamID>.fromOpaque($0!).release() })
    }

    private final class StreamID: Sendable {
        let id: String
        init(_ id: String) { self.id = id }
    }

    private final class EventWatch: Sendable {
        let body: @Sendable (PassingEvent) -> Void
        init(_ body: @escaping @Sendable (PassingEvent) -> Void) { self.body = body }
    }
}
