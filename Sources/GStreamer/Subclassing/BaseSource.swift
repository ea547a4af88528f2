import CGStreamer

/// Functions that a source calls on its streaming thread to send caps and events downstream, for sources of our own
/// classes and of GStreamer's.
struct BaseSource {
    private let source: UnsafeMutablePointer<GstBaseSrc>

    init(_ source: UnsafeMutablePointer<GstBaseSrc>) { self.source = source }

    /// Sends the caps of the following buffers, unless they equal the current caps. If downstream refuses the caps, it
    /// refuses the next buffer as well.
    func setCaps(_ caps: Caps) { _ = gst_base_src_set_caps(source, caps.raw) }

    /// Returns whether downstream accepts these caps at the moment. True if the pad isn't linked, since pushing the
    /// buffer then fails anyway.
    func downstreamAccepts(_ caps: Caps) -> Bool {
        gst_pad_is_linked(source.pointee.srcpad) == 0
            || gst_pad_peer_query_accept_caps(source.pointee.srcpad, caps.raw) != 0
    }

    /// Sends the segment now, for an event that must come after it. The base class sends the segment again with the
    /// next buffer; only GStreamer 1.24 and later allow sending it once.
    func pushSegment() {
        gst_pad_push_event(source.pointee.srcpad, gst_event_new_segment(&source.pointee.segment))
    }

    /// Sends a sticky custom event with `structure`, in order with the buffers.
    func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            source.pointee.srcpad,
            gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }
}
