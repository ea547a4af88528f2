import CGStreamer

extension Element {
    /// Delays this element's first pull until the decoding bin around it has plugged it. Does nothing outside of such a bin.
    ///
    /// An element that pulls has a thread of its own, which may post an error before the thread that plugs the element, that of
    /// `typefind`, is done. The decodebin and parsebin of GStreamer 1.22 drop such an error: they take it for one of the attempt
    /// to plug the element, which has succeeded. Then the graph stands still without a word.
    public func delayPullUntilPlugged() {
        guard let bin = parent?.typeName, ["GstDecodeBin", "GstParseBin"].contains(bin),
            let pad = staticPad("sink")
        else { return }
        gst_pad_add_probe(
            pad.pad,
            GstPadProbeType(
                rawValue: GST_PAD_PROBE_TYPE_PULL.rawValue | GST_PAD_PROBE_TYPE_BUFFER.rawValue
                    | GST_PAD_PROBE_TYPE_BLOCK.rawValue),
            { pad, _, _ in
                Pad(retaining: UnsafeMutableRawPointer(pad!)).waitForTypeFinding()
                return GST_PAD_PROBE_REMOVE
            }, nil, nil)
    }
}

extension Pad {
    /// `typefind` holds its sink pad's lock while the bin plugs what comes behind it.
    fileprivate func waitForTypeFinding() {
        guard let upstream = peer?.parent, upstream.typeName == "GstTypeFindElement",
            let sink = upstream.staticPad("sink")
        else { return }
        // Where plugging fails after all, typefind's thread deactivates this pad and waits for the thread that is here.
        while g_rec_mutex_trylock(&sink.pad.pointee.stream_rec_lock) == 0 {
            if gst_pad_is_active(pad) == 0 { return }
            g_usleep(500)
        }
        g_rec_mutex_unlock(&sink.pad.pointee.stream_rec_lock)
    }
}
