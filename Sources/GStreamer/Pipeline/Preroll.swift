import CGStreamer
import Foundation

/// Who brings and who waits for a first buffer in PAUSED.
extension Element {
    /// Whether buffers leave one thread's side of it on another's.
    public var isQueue: Bool { ["queue", "queue2", "multiqueue"].contains(factoryName) }

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
    /// The sinks of a live pipeline that is to play which have their first buffer, and wait for those that haven't; bins of sinks, as
    /// `autoaudiosink`, are sinks.
    ///
    /// GStreamer has them wait in PAUSED until all others have theirs, too: a stream that hasn't begun, of a device or a user that
    /// isn't there yet, would hold every other one.
    public var prerolledSinks: [Element] { allElements.filter { $0.isSink && $0.state == .paused } }

    /// Has a sink play that has what it waited for in PAUSED, whatever the others have. Not on a streaming thread.
    ///
    /// Before it renders it gets to know the latency, as GStreamer has it for all sinks together: a format may change that, as
    /// that of a sound card's buffer, and what is rendered without is too early and has a hole behind it. Nothing happens where
    /// a bin of the sink isn't to play yet (it waits for all in it, and plays as a whole) or any more, nor where the state is
    /// another's business, as that of a `splitmuxsink`'s sink.
    public func letPlay(_ sink: Element) {
        // A bin says that it is in PAUSED before it has noted it, and forgets that it plays when it notes it behind that: it
        // would never say that its streams have ended. By when its own bin hears the rest it has.
        while sink.isChangingByItself, sink.isToPlay { Thread.sleep(forTimeInterval: 0.0002) }
        let latency = self.latency
        let element = sink.element
        // Who takes its bins down comes before or after, not in between.
        g_rec_mutex_lock(&element.pointee.state_lock)
        defer { g_rec_mutex_unlock(&element.pointee.state_lock) }
        guard sink.target >= .paused, sink.followsPipeline, sink.isToPlay else { return }
        // To this sink only: another one's change of state, which may hang, would hold it up.
        if let latency {
            gst_element_send_event(element, gst_event_new_latency(GstClockTime(latency.minimum.nanoseconds)))
        }
        sink.setState(.playing)
    }
}

extension Element {
    /// Whether its state is its pipeline's, and neither its own nor its bin's.
    fileprivate var followsPipeline: Bool {
        gst_element_is_locked_state(element) == 0 && (parent.map { $0.parent == nil || $0.followsPipeline } ?? true)
    }

    /// Whether its bin has heard that it changes its state by itself (ASYNC_START), and not yet that it has (ASYNC_DONE).
    fileprivate var isChangingByItself: Bool {
        guard let parent, parent.isBin else { return false }
        let bin = parent.raw.assumingMemoryBound(to: GstBin.self)
        g_mutex_lock(&parent.object.pointee.lock)
        defer { g_mutex_unlock(&parent.object.pointee.lock) }
        return sequence(first: bin.pointee.messages) { $0?.pointee.next }.prefix { $0 != nil }.contains { link in
            let message = link!.pointee.data.assumingMemoryBound(to: GstMessage.self)
            return message.pointee.type == GST_MESSAGE_ASYNC_START && message.pointee.src == object
        }
    }

    /// Whether it is in a pipeline that is to play; a bin in between must do so already, and have told it the base time.
    fileprivate var isToPlay: Bool {
        guard var bin = parent else { return false }
        while let next = bin.parent {
            guard bin.own(\.current_state) == .playing else { return false }
            bin = next
        }
        return bin.target == .playing
    }

    /// The state that it was last asked for.
    fileprivate var target: State { own(\.target_state) }

    private func own(_ state: KeyPath<GstElement, GstState>) -> State {
        g_mutex_lock(&object.pointee.lock)
        defer { g_mutex_unlock(&object.pointee.lock) }
        return State(element.pointee[keyPath: state]) ?? .null
    }
}
