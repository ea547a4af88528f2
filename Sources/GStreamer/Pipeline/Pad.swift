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

    public var peer: Pad? { gst_pad_get_peer(pad).map { Pad(taking: $0) } }
    public var parent: Element? { gst_pad_get_parent_element(pad).map { Element(taking: $0) } }

    /// Whether what comes in is live, by a LATENCY query; `nil` when nobody answered.
    public func upstreamIsLive() -> Bool? {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_peer_query(pad, query) != 0 else { return nil }
        var live: gboolean = 0
        gst_query_parse_latency(query, &live, nil, nil)
        return live != 0
    }
}

extension Pad {
    /// Takes custom downstream events of this name off the stream. `handler` runs on the streaming thread, when everything
    /// that came before has gone through the elements behind the pad.
    public func interceptEvents(named name: String, _ handler: @escaping @Sendable (Structure) -> Void) {
        let box = Unmanaged.passRetained(EventInterceptor(name, handler)).toOpaque()
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_CUSTOM_DOWNSTREAM,
                    let structure = gst_event_get_structure(event)
                else { return GST_PAD_PROBE_OK }
                let interceptor = Unmanaged<EventInterceptor>.fromOpaque(context!).takeUnretainedValue()
                guard gst_structure_has_name(structure, interceptor.name) != 0 else { return GST_PAD_PROBE_OK }
                interceptor.handler(Structure(copying: structure))
                return GST_PAD_PROBE_DROP
            }, box, { Unmanaged<EventInterceptor>.fromOpaque($0!).release() })
    }

    private final class EventInterceptor: Sendable {
        let name: String
        let handler: @Sendable (Structure) -> Void

        init(_ name: String, _ handler: @escaping @Sendable (Structure) -> Void) {
            self.name = name
            self.handler = handler
        }
    }
}
