import CGStreamer

/// A place where an element takes or gives data.
public final class Pad: ObjectReference, @unchecked Sendable {
    package var pad: UnsafeMutablePointer<GstPad> { raw.assumingMemoryBound(to: GstPad.self) }

    public enum Direction: String, Sendable { case source = "src", sink, unknown }

    public var direction: Direction {
        switch gst_pad_get_direction(pad) {
        case GST_PAD_SRC: .source
        case GST_PAD_SINK: .sink
        default: .unknown
        }
    }

    public var isLinked: Bool { gst_pad_is_linked(pad) != 0 }

    /// End-of-stream has gone through it, and no flush since.
    public var hasEnded: Bool { pad.pointee.object.flags & GST_PAD_FLAG_EOS.rawValue != 0 }

    /// What the pad carries now.
    public var currentCaps: Caps? { gst_pad_get_current_caps(pad).map(Caps.init(taking:)) }

    /// What the pad can carry, as it answers now.
    public func queryCaps() -> Caps { Caps(taking: gst_pad_query_caps(pad, nil)) }

    /// What the other side can carry; `nil` while unlinked.
    public func peerCaps() -> Caps? {
        guard isLinked else { return nil }
        return Caps(taking: gst_pad_peer_query_caps(pad, nil))
    }

    /// Links a source pad to a sink pad; false when they can't be.
    public func link(to sink: Pad) -> Bool { gst_pad_link(pad, sink.pad) == GST_PAD_LINK_OK }

    /// What became of the last buffer of a source pad, where that means that none will be taken any more; `nil` otherwise.
    public var refusal: FlowReturn? {
        switch gst_pad_get_last_flow_return(pad) {
        case GST_FLOW_EOS: .endOfStream
        case GST_FLOW_NOT_LINKED: .notLinked
        case GST_FLOW_NOT_NEGOTIATED: .notNegotiated
        case GST_FLOW_ERROR: .error
        default: nil
        }
    }

    public var peer: Pad? { gst_pad_get_peer(pad).map { Pad(taking: $0) } }
    public var parent: Element? { gst_pad_get_parent_element(pad).map { Element(taking: $0) } }

    /// Sends upstream what only those who know it heed. For a sink pad; any thread.
    public func sendUpstream(_ structure: Structure) {
        gst_pad_push_event(pad, gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, gst_structure_copy(structure.raw)))
    }

    /// Asks encoders upstream for a key frame, as soon as can be, with all headers (`GstForceKeyUnit`). For a sink pad; any thread.
    public func requestKeyFrame() {
        gst_pad_push_event(pad, gst_video_event_new_upstream_force_key_unit(GstClockTime(UInt64.max), 1, 0))
    }

    /// A LATENCY query upstream: whether what comes in is live, and how much later than its timestamps it comes at least; at
    /// most, where what is upstream can't keep any amount. `nil` when nobody answered.
    public func upstreamLatency() -> (isLive: Bool, minimum: ClockTime, maximum: ClockTime?)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(pad, query) != 0 else { return nil }
        var isLive: gboolean = 0
        var minimum: GstClockTime = 0
        var maximum: GstClockTime = 0
        gst_query_parse_latency(query, &isLive, &minimum, &maximum)
        return (isLive != 0, ClockTime(raw: minimum) ?? .zero, ClockTime(raw: maximum))
    }

    /// Whether a segment has passed, as it does right before a stream's first data.
    public var hasSegment: Bool { Segment(passing: pad) != nil }

    /// Whether the element downstream pulls data from this source pad.
    public var isPulled: Bool { pad.pointee.mode == GST_PAD_MODE_PULL }

    /// Whether a thread is inside the element behind this sink pad with a buffer of its.
    public var isTaking: Bool {
        guard g_rec_mutex_trylock(&pad.pointee.stream_rec_lock) != 0 else { return true }
        g_rec_mutex_unlock(&pad.pointee.stream_rec_lock)
        return false
    }

    /// Whether what is upstream of this sink pad is still to be linked, as behind a demuxer whose pads come with the data.
    ///
    /// An element with several sink pads must wait for all of them: one that nobody ever links is no news.
    /// Looks no further up than an element that feeds others too, unless a queue is between: there one branch waits for the
    /// other.
    public func isLinkedLater() -> Bool { isLinkedLater(behindQueue: false, depth: 0) }

    private func isLinkedLater(behindQueue: Bool, depth: Int) -> Bool {
        guard let peer else { return true }
        // A loop ends too.
        guard let feeder = peer.parent, depth < 1000 else { return false }
        let pads = feeder.pads
        guard behindQueue || pads.count(where: { $0.direction == .source }) == 1 else { return false }
        let isQueue = feeder.isQueue
        let sinks = pads.filter { $0.direction == .sink }
        return !sinks.isEmpty
            && sinks.allSatisfy { $0.isLinkedLater(behindQueue: behindQueue || isQueue, depth: depth + 1) }
    }

    /// Whether something comes into this sink pad in PAUSED already: what is upstream is all linked, and begins with stock
    /// sources that aren't live and that no application feeds.
    ///
    /// Looks no further up than `isLinkedLater`, but into bins.
    public func isFedInPaused() -> Bool { isFedInPaused(behindQueue: false, depth: 0) }

    private func isFedInPaused(behindQueue: Bool, depth: Int) -> Bool {
        guard depth < 1000, let source = peer?.innermost else { return false }
        // Inside of a bin, its own sink pad: on with what is linked to that.
        guard let feeder = source.parent else {
            return source.outside?.isFedInPaused(behindQueue: behindQueue, depth: depth + 1) ?? false
        }
        let pads = feeder.pads
        let behindQueue = behindQueue || feeder.isQueue
        guard behindQueue || pads.count(where: { $0.direction == .source }) == 1 else { return false }
        let sinks = pads.filter { $0.direction == .sink }
        guard !sinks.isEmpty else { return feeder.sendsInPaused }
        return sinks.allSatisfy { $0.isFedInPaused(behindQueue: behindQueue, depth: depth + 1) }
    }
}
