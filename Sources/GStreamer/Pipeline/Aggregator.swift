import CGStreamer

// Settings and queries of GstAggregator, the base class of audiomixer and compositor.

extension Pad {
    /// Whether the aggregator has consumed all data of this sink pad of its own, up to the end of the stream.
    package var isAggregatorInputAtEnd: Bool {
        gst_aggregator_pad_is_eos(raw.assumingMemoryBound(to: GstAggregatorPad.self)) != 0
    }

    /// Answers LATENCY queries at this aggregator's sink pad without a maximum, because the aggregator queues data that
    /// arrives early. Otherwise GstAggregator warns about its latency if the maxima of its inputs are too small.
    ///
    /// If upstream doesn't answer, for example while a source is removed, the answer is a latency of zero.
    /// GstAggregator takes one failed query as a failure for all inputs, and then sleeps until data arrives: forever,
    /// if the queues of the other inputs are full. It repeats the query at a pad's first buffer.
    package func allowAnyInputLatency() {
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

    /// Starts a live stream without data on an unlinked sink pad of an aggregator, with a gap at `time`.
    package func startSilentStream(_ id: String, _ caps: Caps, at time: ClockTime, duration: Duration) {
        // GstAggregator asks only a pad's peer whether the stream is live, so the pad needs one.
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
        // The pads of a link don't retain each other, so this pad retains its peer.
        g_object_set_data_full(raw.assumingMemoryBound(to: GObject.self), "mediagraph-silence", source) {
            gst_object_unref($0)
        }
        gst_pad_send_event(pad, gst_event_new_stream_start(id))
        gst_pad_send_event(pad, gst_event_new_caps(caps.raw))
        gst_pad_send_event(pad, Segment().newEvent())
        gst_pad_send_event(
            pad, gst_event_new_gap(GstClockTime(time.nanoseconds), GstClockTime(duration.nanoseconds)))
    }
}
