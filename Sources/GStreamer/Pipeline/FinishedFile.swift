import CGStreamer

extension Element {
    /// Keeps the file of a `filesink` as it is after end-of-stream. A `filesink` empties its file at FLUSH_STOP, so a seek
    /// in a graph that has ended would destroy the finished recording. Does nothing for other elements.
    package func keepFinishedFile() {
        guard typeName == "GstFileSink", let pad = staticPad("sink") else { return }
        gst_pad_add_probe(
            pad.pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH,
            { pad, _, _ in
                guard let sink = gst_pad_get_parent_element(pad) else { return GST_PAD_PROBE_OK }
                defer { gst_object_unref(sink) }
                let hasEnded = UnsafeMutableRawPointer(sink).assumingMemoryBound(to: GstBaseSink.self).pointee.eos != 0
                return hasEnded ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK
            }, nil, nil)
    }
}
