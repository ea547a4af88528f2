import CGStreamer
import CGStreamerShims

extension Element {
    /// A source lets go of what it opened when its formats were asked for, as linking does, and opens it anew when it starts.
    /// Only where it isn't in PAUSED or PLAYING, and on the thread that has its state in its hands; nothing for any other element.
    public func releaseSource() {
        guard state <= .ready,
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_base_src_get_type()) != 0
        else { return }
        let klass = cgst_class_of(raw).assumingMemoryBound(to: GstBaseSrcClass.self)
        // What the base class calls when it leaves PAUSED; going there would start the stream.
        _ = klass.pointee.stop?(raw.assumingMemoryBound(to: GstBaseSrc.self))
    }
}
