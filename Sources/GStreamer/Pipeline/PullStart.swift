import CGStreamer

extension Element {
    /// Delays this element's first pull until the decoding bin around it has finished plugging it. Does nothing outside
    /// of a decoding bin.
    ///
    /// An element in pull mode has its own thread, which may post an error while the thread of `typefind` is still
    /// plugging the element. The decodebin and parsebin of GStreamer 1.22 drop such an error, because they take it for
    /// a failed attempt to plug the element, although that succeeds. Then the graph stalls without an error.
    package func delayPullUntilPlugged() {
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
    /// Waits until `typefind` unlocks its sink pad, whose stream lock it holds while the bin plugs the elements behind
    /// it.
    fileprivate func waitForTypeFinding() {
        guard let upstream = peer?.parent, upstream.typeName == "GstTypeFindElement",
            let sink = upstream.staticPad("sink")
        else { return }
        // If plugging fails, typefind's thread deactivates this pad and waits for the current thread.
        while g_rec_mutex_trylock(&sink.pad.pointee.stream_rec_lock) == 0 {
            if gst_pad_is_active(pad) == 0 { return }
            g_usleep(500)
        }
        g_rec_mutex_unlock(&sink.pad.pointee.stream_rec_lock)
    }
}
