import CGStreamer

/// A pad, where data enters or leaves an element (`GstPad`).
public final class Pad: ObjectReference, @unchecked Sendable {
    package var pad: UnsafeMutablePointer<GstPad> { raw.assumingMemoryBound(to: GstPad.self) }

    /// The direction of the data at a pad.
    public enum Direction: String, Sendable {
        /// Data leaves the element.
        case source = "src"
        /// Data enters the element.
        case sink
        /// The pad has no direction.
        case unknown
    }

    /// The direction of the data.
    public var direction: Direction {
        switch gst_pad_get_direction(pad) {
        case GST_PAD_SRC: .source
        case GST_PAD_SINK: .sink
        default: .unknown
        }
    }

    /// Whether the pad is linked to another one.
    public var isLinked: Bool { gst_pad_is_linked(pad) != 0 }

    /// Whether EOS has passed the pad, and no flush since.
    public var hasEnded: Bool { pad.pointee.object.flags & GST_PAD_FLAG_EOS.rawValue != 0 }

    /// The caps of the stream at the pad; `nil` before the first caps.
    public var currentCaps: Caps? { gst_pad_get_current_caps(pad).map(Caps.init(taking:)) }

    /// Returns the caps that the pad can carry now.
    public func queryCaps() -> Caps { Caps(taking: gst_pad_query_caps(pad, nil)) }

    /// Returns the caps that the linked pad can carry now; `nil` if the pad isn't linked.
    public func peerCaps() -> Caps? {
        guard isLinked else { return nil }
        return Caps(taking: gst_pad_peer_query_caps(pad, nil))
    }

    /// Links this source pad to a sink pad. False if that fails.
    public func link(to sink: Pad) -> Bool { gst_pad_link(pad, sink.pad) == GST_PAD_LINK_OK }

    /// The result of this source pad's last push, if it means that downstream won't accept any more buffers; `nil`
    /// otherwise.
    public var refusal: FlowReturn? {
        switch gst_pad_get_last_flow_return(pad) {
        case GST_FLOW_EOS: .endOfStream
        case GST_FLOW_NOT_LINKED: .notLinked
        case GST_FLOW_NOT_NEGOTIATED: .notNegotiated
        case GST_FLOW_ERROR: .error
        default: nil
        }
    }

    /// Whether this source pad's last push was refused because of a flush, or because a pad downstream isn't active. The
    /// element's streaming thread has then stopped.
    package var isFlushing: Bool { gst_pad_get_last_flow_return(pad) == GST_FLOW_FLUSHING }

    /// The pad to which this one is linked; `nil` if there is none.
    public var peer: Pad? { gst_pad_get_peer(pad).map { Pad(taking: $0) } }
    /// The element to which the pad belongs; `nil` if there is none.
    public var parent: Element? { gst_pad_get_parent_element(pad).map { Element(taking: $0) } }

    /// Sends a custom event upstream, which elements that don't know it ignore. For a sink pad. Call it from any
    /// thread.
    public func sendUpstream(_ structure: Structure) {
        gst_pad_push_event(pad, gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, gst_structure_copy(structure.raw)))
    }

    /// Asks encoders upstream for a key frame as soon as possible, with all headers (`GstForceKeyUnit`). For a sink
    /// pad. May be called from any thread.
    public func requestKeyFrame() {
        gst_pad_push_event(pad, gst_video_event_new_upstream_force_key_unit(GstClockTime(UInt64.max), 1, 0))
    }

    /// Sends a LATENCY query upstream; `nil` if it fails.
    ///
    /// Returns whether the stream is live, how late after their timestamps buffers arrive (`minimum`), and how much
    /// latency upstream can buffer (`maximum`, which is `nil` if there is no limit).
    public func upstreamLatency() -> (isLive: Bool, minimum: Duration, maximum: Duration?)? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(pad, query) != 0 else { return nil }
        var isLive: gboolean = 0
        var minimum: GstClockTime = 0
        var maximum: GstClockTime = 0
        gst_query_parse_latency(query, &isLive, &minimum, &maximum)
        return (isLive != 0, Duration(raw: minimum) ?? .zero, Duration(raw: maximum))
    }

    /// Whether a segment has passed the pad, which happens right before a stream's first data.
    public var hasSegment: Bool { Segment(passing: pad) != nil }

    /// Whether the element downstream pulls data from this pad (pull mode).
    public var isPulled: Bool { pad.pointee.mode == GST_PAD_MODE_PULL }

    /// Whether a thread is passing data through this sink pad now, and so is inside of the element behind it.
    public var isReceiving: Bool {
        guard g_rec_mutex_trylock(&pad.pointee.stream_rec_lock) != 0 else { return true }
        g_rec_mutex_unlock(&pad.pointee.stream_rec_lock)
        return false
    }

    /// Returns whether a link upstream of this sink pad is still missing, for example behind a demuxer that adds its
    /// pads when data arrives.
    ///
    /// For an element with several sink pads, links must be missing behind all of them, because one of its pads may
    /// never be linked. The search ends at an element with several source pads, because there one branch waits for the
    /// other, unless a queue lies between.
    public func isLinkedLater() -> Bool { isLinkedLater(behindQueue: false, depth: 0) }

    private func isLinkedLater(behindQueue: Bool, depth: Int) -> Bool {
        guard let peer else { return true }
        // The limit ends the search in a loop.
        guard let feeder = peer.parent, depth < 1000 else { return false }
        let pads = feeder.pads
        guard behindQueue || pads.count(where: { $0.direction == .source }) == 1 else { return false }
        let isQueue = feeder.isQueue
        let sinks = pads.filter { $0.direction == .sink }
        return !sinks.isEmpty
            && sinks.allSatisfy { $0.isLinkedLater(behindQueue: behindQueue || isQueue, depth: depth + 1) }
    }

    /// Returns whether data arrives at this sink pad in PAUSED already: all elements upstream are linked, and their
    /// sources send by themselves, that is, aren't live and aren't fed by an application.
    ///
    /// The search ends where that of ``isLinkedLater()`` ends, but it also looks into bins.
    public func isFedInPaused() -> Bool { isFedInPaused(behindQueue: false, depth: 0) }

    private func isFedInPaused(behindQueue: Bool, depth: Int) -> Bool {
        guard depth < 1000, let source = peer?.innermost else { return false }
        // This is the inner side of a bin's sink pad: continue at the outer side.
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
