import CGStreamer
import GStreamer

extension Element {
    /// For a sink: neither a buffer nor a change of state gets into it meanwhile.
    public func withPrerollLock(_ body: () -> Void) {
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        g_mutex_lock(&sink.pointee.preroll_lock)
        body()
        g_mutex_unlock(&sink.pointee.preroll_lock)
    }

    /// Whether it is on its way to PLAYING.
    public var isAboutToPlay: Bool { element.pointee.pending_state == GST_STATE_PLAYING }
}
