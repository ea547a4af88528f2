import CGStreamer

extension Pad {
    /// An event that passes a pad.
    package enum PassingEvent: Sendable {
        /// A flush begins or ends.
        case flushStart, flushStop
        /// Downstream asks for a new negotiation.
        case reconfigure
        /// The latency of the pipeline: how late after their timestamps sinks render buffers.
        case latency(Duration)
        /// A custom upstream event, such as one from `Pad.sendUpstream`.
        case upstream(Structure)

        fileprivate init?(_ event: UnsafeMutablePointer<GstEvent>) {
            switch event.pointee.type {
            case GST_EVENT_FLUSH_START: self = .flushStart
            case GST_EVENT_FLUSH_STOP: self = .flushStop
            case GST_EVENT_RECONFIGURE: self = .reconfigure
            case GST_EVENT_CUSTOM_UPSTREAM:
                guard let structure = gst_event_get_structure(event) else { return nil }
                self = .upstream(Structure(copying: structure))
            case GST_EVENT_LATENCY:
                var latency: GstClockTime = 0
                gst_event_parse_latency(event, &latency)
                guard let latency = Duration(raw: latency) else { return nil }
                self = .latency(latency)
            default: return nil
            }
        }
    }

    /// Calls `body` with events before the pad's element receives them, on the thread that sends them. For elements of
    /// stock classes, which can't override an event handler. The pad retains `body` until it is freed.
    package func watchEvents(_ body: @escaping @Sendable (PassingEvent) -> Void) {
        addProbe(GST_PAD_PROBE_TYPE_EVENT_BOTH, GST_PAD_PROBE_TYPE_EVENT_FLUSH, holding: EventWatch(body)) {
            _, info, context in
            if let event = gst_pad_probe_info_get_event(info), let seen = PassingEvent(event) {
                Unmanaged<EventWatch>.fromOpaque(context!).takeUnretainedValue().body(seen)
            }
            return GST_PAD_PROBE_OK
        }
    }

    /// Makes downstream see one continuous stream when another element takes over: replaces the stream ID and the group
    /// ID in all STREAM_START events that leave through this source pad, and drops a SEGMENT that repeats the last one.
    /// Call it once.
    package func setStreamID(_ id: String) {
        addProbe(GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, holding: StreamID(id)) { pad, info, context in
            guard let event = gst_pad_probe_info_get_event(info) else { return GST_PAD_PROBE_OK }
            if event.pointee.type == GST_EVENT_SEGMENT {
                // Drop a repeated segment: elements such as videorate restart at each segment, and would fill the time
                // since its start.
                guard Pad.peerHas(event, pad) else { return GST_PAD_PROBE_OK }
                // GStreamer would send a dropped segment again before each buffer; HANDLED counts as received.
                gst_event_unref(event)
                return GST_PAD_PROBE_HANDLED
            }
            guard event.pointee.type == GST_EVENT_STREAM_START else { return GST_PAD_PROBE_OK }
            let renamed = gst_event_new_stream_start(
                Unmanaged<StreamID>.fromOpaque(context!).takeUnretainedValue().id)
            gst_event_set_seqnum(renamed, gst_event_get_seqnum(event))
            gst_event_set_group_id(renamed, gst_util_group_id_next())
            gst_event_unref(event)
            info!.pointee.data = UnsafeMutableRawPointer(renamed)
            return GST_PAD_PROBE_OK
        }
    }

    /// Returns whether the linked pad's current segment equals the event's.
    private static func peerHas(_ event: UnsafeMutablePointer<GstEvent>, _ pad: UnsafeMutablePointer<GstPad>?) -> Bool {
        guard let pad, let peer = gst_pad_get_peer(pad) else { return false }
        defer { gst_object_unref(peer) }
        return Segment(passing: peer) == Segment(event)
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
