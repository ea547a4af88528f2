import CGStreamer
import CGStreamerShims
import Synchronization

/// A ghost pad: a bin's pad that stands for a pad of a child.
public struct GhostPad: Sendable, Equatable {
    // The address of the pad, which the bin owns for as long as the bin's implementation lives.
    private let address: UInt
    package var raw: UnsafeMutablePointer<GstPad> { UnsafeMutablePointer(bitPattern: address)! }

    package init(_ raw: UnsafeMutablePointer<GstPad>) { address = UInt(bitPattern: raw) }

    /// Returns whether both values stand for the same pad.
    package func isSame(as other: GhostPad) -> Bool { address == other.address }

    /// The pad, with a reference to it.
    package var pad: Pad { Pad(retaining: UnsafeMutableRawPointer(raw)) }

    /// The answer to a query that reaches the pad.
    package enum Answer: Sendable {
        /// The pad's default: forward the query to the child.
        case forward
        /// CAPS: the pad can carry these caps.
        case caps(Caps)
        /// ALLOCATION: the bin understands buffers with these metas.
        case understands([MetaAPI])
        /// ALLOCATION: the bin proposes nothing, and the query isn't forwarded to the child.
        case proposesNothing
        /// LATENCY: buffers don't arrive at the clock's pace, so the stream isn't live.
        case notLive
    }

    /// Answers CAPS, ALLOCATION and LATENCY queries with the result of `handler`, which runs on any thread.
    package func onQuery(_ handler: @escaping @Sendable (Query) -> Answer) {
        let box = Unmanaged.passRetained(Box(handler)).toOpaque()
        gst_pad_set_query_function_full(
            raw,
            { pad, parent, query in
                let box = Unmanaged<Box>.fromOpaque(pad!.pointee.querydata).takeUnretainedValue()
                return box.answer(pad!, parent, query!)
            }, box, { Unmanaged<Box>.fromOpaque($0!).release() })
    }

    /// An event that passes the pad.
    package enum Event: Sendable {
        /// The stream's ID.
        case streamStart(String)
        /// The format of the buffers that follow.
        case caps(Caps)
        /// The stream ends.
        case endOfStream
        /// A flush begins.
        case flushStart
        /// A flush ends.
        case flushStop
        /// A custom event's structure.
        case custom(Structure)
    }

    /// Calls `accepts` with each event before the child receives it. If `accepts` returns false, the event is refused;
    /// when CAPS are refused, upstream stops with not-negotiated. `accepts` runs on the streaming thread; for flushes,
    /// on the thread that flushes.
    ///
    /// A pad with `onQuery(_:)` answers ACCEPT_CAPS by its template, as decoders do. So caps that the template allows
    /// but that can't be used now are refused here, where the bin can report the reason.
    package func onEvent(_ accepts: @escaping @Sendable (Event) -> Bool) {
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

    /// Calls `body` whenever another pad is linked to this one, on the thread that links.
    package func onLinked(_ body: @escaping @Sendable () -> Void) {
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

    /// Passes buffers directly to the child's pad. Call it on a sink pad whose target won't change any more.
    ///
    /// By default, buffers also pass the ghost pad's hidden inner pad, which pushes them like an element does. This
    /// costs some 800 instructions per buffer, although nobody can see or relink that pad, and another 300 for work
    /// that the child's pad repeats. Events, queries and buffer lists still go the usual way.
    ///
    /// With `stampsCaptureTime`, buffers without a wall-clock time of capture get the current time.
    package func chainToTarget(stampsCaptureTime: Bool = false) {
        let ghost = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstGhostPad.self)
        guard let target = gst_ghost_pad_get_target(ghost) else { return }
        let chain: GstPadChainFunction = { pad, _, buffer in
            cgst_pad_chain_inside(pad!.pointee.chaindata.assumingMemoryBound(to: GstPad.self), buffer)
        }
        let stampingChain: GstPadChainFunction = { pad, _, buffer in
            cgst_pad_chain_inside(
                pad!.pointee.chaindata.assumingMemoryBound(to: GstPad.self),
                Buffer(taking: buffer!).withCaptureTime().take())
        }
        gst_pad_set_chain_function_full(
            raw, stampsCaptureTime ? stampingChain : chain, target, { gst_object_unref($0) })
        guard stampsCaptureTime else { return }
        gst_pad_set_chain_list_function_full(
            raw, { pad, parent, list in gst_proxy_pad_chain_list_default(pad, parent, addCaptureTimes(toList: list!)) },
            nil, nil)
    }

    /// Keeps failures of downstream from stopping the child. Call it once, on a source pad.
    ///
    /// Buffers are dropped while the pad is unlinked, or linked to an element that isn't running. `refused` is called when
    /// downstream rejects a format, on the streaming thread, possibly for each buffer.
    package func ignoreDownstreamFailures(_ refused: @escaping @Sendable () -> Void) {
        let proxy = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstProxyPad.self)
        guard let inner = gst_proxy_pad_get_internal(proxy) else { return }
        defer { gst_object_unref(inner) }
        let pad = UnsafeMutableRawPointer(inner).assumingMemoryBound(to: GstPad.self)
        gst_pad_set_chain_function_full(
            pad,
            { pad, parent, buffer in
                let flow = gst_proxy_pad_chain_default(pad, parent, buffer)
                if flow == GST_FLOW_NOT_NEGOTIATED { RefusalBox.of(pad).refused() }
                // An element downstream that is starting or has been stopped is flushing, but not this pad.
                let isIgnored =
                    flow == GST_FLOW_NOT_LINKED || flow == GST_FLOW_NOT_NEGOTIATED
                    || flow == GST_FLOW_FLUSHING && cgst_pad_is_flushing(pad) == 0
                return isIgnored ? GST_FLOW_OK : flow
            }, Unmanaged.passRetained(RefusalBox(refused)).toOpaque(),
            { Unmanaged<RefusalBox>.fromOpaque($0!).release() })
        // If this returned 0 for refused caps, GStreamer would send them again before each buffer, and refuse the
        // buffer before it reaches the chain function.
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

    /// Makes the pad stand for another pad of a child, or for none.
    package func setTarget(_ target: Pad?) {
        gst_ghost_pad_set_target(UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstGhostPad.self), target?.pad)
    }

    /// Replaces each buffer with a GAP event of the same time, so that downstream continues without data. For a source
    /// pad.
    package func replaceBuffersWithGaps() -> BufferHold {
        BufferHold(
            id: gst_pad_add_probe(
                raw,
                GstPadProbeType(
                    rawValue: GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue),
                { pad, info, _ in
                    if info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 {
                        let list = gst_pad_probe_info_get_buffer_list(info)
                        for index in 0..<gst_buffer_list_length(list) {
                            GhostPad.pushGap(like: gst_buffer_list_get(list, index), from: pad)
                        }
                    } else {
                        GhostPad.pushGap(like: gst_pad_probe_info_get_buffer(info), from: pad)
                    }
                    return GST_PAD_PROBE_DROP
                }, nil, nil))
    }

    /// Pushes a GAP event with the buffer's timestamp and duration. Pushes nothing if the buffer has no timestamp.
    private static func pushGap(like buffer: UnsafeMutablePointer<GstBuffer>?, from pad: UnsafeMutablePointer<GstPad>?)
    {
        guard let buffer, buffer.pointee.pts != GstClockTime.max else { return }
        gst_pad_push_event(pad, gst_event_new_gap(buffer.pointee.pts, buffer.pointee.duration))
    }

    /// Lets the pad's buffers pass again.
    package func release(_ hold: BufferHold) { gst_pad_remove_probe(raw, hold.id) }

    /// The replacement of a pad's buffers, until it is released with `release(_:)`.
    package struct BufferHold: Sendable {
        fileprivate let id: gulong
    }

    private final class EventBox: Sendable {
        let accepts: @Sendable (Event) -> Bool
        init(_ accepts: @escaping @Sendable (Event) -> Bool) { self.accepts = accepts }
    }

    /// A query that a bin can answer.
    package enum Query: Sendable {
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
                // The order of these caps counts, rather than the filter's, which is upstream's preference: it avoids a
                // conversion.
                let result = filter.map { caps.intersection(Caps(retaining: $0)) } ?? caps
                gst_query_set_caps_result(query, result.raw)
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
            guard let caps = Caps(of: event) else { return nil }
            self = .caps(caps)
        case GST_EVENT_EOS: self = .endOfStream
        case GST_EVENT_FLUSH_START: self = .flushStart
        case GST_EVENT_FLUSH_STOP: self = .flushStop
        case GST_EVENT_CUSTOM_DOWNSTREAM, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
            guard let structure = gst_event_get_structure(event) else { return nil }
            self = .custom(Structure(copying: structure))
        default: return nil
        }
    }
}

extension GhostPad {
    /// Sends EOS in place of a source. If the stream hasn't begun yet, sends the start of an empty stream first.
    package func endEmptyStream() {
        guard gst_pad_get_sticky_event(raw, GST_EVENT_STREAM_START, 0).map({ gst_event_unref($0) }) == nil else {
            gst_pad_push_event(raw, gst_event_new_eos())
            return
        }
        let bin = gst_pad_get_parent_element(raw)
        let id = takeString(gst_pad_create_stream_id(raw, bin, "nothing")) ?? "nothing"
        gst_object_unref(bin)
        gst_pad_push_event(raw, gst_event_new_stream_start(id))
        gst_pad_push_event(raw, Segment().newEvent())
        gst_pad_push_event(raw, gst_event_new_eos())
    }
}

extension Pad {
    /// Keeps what happens behind a bin's sink pad from upstream: the pad takes any format and any buffer, and proposes no
    /// allocation. Buffers that the bin refuses are dropped. Call it once, before data flows.
    ///
    /// `refused` is called when the bin refuses a format: on the streaming thread, once, with the caps.
    package func isolateUpstream(_ refused: @escaping @Sendable (Caps) -> Void) {
        gst_pad_set_chain_function_full(
            pad,
            { pad, parent, buffer in
                Isolation.took(gst_proxy_pad_chain_default(pad, parent, buffer), at: pad!)
            }, Unmanaged.passRetained(Isolation(refused)).toOpaque(),
            { Unmanaged<Isolation>.fromOpaque($0!).release() })
        gst_pad_set_chain_list_function_full(
            pad,
            { pad, parent, list in
                Isolation.took(gst_proxy_pad_chain_list_default(pad, parent, list), at: pad!)
            }, nil, nil)
        gst_pad_set_event_function_full(
            pad,
            { pad, parent, event in
                gst_pad_event_default(pad, parent, event)
                return 1
            }, nil, nil)
        gst_pad_set_query_function_full(
            pad,
            { pad, parent, query in
                switch query!.pointee.type {
                case GST_QUERY_ACCEPT_CAPS:
                    gst_query_set_accept_caps_result(query, 1)
                    return 1
                case GST_QUERY_CAPS:
                    var filter: UnsafeMutablePointer<GstCaps>?
                    gst_query_parse_caps(query, &filter)
                    let caps = filter.map { gst_caps_ref($0)! } ?? gst_caps_new_any()!
                    gst_query_set_caps_result(query, caps)
                    gst_caps_unref(caps)
                    return 1
                case GST_QUERY_ALLOCATION: return 1
                default: return gst_pad_query_default(pad, parent, query)
                }
            }, nil, nil)
    }

    /// Calls `body` for each latency that passes this sink pad upstream (LATENCY events), on the thread that sends it.
    package func onLatency(_ body: @escaping @Sendable (Duration) -> Void) {
        addProbe(GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, holding: LatencyBox(body)) { _, info, context in
            guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_LATENCY else {
                return GST_PAD_PROBE_OK
            }
            var latency = GstClockTime(0)
            gst_event_parse_latency(event, &latency)
            Unmanaged<LatencyBox>.fromOpaque(context!).takeUnretainedValue().body(.nanoseconds(UInt64(latency)))
            return GST_PAD_PROBE_OK
        }
    }

    private final class LatencyBox: Sendable {
        let body: @Sendable (Duration) -> Void
        init(_ body: @escaping @Sendable (Duration) -> Void) { self.body = body }
    }

    private final class Isolation: Sendable {
        private let refused: @Sendable (Caps) -> Void
        private let hasReported = Atomic<Bool>(false)
        init(_ refused: @escaping @Sendable (Caps) -> Void) { self.refused = refused }

        /// Reports a refused format. Returns what upstream gets instead of the bin's result.
        static func took(_ flow: GstFlowReturn, at pad: UnsafeMutablePointer<GstPad>) -> GstFlowReturn {
            if flow == GST_FLOW_NOT_NEGOTIATED {
                Unmanaged<Isolation>.fromOpaque(pad.pointee.chaindata).takeUnretainedValue().report(pad)
            }
            return GST_FLOW_OK
        }

        private func report(_ pad: UnsafeMutablePointer<GstPad>) {
            guard !hasReported.exchange(true, ordering: .relaxed), let caps = gst_pad_get_current_caps(pad) else {
                return
            }
            refused(Caps(taking: caps))
        }
    }
}
