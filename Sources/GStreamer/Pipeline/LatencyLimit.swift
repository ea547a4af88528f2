import CGStreamer

extension Pad {
    /// For a source pad of what loses nothing when it is held up, as a screen, whose next picture is as good: LATENCY queries are
    /// answered without a maximum.
    ///
    /// `ximagesrc` says 0, and beside any other live source GStreamer warns that there is no latency that does for both.
    public func liftLatencyLimit() {
        // Once it has been answered.
        let types = GST_PAD_PROBE_TYPE_QUERY_UPSTREAM.rawValue | GST_PAD_PROBE_TYPE_PULL.rawValue
        gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types),
            { _, info, _ in
                guard let query = gst_pad_probe_info_get_query(info), query.pointee.type == GST_QUERY_LATENCY else {
                    return GST_PAD_PROBE_OK
                }
                var isLive: gboolean = 0
                var minimum: GstClockTime = 0
                gst_query_parse_latency(query, &isLive, &minimum, nil)
                gst_query_set_latency(query, isLive, minimum, GstClockTime.max)
                return GST_PAD_PROBE_OK
            }, nil, nil)
    }
}
