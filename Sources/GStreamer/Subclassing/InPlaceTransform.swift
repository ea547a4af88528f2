import CGStreamer

/// A filter that edits buffers where they lie: a `GstBaseTransform` subclass with one `sink` and one `src` pad.
///
/// The base class makes a shared buffer writable (by a copy) before `transformInPlace`, answers queries, handles QoS,
/// and in pass-through touches nothing. `GstBaseTransform`'s own documentation says which lock is held when.
open class InPlaceTransform: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_base_transform_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let transform = klass.assumingMemoryBound(to: GstBaseTransformClass.self)
        transform.pointee.transform_ip_on_passthrough = looksOnPassthrough ? 1 : 0
        transform.pointee.set_caps = { element, input, output in
            InPlaceTransform.of(element!).setCaps(Caps(retaining: input!)) ? 1 : 0
        }
        // ACCEPT_CAPS is answered by the template, as decoders do, and what the template allows but the moment does not
        // is refused with the CAPS event, where there is a chance to say why.
        transform.pointee.accept_caps = { element, direction, caps in
            let pad = direction == GST_PAD_SINK ? element!.pointee.sinkpad : element!.pointee.srcpad
            let template = gst_pad_get_pad_template_caps(pad)
            defer { gst_caps_unref(template) }
            return gst_caps_is_subset(caps, template)
        }
        transform.pointee.sink_event = { element, event in
            let node = InPlaceTransform.of(element!)
            node.heed(event!)
            var caps: UnsafeMutablePointer<GstCaps>?
            if event!.pointee.type == GST_EVENT_CAPS { gst_event_parse_caps(event, &caps) }
            if let caps, !node.accepts(Caps(retaining: caps)) {
                gst_event_unref(event)
                return 0
            }
            let parent = ElementClass.parentClass(of: node.instance)
            return parent.assumingMemoryBound(to: GstBaseTransformClass.self).pointee.sink_event(element, event)
        }
        transform.pointee.transform_caps = { element, direction, caps, filter in
            let result = InPlaceTransform.of(element!).transformCaps(Caps(retaining: caps!))
            guard let filter else { return gst_caps_ref(result.raw) }
            return gst_caps_intersect_full(filter, result.raw, GST_CAPS_INTERSECT_FIRST)
        }
        transform.pointee.propose_allocation = { element, decided, query in
            let node = InPlaceTransform.of(element!)
            let parent = ElementClass.parentClass(of: node.instance).assumingMemoryBound(to: GstBaseTransformClass.self)
            let answer = parent.pointee.propose_allocation(element, decided, query)
            node.willAnswer(AllocationQuery(query!))
            return answer
        }
        transform.pointee.before_transform = { element, _ in
            Unmanaged<ElementImplementation>.fromOpaque(
                UnsafeRawPointer(element!).load(
                    fromByteOffset: MemoryLayout<GstBaseTransform>.size, as: UnsafeMutableRawPointer.self)
            )._withUnsafeGuaranteedRef { unsafeDowncast($0, to: InPlaceTransform.self).beforeBuffer() }
        }
        transform.pointee.submit_input_buffer = { element, isDiscontinuous, buffer in
            let flow = InPlaceTransform.parentSubmit(element, isDiscontinuous, buffer)
            if flow == FlowReturn.dropped.raw { InPlaceTransform.of(element!).droppedLate() }
            return flow
        }
        transform.pointee.transform_ip = { element, buffer in
            // Nothing but GObject's own reference keeps the implementation, and it outlives the call: no retain here.
            Unmanaged<ElementImplementation>.fromOpaque(
                UnsafeRawPointer(element!).load(
                    fromByteOffset: MemoryLayout<GstBaseTransform>.size, as: UnsafeMutableRawPointer.self)
            )._withUnsafeGuaranteedRef {
                unsafeDowncast($0, to: InPlaceTransform.self).transformInPlace(BufferAccess(buffer!)).raw
            }
        }
        transform.pointee.start = { InPlaceTransform.of($0!).start() ? 1 : 0 }
        transform.pointee.stop = { InPlaceTransform.of($0!).stop() ? 1 : 0 }
    }

    private typealias Submit =
        @convention(c) @Sendable (
            UnsafeMutablePointer<GstBaseTransform>?, gboolean, UnsafeMutablePointer<GstBuffer>?
        ) -> GstFlowReturn

    /// The base class's own, looked up once and not for each buffer.
    private static let parentSubmit: Submit = {
        // The reference stays: static classes are never unloaded.
        let klass = g_type_class_ref(gst_base_transform_get_type())!.assumingMemoryBound(to: GstBaseTransformClass.self)
        return unsafeBitCast(klass.pointee.submit_input_buffer, to: Submit.self)
    }()

    /// Whether `transformInPlace` gets a look at buffers in pass-through too, which it must then not write to.
    open class var looksOnPassthrough: Bool { false }

    @inline(__always)
    private static func of(_ element: UnsafeMutablePointer<GstBaseTransform>) -> InPlaceTransform {
        unsafeDowncast(
            ElementClass.implementation(
                of: UnsafeMutableRawPointer(element), offset: MemoryLayout<GstBaseTransform>.size),
            to: InPlaceTransform.self)
    }

    /// What the stream's tags say about its pictures. The streaming thread's. Only `add` calls out while it changes this, and
    /// nothing that it calls reads it: so a dynamic check of exclusive access, 76 instructions for each frame, could find nothing.
    @exclusivity(unchecked)
    public private(set) var tagged = TaggedOrientation()

    private func heed(_ event: UnsafeMutablePointer<GstEvent>) {
        switch event.pointee.type {
        case GST_EVENT_STREAM_START: tagged = TaggedOrientation()
        case GST_EVENT_TAG:
            guard let tag = OrientationTag(event) else { return }
            tagged.add(tag, at: Pad(retaining: UnsafeMutableRawPointer(transform.pointee.sinkpad)))
        default: break
        }
    }

    @usableFromInline
    var transform: UnsafeMutablePointer<GstBaseTransform> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseTransform.self)
    }

    /// Whether caps that come in can be handled. False refuses them (not-negotiated); post an error that says why.
    open func accepts(_ caps: Caps) -> Bool { true }

    /// The caps on both sides. False refuses them (not-negotiated).
    open func setCaps(_ caps: Caps) -> Bool { true }

    /// What the other side may be when one side is `caps`; the same by default.
    open func transformCaps(_ caps: Caps) -> Caps { caps }

    /// The answer to upstream's ALLOCATION query, in pass-through downstream's. Streaming thread.
    open func willAnswer(_ query: AllocationQuery) {}

    /// Before each buffer, in pass-through too, on the streaming thread, the stream lock held: the place to change what is
    /// done from this buffer on, `setPassthrough` included.
    open func beforeBuffer() {}

    /// With `qos=true`, behind `beforeBuffer`: the base class drops the buffer, since it would come too late downstream.
    open func droppedLate() {}

    /// One buffer, writable, on the streaming thread, the stream lock held.
    open func transformInPlace(_ buffer: BufferAccess) -> FlowReturn { .ok }

    /// READY→PAUSED, before data flows. False refuses.
    open func start() -> Bool { true }

    /// PAUSED→READY, after data flow has ended.
    open func stop() -> Bool { true }

    /// In pass-through buffers go by untouched. From `start` or `beforeBuffer`: in the midst of a buffer the base class
    /// would have made it writable for nothing, or not at all.
    public func setPassthrough(_ on: Bool) { gst_base_transform_set_passthrough(transform, on ? 1 : 0) }

    /// Asks upstream for other caps (RECONFIGURE). Any thread.
    public func renegotiate() { gst_base_transform_reconfigure_sink(transform) }

    /// Sends upstream what only those who know it heed. Any thread.
    public func sendUpstream(_ structure: Structure) {
        Pad(retaining: UnsafeMutableRawPointer(transform.pointee.sinkpad)).sendUpstream(structure)
    }

    /// What comes in; `nil` before the first caps. Any thread.
    public var currentCaps: Caps? { gst_pad_get_current_caps(transform.pointee.sinkpad).map(Caps.init(taking:)) }

    /// Which stream it is that comes in; `nil` before it has begun. Any thread.
    public var currentStream: StreamStart? {
        guard let event = gst_pad_get_sticky_event(transform.pointee.sinkpad, GST_EVENT_STREAM_START, 0) else {
            return nil
        }
        defer { gst_event_unref(event) }
        return StreamStart(retaining: event)
    }

    /// What the other element of each side can give or take, asked now; `nil` where none is linked. Any thread.
    public var peerCaps: (upstream: Caps?, downstream: Caps?) {
        func peer(_ pad: UnsafeMutablePointer<GstPad>) -> Caps? {
            Pad(retaining: UnsafeMutableRawPointer(pad)).peerCaps()
        }
        return (peer(transform.pointee.sinkpad), peer(transform.pointee.srcpad))
    }

    /// The current segment. Streaming thread only.
    @inlinable
    package var segment: UnsafePointer<GstSegment> {
        UnsafeRawPointer(transform).advanced(by: MemoryLayout<GstBaseTransform>.offset(of: \.segment)!)
            .assumingMemoryBound(to: GstSegment.self)
    }

    /// The running time of a timestamp in the current segment; `nil` outside of it, and where it doesn't count time.
    /// Streaming thread only.
    @inlinable
    public func runningTime(of timestamp: ClockTime?) -> ClockTime? {
        guard transform.pointee.segment.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_running_time(&transform.pointee.segment, GST_FORMAT_TIME, timestamp.raw))
    }
}
