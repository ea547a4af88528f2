import CGStreamer

/// A filter that edits buffers in place: a subclass of `GstBaseTransform` with one `sink` and one `src` pad.
///
/// The base class copies a shared buffer before `transformInPlace`, answers queries, handles QoS, and doesn't touch
/// buffers in pass-through mode. The documentation of `GstBaseTransform` says which locks are held in each function.
open class InPlaceTransform: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_base_transform_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let transform = klass.assumingMemoryBound(to: GstBaseTransformClass.self)
        transform.pointee.transform_ip_on_passthrough = transformsOnPassthrough ? 1 : 0
        transform.pointee.set_caps = { element, input, output in
            InPlaceTransform.of(element!).setCaps(Caps(retaining: input!)) ? 1 : 0
        }
        // Answers ACCEPT_CAPS from the pad template, as decoders do. Caps that the template allows but the element
        // can't handle at the moment are refused with the CAPS event, when the element can post an error with the
        // reason.
        transform.pointee.accept_caps = { element, direction, caps in
            let pad = direction == GST_PAD_SINK ? element!.pointee.sinkpad : element!.pointee.srcpad
            let template = gst_pad_get_pad_template_caps(pad)
            defer { gst_caps_unref(template) }
            return gst_caps_is_subset(caps, template)
        }
        transform.pointee.sink_event = { element, event in
            let node = InPlaceTransform.of(element!)
            node.tagged.follow(event!, at: node.transform.pointee.sinkpad)
            if let caps = Caps(of: event!), !node.accepts(caps) {
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
            node.willAnswerAllocation(AllocationQuery(query!))
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
            if flow == FlowReturn.dropped.raw { InPlaceTransform.of(element!).didDropLate() }
            return flow
        }
        transform.pointee.transform_ip = { element, buffer in
            // Avoids a retain and a release for each buffer: the GObject keeps the implementation alive during the
            // call.
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

    /// The base class's `submit_input_buffer`, looked up once instead of for each buffer.
    private static let parentSubmit: Submit = {
        // The reference is never released: static classes are never unloaded.
        let klass = g_type_class_ref(gst_base_transform_get_type())!.assumingMemoryBound(to: GstBaseTransformClass.self)
        return unsafeBitCast(klass.pointee.submit_input_buffer, to: Submit.self)
    }()

    /// Whether `transformInPlace` is also called in pass-through mode, in which it must not write to the buffer. False
    /// by default.
    open class var transformsOnPassthrough: Bool { false }

    @inline(__always)
    private static func of(_ element: UnsafeMutablePointer<GstBaseTransform>) -> InPlaceTransform {
        unsafeDowncast(
            ElementClass.implementation(
                of: UnsafeMutableRawPointer(element), offset: MemoryLayout<GstBaseTransform>.size),
            to: InPlaceTransform.self)
    }

    /// The orientation in the stream's tags. Streaming thread only.
    // No dynamic check of exclusive access, which costs 76 instructions per frame and can find nothing: only `add`
    // calls other code while it changes this property, and that code doesn't read it.
    @exclusivity(unchecked)
    package private(set) var tagged = TaggedOrientation()

    @usableFromInline
    var transform: UnsafeMutablePointer<GstBaseTransform> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseTransform.self)
    }

    /// Called with each CAPS event, on the streaming thread. Returns whether the element can handle the caps; if false,
    /// they are refused and the stream fails with `notNegotiated`. Post an error with the reason before returning
    /// false. Accepts all caps by default.
    open func accepts(_ caps: Caps) -> Bool { true }

    /// Called with the negotiated caps of both sides, on the streaming thread. Returns whether the subclass accepts
    /// them; if false, the stream fails with `notNegotiated`. Accepts all caps by default.
    open func setCaps(_ caps: Caps) -> Bool { true }

    /// Returns the caps that one side can have if the other side has `caps`; by default the same caps. Called on any
    /// thread, for caps queries and negotiation.
    open func transformCaps(_ caps: Caps) -> Caps { caps }

    /// Called before upstream's ALLOCATION query is answered, on the streaming thread. The method may change the
    /// answer, which in pass-through mode comes from downstream. Does nothing by default.
    open func willAnswerAllocation(_ query: AllocationQuery) {}

    /// Called before each buffer, also in pass-through mode, on the streaming thread, under the stream lock. Changes
    /// that take effect with this buffer belong here, including calls of `setPassthrough`. Does nothing by default.
    open func beforeBuffer() {}

    /// Called after `beforeBuffer`, on the streaming thread, if the base class drops the buffer because it would arrive
    /// too late downstream. Only with `qos=true`. Does nothing by default.
    open func didDropLate() {}

    /// Processes one writable buffer. Called on the streaming thread, under the stream lock. Returns `ok` to push the
    /// buffer, `dropped` to drop it, and any other value to stop the stream; post an error before returning `error`.
    /// Returns `ok` by default.
    open func transformInPlace(_ buffer: BufferAccess) -> FlowReturn { .ok }

    /// Called in the change from READY to PAUSED, before data flows, on the thread that changes the state. Returns
    /// whether the element can start; if false, the state change fails. Returns true by default.
    open func start() -> Bool { true }

    /// Called in the change from PAUSED to READY, after data flow has ended, on the thread that changes the state.
    /// Returns whether the element could stop. Returns true by default.
    open func stop() -> Bool { true }

    /// Whether the calling thread is inside of `transformInPlace`, from where it changes this element's state. For `start`
    /// and `stop` only; costs the start of a thread.
    ///
    /// The streaming thread holds the sink pad's stream lock, which is recursive, so only another thread can see that it
    /// is held. A thread that brings a buffer, which the stopped pad refuses, holds the lock for a moment too.
    package var isInsideTransform: Bool {
        let pad = Pad(retaining: UnsafeMutableRawPointer(transform.pointee.sinkpad))
        let isHeld = BlockingMonitor(true)
        NativeThread("stream-lock") {
            for _ in 0..<20 {
                guard pad.isReceiving else { return isHeld.withLock { $0 = false } }
                sleepBriefly()
            }
        }.join()
        return isHeld.withLock { $0 }
    }

    /// Turns pass-through mode on or off, in which buffers pass unchanged. Call it from `start` or `beforeBuffer` only:
    /// later in the processing of a buffer, the base class has already decided whether to make the buffer writable.
    public func setPassthrough(_ on: Bool) { gst_base_transform_set_passthrough(transform, on ? 1 : 0) }

    /// Asks upstream to negotiate the caps again (RECONFIGURE). May be called from any thread.
    public func renegotiate() { gst_base_transform_reconfigure_sink(transform) }

    /// Sends a custom event with `structure` upstream. Elements that don't know it pass it on. May be called from any
    /// thread.
    public func sendUpstream(_ structure: Structure) {
        Pad(retaining: UnsafeMutableRawPointer(transform.pointee.sinkpad)).sendUpstream(structure)
    }

    /// The input's current caps; `nil` before the first CAPS event. May be called from any thread.
    public var currentCaps: Caps? { gst_pad_get_current_caps(transform.pointee.sinkpad).map(Caps.init(taking:)) }

    /// The input's last STREAM_START event; `nil` before the first. May be called from any thread.
    package var currentStream: StreamStart? {
        guard let event = gst_pad_get_sticky_event(transform.pointee.sinkpad, GST_EVENT_STREAM_START, 0) else {
            return nil
        }
        defer { gst_event_unref(event) }
        return StreamStart(retaining: event)
    }

    /// The caps that upstream can produce and that downstream accepts, queried now; `nil` for a pad that isn't linked.
    /// May be called from any thread.
    public var peerCaps: (upstream: Caps?, downstream: Caps?) {
        func peer(_ pad: UnsafeMutablePointer<GstPad>) -> Caps? {
            Pad(retaining: UnsafeMutableRawPointer(pad)).peerCaps()
        }
        return (peer(transform.pointee.sinkpad), peer(transform.pointee.srcpad))
    }

    /// The current segment. Valid during the current call. Streaming thread only.
    @inlinable
    package var segment: UnsafePointer<GstSegment> {
        UnsafeRawPointer(transform).advanced(by: MemoryLayout<GstBaseTransform>.offset(of: \.segment)!)
            .assumingMemoryBound(to: GstSegment.self)
    }

    /// Returns the running time of a timestamp in the current segment; `nil` if the timestamp is outside the segment,
    /// or the segment isn't in time format. Streaming thread only.
    @inlinable
    public func runningTime(of timestamp: ClockTime?) -> ClockTime? {
        guard transform.pointee.segment.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_running_time(&transform.pointee.segment, GST_FORMAT_TIME, timestamp.raw))
    }
}

extension InPlaceTransform {
    /// Posts a QoS message for a buffer that arrived or was processed late by `jitter`, with the numbers of buffers
    /// processed and dropped so far. Streaming thread only.
    public func postLateness(
        of buffer: BufferAccess, by jitter: Duration, isDropped: Bool, processed: UInt64, dropped: UInt64
    ) {
        let segment = segment
        let hasTimeFormat = segment.pointee.format == GST_FORMAT_TIME
        let none = ClockTime?.none.raw
        let timestamp = buffer.presentationTimestamp.raw
        let message = gst_message_new_qos(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstObject.self), 0,
            hasTimeFormat ? gst_segment_to_running_time(segment, GST_FORMAT_TIME, timestamp) : none,
            hasTimeFormat ? gst_segment_to_stream_time(segment, GST_FORMAT_TIME, timestamp) : none, timestamp,
            buffer.duration.raw)
        gst_message_set_qos_values(message, gint64(clamping: jitter.nanoseconds), 1, isDropped ? 0 : 1_000_000)
        gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, guint64(processed), guint64(dropped))
        gst_element_post_message(instance.element, message)
    }
}
