import CGStreamer

extension Element {
    /// Has upstream push to this element if it is a `wavparse`: its question whether it can pull stays without an answer.
    ///
    /// Where it pulls, as it does behind filesrc, GStreamer 1.22's gives nothing of a file that has 1 to 7 bytes behind its data,
    /// such as the byte that RIFF asks for behind an odd number of them; pushed to, it gives all samples.
    public func disablePullOfWAV() {
        guard typeName == "GstWavParse", let pad = staticPad("sink") else { return }
        gst_pad_add_probe(
            pad.pad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
            { _, info, _ in
                let isScheduling = gst_pad_probe_info_get_query(info)?.pointee.type == GST_QUERY_SCHEDULING
                return isScheduling ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK
            }, nil, nil)
    }
}
