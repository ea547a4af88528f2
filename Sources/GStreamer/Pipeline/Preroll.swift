import CGStreamer

/// Who brings and who waits for a first buffer in PAUSED.
extension Element {
    /// Whether buffers leave one thread's side of it on another's.
    var isQueue: Bool { ["queue", "queue2", "multiqueue"].contains(factoryName) }

    /// Whether it is a source that sends by itself as soon as it is in PAUSED.
    var sendsInPaused: Bool {
        guard
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_base_src_get_type()) != 0
        else { return false }
        return typeName != "GstAppSrc" && gst_base_src_is_live(raw.assumingMemoryBound(to: GstBaseSrc.self)) == 0
    }

    /// For a sink that is in PAUSED and has waited for nothing: from now on PAUSED is done, for its bins too, when it has its
    /// first buffer; unless it has that.
    public func beginPreroll() {
        try? setProperty("async", to: true)
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        // What is on its way to it has to wait: it would commit a state that isn't lost yet.
        g_mutex_lock(&sink.pointee.preroll_lock)
        defer { g_mutex_unlock(&sink.pointee.preroll_lock) }
        if sink.pointee.have_preroll == 0, sink.pointee.eos == 0 { gst_element_lost_state(element) }
    }
}

extension Pipeline {
    /// Once a live pipeline was asked to play: from now on each sink plays as soon as it has its first buffer.
    ///
    /// GStreamer has those that have theirs wait in PAUSED until all others have, too: a stream that hasn't begun, of a device
    /// or a user that isn't there yet, would hold every other one. Sinks whose state is another's business, as that of a
    /// `splitmuxsink`'s is, are left to him.
    public func letSinksPlayAlone() {
        let type = gst_base_sink_get_type()
        for sink in allElements
        where g_type_check_instance_is_a(sink.raw.assumingMemoryBound(to: GTypeInstance.self), type) != 0
            && (sink.state == .ready || sink.state == .paused) && sink.followsPipeline
        {
            // Where it waits for its first buffer, that takes it through PAUSED.
            sink.setState(.playing)
        }
    }
}

extension Element {
    /// Whether its state is its pipeline's, and neither its own nor its bin's.
    fileprivate var followsPipeline: Bool {
        gst_element_is_locked_state(element) == 0 && (parent.map { $0.parent == nil || $0.followsPipeline } ?? true)
    }
}
