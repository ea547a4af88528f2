import CGStreamer

/// What a source's streaming thread says downstream, whether its class is ours or a stock one's.
struct BaseSource {
    private let source: UnsafeMutablePointer<GstBaseSrc>

    init(_ source: UnsafeMutablePointer<GstBaseSrc>) { self.source = source }

    /// Sends the caps of the buffers that follow, unless they are the same. When they are refused the next buffer is too.
    func setCaps(_ caps: Caps) { _ = gst_base_src_set_caps(source, caps.raw) }

    /// Whether downstream takes these caps just now; true while unlinked, when the buffer itself is refused.
    func downstreamAccepts(_ caps: Caps) -> Bool {
        gst_pad_is_linked(source.pointee.srcpad) == 0
            || gst_pad_peer_query_accept_caps(source.pointee.srcpad, caps.raw) != 0
    }

    /// Sends the segment, which the base class would send with the first buffer only: an event that follows needs it. The
    /// base class sends it again then; to send it once is possible from GStreamer 1.24 on.
    func pushSegment() {
        gst_pad_push_event(source.pointee.srcpad, gst_event_new_segment(&source.pointee.segment))
    }

    /// Sends a sticky custom event, in order with the buffers.
    func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            source.pointee.srcpad,
            gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }
}
