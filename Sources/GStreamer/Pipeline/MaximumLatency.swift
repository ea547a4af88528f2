import CGStreamer

extension Pad {
    /// Removes the maximum from the answers to LATENCY queries at this source pad. For a live source that can be
    /// blocked without losing data, such as a screen, whose next picture replaces the missed one.
    ///
    /// `ximagesrc` reports a maximum of 0. Beside any other live source, GStreamer then warns that no latency fits
    /// both.
    package func removeMaximumLatency() {
        // With PULL, the probe runs after the query has been answered.
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
