import CGStreamer
import CGStreamerShims

extension Element {
    /// Makes a source close the resources that it opened for a caps query, which linking sends. The source opens them
    /// again when it starts.
    ///
    /// Does nothing in PAUSED and PLAYING, nor for other elements. Call it on the thread that controls the element's
    /// state.
    package func releaseSource() {
        guard state <= .ready,
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_base_src_get_type()) != 0
        else { return }
        let klass = cgst_class_of(raw).assumingMemoryBound(to: GstBaseSrcClass.self)
        // The base class calls `stop` when it leaves PAUSED. Going to PAUSED and back would start the stream.
        _ = klass.pointee.stop?(raw.assumingMemoryBound(to: GstBaseSrc.self))
    }
}
