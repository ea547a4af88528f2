import CGStreamer
import Foundation

/// Prerolling: sinks wait in PAUSED for their first buffer.
extension Element {
    /// Whether the element is a queue, which passes buffers from one thread to another.
    package var isQueue: Bool { ["queue", "queue2", "multiqueue"].contains(factoryName) }

    /// Whether the element is a source that sends data in PAUSED by itself, that is, isn't live and isn't fed by an
    /// application.
    var sendsInPaused: Bool {
        guard
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_base_src_get_type()) != 0
        else { return false }
        return typeName != "GstAppSrc" && gst_base_src_is_live(raw.assumingMemoryBound(to: GstBaseSrc.self)) == 0
    }

    /// Makes a sink that went to PAUSED without prerolling (`async=false`) preroll now: it and its bins are in PAUSED
    /// again when it has its first buffer. Does nothing more than set `async` if the sink has a buffer or EOS already.
    package func beginPreroll() {
        configure("async", to: true)
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        // Holding the lock keeps a buffer that arrives now from committing the state before it is lost.
        g_mutex_lock(&sink.pointee.preroll_lock)
        defer { g_mutex_unlock(&sink.pointee.preroll_lock) }
        if sink.pointee.have_preroll == 0, sink.pointee.eos == 0 { gst_element_lost_state(element) }
    }
}

extension Pad {
    /// Whether a sink downstream of this source pad holds a buffer, as sinks do in PAUSED. The thread that pushed the
    /// buffer doesn't return until the sink plays or stops.
    package var leadsToHeldBuffer: Bool {
        var seen: Set<UnsafeMutableRawPointer> = []
        var sources = [self]
        while let source = sources.popLast() {
            guard let next = source.neighbor, seen.insert(UnsafeMutableRawPointer(next.pad)).inserted else { continue }
            if next.parent?.holdsBuffer == true { return true }
            sources += next.internalLinks
        }
        return false
    }
}

extension Element {
    /// Whether this is a sink that holds a buffer in PAUSED.
    fileprivate var holdsBuffer: Bool {
        guard
            g_type_check_instance_is_a(raw.assumingMemoryBound(to: GTypeInstance.self), gst_base_sink_get_type()) != 0
        else { return false }
        let sink = raw.assumingMemoryBound(to: GstBaseSink.self)
        // A sink has this lock locked while it renders a buffer; it isn't holding a buffer in PAUSED then.
        guard g_mutex_trylock(&sink.pointee.preroll_lock) != 0 else { return false }
        defer { g_mutex_unlock(&sink.pointee.preroll_lock) }
        return sink.pointee.have_preroll != 0
    }
}

extension Pipeline {
    /// In a live pipeline that changes to PLAYING: the sinks that have prerolled and wait for the others. They include
    /// bins of sinks, such as `autoaudiosink`.
    ///
    /// GStreamer keeps them in PAUSED until all sinks have prerolled. So a stream that hasn't begun, because a device
    /// or a user is absent, would block all others.
    package var prerolledSinks: [Element] { allElements.filter { $0.isSink && $0.state == .paused } }

    /// Sets a prerolled sink to PLAYING without waiting for the other sinks. Don't call it on a streaming thread.
    ///
    /// The sink first receives the latency of the pipeline, which GStreamer distributes to all sinks together. The
    /// latency can depend on the format, such as that of a sound card's buffer; a sink without it would render too
    /// early, and then have a gap.
    ///
    /// Does nothing if a bin around the sink isn't to play yet (a bin waits for all its sinks and plays as a whole) or
    /// any more, or if the sink's state doesn't follow the pipeline, as inside of a `splitmuxsink`.
    package func letPlay(_ sink: Element) {
        // A bin posts that it is in PAUSED before it stores that state. If it were set to PLAYING in between, it would
        // store PAUSED afterwards, and never post EOS. When its own bin receives ASYNC_DONE, the state is stored.
        while sink.isChangingByItself, sink.isToPlay { Thread.sleep(forTimeInterval: 0.0002) }
        let latency = self.latency
        let element = sink.element
        // A thread that stops the bins needs this lock too, so it can't do so in between.
        g_rec_mutex_lock(&element.pointee.state_lock)
        defer { g_rec_mutex_unlock(&element.pointee.state_lock) }
        guard sink.targetState >= .paused, sink.followsPipeline, sink.isToPlay else { return }
        // Send the latency to this sink only. Sending it to the pipeline would wait for state changes of other sinks,
        // which may hang.
        if let latency {
            gst_element_send_event(element, gst_event_new_latency(GstClockTime(latency.minimum.nanoseconds)))
        }
        sink.setState(.playing)
    }
}

extension Element {
    /// Whether the element's state follows the pipeline's: neither its state nor that of a bin around it is locked.
    fileprivate var followsPipeline: Bool {
        gst_element_is_locked_state(element) == 0 && (parent.map { $0.parent == nil || $0.followsPipeline } ?? true)
    }

    /// Whether the element's bin has received ASYNC_START from it, but not yet ASYNC_DONE.
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

    /// Whether the element's pipeline is to play. Bins in between must be playing already, because they distribute the
    /// base time.
    fileprivate var isToPlay: Bool {
        guard var bin = parent else { return false }
        while let next = bin.parent {
            guard bin.readLocked(\.current_state) == .playing else { return false }
            bin = next
        }
        return bin.targetState == .playing
    }

    /// Whether the element is in a pipeline that is to leave PLAYING, or has left it.
    package var isInStoppingPipeline: Bool {
        let outermost = outermost
        return outermost != self && outermost.targetState < .playing
    }

    /// The state that was last requested.
    fileprivate var targetState: State { readLocked(\.target_state) }

    /// Reads a state of the element with the object lock held.
    private func readLocked(_ state: KeyPath<GstElement, GstState>) -> State {
        g_mutex_lock(&object.pointee.lock)
        defer { g_mutex_unlock(&object.pointee.lock) }
        return State(element.pointee[keyPath: state]) ?? .null
    }
}
