import CGStreamer

extension Pipeline {
    /// Every `wavparse`, at any depth and whenever it comes, is pushed to by what is upstream.
    ///
    /// Where it pulls, as it does behind filesrc, GStreamer 1.22's gives nothing of a file that has 1 to 7 bytes behind its data,
    /// such as the byte that RIFF asks for behind an odd number of them; pushed to, it gives all samples.
    public func pushesToWAVParsers() {
        for element in allElements { element.refusesToPull() }
        typealias Added =
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, gpointer?
            ) -> Void
        let added: Added = { _, _, element, _ in Element(retaining: element!).refusesToPull() }
        g_signal_connect_data(
            raw, "deep-element-added", unsafeBitCast(added, to: GCallback.self), nil, nil, GConnectFlags(rawValue: 0))
    }
}

extension Element {
    /// Of a `wavparse`: it is told that upstream can't be pulled from.
    fileprivate func refusesToPull() {
        guard typeName == "GstWavParse", let pad = staticPad("sink") else { return }
        gst_pad_add_probe(
            pad.pad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
            { _, info, _ in
                let isScheduling = gst_pad_probe_info_get_query(info)?.pointee.type == GST_QUERY_SCHEDULING
                return isScheduling ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK
            }, nil, nil)
    }
}
