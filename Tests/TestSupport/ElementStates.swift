import CGStreamer
import GStreamer

extension Element {
    /// Runs `body` with a sink's preroll lock, so that neither a buffer nor a state change enters the sink meanwhile.
    public func withPrerollLock(_ body: () -> Void) {
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        g_mutex_lock(&sink.pointee.preroll_lock)
        body()
        g_mutex_unlock(&sink.pointee.preroll_lock)
    }

    /// Whether the element is changing its state to PLAYING.
    public var isAboutToPlay: Bool { element.pointee.pending_state == GST_STATE_PLAYING }

    /// Sets the element's clock, as a pipeline would. A harness that the element is put into uses this clock too.
    public func setClock(_ clock: Clock) { gst_element_set_clock(element, clock.clock) }
}
