import CGStreamer

// What GstAggregator, the base class of audiomixer and compositor, is told and asked.

extension Pad {
    /// Whether the aggregator has taken all that came into this pad of its, and its end.
    public var isUsedUp: Bool { gst_aggregator_pad_is_eos(raw.assumingMemoryBound(to: GstAggregatorPad.self)) != 0 }

    /// What is upstream of this pad of an aggregator's may wait for as long as it takes: the aggregator keeps what comes early.
    /// Without, streams that can be kept waiting for different times make it doubt its latency.
    ///
    /// And where nobody upstream answers, as while a source is taken away, there is no latency. An aggregator takes one answer
    /// that fails for all of them, and then sleeps until something comes: where the others' queues are full, for ever. It asks
    /// again at a pad's first buffer.
    public func toleratesLatency() {
        gst_pad_add_probe(
            pad,
            GstPadProbeType(rawValue: GST_PAD_PROBE_TYPE_QUERY_UPSTREAM.rawValue | GST_PAD_PROBE_TYPE_PUSH.rawValue),
            { pad, info, _ in
                guard let query = gst_pad_probe_info_get_query(info), query.pointee.type == GST_QUERY_LATENCY else {
                    return GST_PAD_PROBE_OK
                }
                var live: gboolean = 0
                var minimum: GstClockTime = 0
                if let source = gst_pad_get_peer(pad) {
                    if gst_pad_query(source, query) != 0 { gst_query_parse_latency(query, &live, &minimum, nil) }
                    gst_object_unref(source)
                }
                gst_query_set_latency(query, live, minimum, GstClockTime.max)
                return GST_PAD_PROBE_HANDLED
            }, nil, nil)
    }

    /// A live stream that is there and says nothing: it begins on a pad of an aggregator's that nobody else feeds, with a gap at
    /// `time`.
    public func beginSilence(_ id: String, _ caps: Caps, at time: ClockTime, duration: ClockTime) {
        // Whether a stream is live is asked of a pad's peer only.
        let source = gst_pad_new("silence", GST_PAD_SRC)!
        gst_object_ref_sink(source)
        gst_pad_set_query_function_full(
            source,
            { source, parent, query in
                guard query!.pointee.type == GST_QUERY_LATENCY else {
                    return gst_pad_query_default(source, parent, query)
                }
                gst_query_set_latency(query, 1, 0, GstClockTime.max)
                return 1
            }, nil, nil)
        gst_pad_link_full(source, pad, GST_PAD_LINK_CHECK_NOTHING)
        // Neither end of a link holds the other.
        g_object_set_data_full(raw.assumingMemoryBound(to: GObject.self), "mediagraph-silence", source) {
            gst_object_unref($0)
        }
        gst_pad_send_event(pad, gst_event_new_stream_start(id))
        gst_pad_send_event(pad, gst_event_new_caps(caps.raw))
        var segment = GstSegment()
        gst_segment_init(&segment, GST_FORMAT_TIME)
        gst_pad_send_event(pad, gst_event_new_segment(&segment))
        gst_pad_send_event(
            pad, gst_event_new_gap(GstClockTime(time.nanoseconds), GstClockTime(duration.nanoseconds)))
    }
}
