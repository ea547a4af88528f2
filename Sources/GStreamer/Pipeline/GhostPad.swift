import CGStreamer
import CGStreamerShims

/// A bin's pad that stands for a child's.
public struct GhostPad: Sendable, Equatable {
    // A pointer to a pad that the bin owns as long as the bin's implementation lives.
    private let address: UInt
    package var raw: UnsafeMutablePointer<GstPad> { UnsafeMutablePointer(bitPattern: address)! }

    package init(_ raw: UnsafeMutablePointer<GstPad>) { address = UInt(bitPattern: raw) }

    public func isSame(as other: GhostPad) -> Bool { address == other.address }

    /// A reference on the pad.
    public var pad: Pad { Pad(retaining: UnsafeMutableRawPointer(raw)) }

    /// What to do with a query that reaches the pad.
    public enum Answer: Sendable {
        /// The pad's own default: ask the child.
        case forward
        case caps(Caps)
        /// ALLOCATION: buffers with these metas are understood.
        case understands([MetaAPI])
        /// ALLOCATION: nothing to propose, and the child need not be asked.
        case proposesNothing
        /// LATENCY: buffers don't come at the clock's pace, so nobody need wait for it.
        case notLive
    }

    /// Answers CAPS, ALLOCATION and LATENCY queries itself. `handler` runs on any thread.
    public func onQuery(_ handler: @escaping @Sendable (Query) -> Answer) {
        let box = Unmanaged.passRetained(Box(handler)).toOpaque()
        gst_pad_set_query_function_full(
            raw,
            { pad, parent, query in
                let box = Unmanaged<Box>.fromOpaque(pad!.pointee.querydata).takeUnretainedValue()
                return box.answer(pad!, parent, query!)
            }, box, { Unmanaged<Box>.fromOpaque($0!).release() })
    }

    /// What a bin may want to know of the events that pass its pad.
    public enum Event: Sendable {
        /// The stream's ID.
        case streamStart(String)
        case caps(Caps)
        case endOfStream
        case flushStart
        case flushStop
    }

    /// Looks at events before the child does; false refuses one, and for CAPS upstream stops with not-negotiated.
    /// `accepts` runs on the streaming thread, for flushes on the thread that flushes. The pad answers ACCEPT_CAPS by its template, as decoders do: what the
    /// template allows and the moment does not is refused here, where there is a chance to say why.
    public func onEvent(_ accepts: @escaping @Sendable (Event) -> Bool) {
        let box = Unmanaged.passRetained(EventBox(accepts)).toOpaque()
        gst_pad_set_event_function_full(
            raw,
            { pad, parent, event in
                let box = Unmanaged<EventBox>.fromOpaque(pad!.pointee.eventdata).takeUnretainedValue()
                if let seen = Event(event!), !box.accepts(seen) {
                    gst_event_unref(event)
                    return 0
                }
                return gst_pad_event_default(pad, parent, event)
            }, box, { Unmanaged<EventBox>.fromOpaque($0!).release() })
    }

    /// Runs `body` whenever something is linked to the pad, on the thread that links.
    public func onLinked(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(LinkBox(body)).toOpaque()
        let linked:
            @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void =
                { _, _, context in Unmanaged<LinkBox>.fromOpaque(context!).takeUnretainedValue().body() }
        g_signal_connect_data(
            raw, "linked", unsafeBitCast(linked, to: GCallback.self), box,
            { context, _ in Unmanaged<LinkBox>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
    }

    private final class LinkBox: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Buffers go straight to the child's pad. By default they pass the ghost's hidden inner pad too, which pushes them on
    /// as an element would: some 800 instructions a buffer, for a pad that nobody can see or relink, and another 300 for
    /// what the child's pad does all over again.
    ///
    /// For a sink pad, once its target is set for good. Events, queries and buffer lists go the usual way.
    public func chainToTarget() {
        let ghost = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstGhostPad.self)
        guard let target = gst_ghost_pad_get_target(ghost) else { return }
        gst_pad_set_chain_function_full(
            raw,
            { pad, _, buffer in
                cgst_pad_chain_inside(pad!.pointee.chaindata.assumingMemoryBound(to: GstPad.self), buffer)
            }, target, { gst_object_unref($0) })
    }

    /// Keeps downstream's failures from stopping the child. Buffers are dropped while the pad is unlinked; `refused` is called
    /// when downstream rejects a format, on the streaming thread, maybe with each buffer. For a source pad, once.
    public func ignoresDownstreamFailures(_ refused: @escaping @Sendable () -> Void) {
        let proxy = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstProxyPad.self)
        guard let inner = gst_proxy_pad_get_internal(proxy) else { return }
        defer { gst_object_unref(inner) }
        let pad = UnsafeMutableRawPointer(inner).assumingMemoryBound(to: GstPad.self)
        gst_pad_set_chain_function_full(
            pad,
            { pad, parent, buffer in
                let flow = gst_proxy_pad_chain_default(pad, parent, buffer)
                if flow == GST_FLOW_NOT_NEGOTIATED { RefusalBox.of(pad).refused() }
                return flow == GST_FLOW_NOT_LINKED || flow == GST_FLOW_NOT_NEGOTIATED ? GST_FLOW_OK : flow
            }, Unmanaged.passRetained(RefusalBox(refused)).toOpaque(),
            { Unmanaged<RefusalBox>.fromOpaque($0!).release() })
        // Caps that are refused would be sent again with each buffer, and each refused before it got here.
        gst_pad_set_event_function_full(
            pad,
            { pad, parent, event in
                let isCaps = event?.pointee.type == GST_EVENT_CAPS
                let isTaken = gst_pad_event_default(pad, parent, event)
                guard isCaps, isTaken == 0, let pad, gst_pad_is_linked(pad) != 0 else { return isTaken }
                RefusalBox.of(pad).refused()
                return 1
            }, nil, nil)
    }

    private final class RefusalBox: Sendable {
        let refused: @Sendable () -> Void
        init(_ refused: @escaping @Sendable () -> Void) { self.refused = refused }

        static func of(_ pad: UnsafeMutablePointer<GstPad>?) -> RefusalBox {
            Unmanaged<RefusalBox>.fromOpaque(pad!.pointee.chaindata).takeUnretainedValue()
        }
    }

    /// Stands for another child's pad from now on, or for none.
    public func setTarget(_ target: Pad?) {
        gst_ghost_pad_set_target(UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstGhostPad.self), target?.pad)
    }

    /// In place of each buffer downstream gets a GAP of its time: it goes on, and has nothing to show. For a source pad.
    public func replaceBuffersWithGaps() -> BufferHold {
        BufferHold(
            id: gst_pad_add_probe(
                raw,
                GstPadProbeType(
                    rawValue: GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue),
                { pad, info, _ in
                    if let buffer = gst_pad_probe_info_get_buffer(info), buffer.pointee.pts != GstClockTime.max {
                        gst_pad_push_event(pad, gst_event_new_gap(buffer.pointee.pts, buffer.pointee.duration))
                    }
                    return GST_PAD_PROBE_DROP
                }, nil, nil))
    }

    public func release(_ hold: BufferHold) { gst_pad_remove_probe(raw, hold.id) }

    /// What is done to a pad's buffers until it is released.
    public struct BufferHold: Sendable {
        fileprivate let id: gulong
    }

    private final class EventBox: Sendable {
        let accepts: @Sendable (Event) -> Bool
        init(_ accepts: @escaping @Sendable (Event) -> Bool) { self.accepts = accepts }
    }

    public enum Query: Sendable {
        case caps
        case allocation
        case latency
    }

    private final class Box: Sendable {
        let handler: @Sendable (Query) -> Answer
        init(_ handler: @escaping @Sendable (Query) -> Answer) { self.handler = handler }

        func answer(
            _ pad: UnsafeMutablePointer<GstPad>, _ parent: UnsafeMutablePointer<GstObject>?,
            _ query: UnsafeMutablePointer<GstQuery>
        ) -> gboolean {
            switch query.pointee.type {
            case GST_QUERY_CAPS:
                guard case .caps(let caps) = handler(.caps) else { break }
                var filter: UnsafeMutablePointer<GstCaps>?
                gst_query_parse_caps(query, &filter)
                guard let filter else {
                    gst_query_set_caps_result(query, caps.raw)
                    return 1
                }
                // The filter's order is upstream's preference, but ours leads: it saves the conversion.
                let result = gst_caps_intersect_full(caps.raw, filter, GST_CAPS_INTERSECT_FIRST)
                gst_query_set_caps_result(query, result)
                gst_caps_unref(result)
                return 1
            case GST_QUERY_ACCEPT_CAPS:
                var caps: UnsafeMutablePointer<GstCaps>?
                gst_query_parse_accept_caps(query, &caps)
                let template = gst_pad_get_pad_template_caps(pad)
                gst_query_set_accept_caps_result(query, gst_caps_is_subset(caps, template))
                gst_caps_unref(template)
                return 1
            case GST_QUERY_ALLOCATION:
                switch handler(.allocation) {
                case .understands(let metas):
                    for api in metas { AllocationQuery(query).list(api) }
                    return 1
                case .proposesNothing: return 0
                default: return gst_pad_query_default(pad, parent, query)
                }
            case GST_QUERY_LATENCY:
                guard case .notLive = handler(.latency) else { break }
                gst_query_set_latency(query, 0, 0, .max)
                return 1
            default: break
            }
            return gst_pad_query_default(pad, parent, query)
        }
    }
}

extension GhostPad.Event {
    fileprivate init?(_ event: UnsafeMutablePointer<GstEvent>) {
        switch event.pointee.type {
        case GST_EVENT_STREAM_START: self = .streamStart(StreamStart(retaining: event).id)
        case GST_EVENT_CAPS:
            var caps: UnsafeMutablePointer<GstCaps>?
            gst_event_parse_caps(event, &caps)
            guard let caps else { return nil }
            self = .caps(Caps(retaining: caps))
        case GST_EVENT_EOS: self = .endOfStream
        case GST_EVENT_FLUSH_START: self = .flushStart
        case GST_EVENT_FLUSH_STOP: self = .flushStop
        default: return nil
        }
    }
}

extension GhostPad {
    /// Ends a stream that nobody sends: one that never began is an empty one then.
    public func endEmptyStream() {
        guard gst_pad_get_sticky_event(raw, GST_EVENT_STREAM_START, 0).map({ gst_event_unref($0) }) == nil else {
            gst_pad_push_event(raw, gst_event_new_eos())
            return
        }
        var segment = GstSegment()
        gst_segment_init(&segment, GST_FORMAT_TIME)
        let bin = gst_pad_get_parent_element(raw)
        let id = takeString(gst_pad_create_stream_id(raw, bin, "nothing")) ?? "nothing"
        gst_object_unref(bin)
        gst_pad_push_event(raw, gst_event_new_stream_start(id))
        gst_pad_push_event(raw, gst_event_new_segment(&segment))
        gst_pad_push_event(raw, gst_event_new_eos())
    }
}
