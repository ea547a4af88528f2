import CGStreamer

extension Element {
    /// Makes a `wavparse` work in push mode, by dropping its SCHEDULING query. Does nothing for other elements.
    ///
    /// In pull mode, for example behind filesrc, the wavparse of GStreamer 1.22 outputs nothing for a file with 1 to 7
    /// bytes after its data, such as the padding byte that RIFF requires after an odd number of bytes. In push mode it
    /// outputs all samples.
    package func disableWAVPullMode() {
        guard typeName == "GstWavParse", let pad = staticPad("sink") else { return }
        gst_pad_add_probe(
            pad.pad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
            { _, info, _ in
                let isScheduling = gst_pad_probe_info_get_query(info)?.pointee.type == GST_QUERY_SCHEDULING
                return isScheduling ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK
            }, nil, nil)
    }
}
