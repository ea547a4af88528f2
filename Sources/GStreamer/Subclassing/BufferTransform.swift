import CGStreamer

/// A filter whose output may have other caps than its input: a subclass of `GstBaseTransform` with one `sink` and one
/// `src` pad that outputs one buffer for each input buffer.
///
/// The base class negotiates, handles events, queries and QoS, and doesn't touch buffers in pass-through mode. The
/// output caps may change with any buffer: after `renegotiate()`, the base class calls `outputCaps` again before the
/// next buffer.
open class BufferTransform: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_base_transform_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let transform = klass.assumingMemoryBound(to: GstBaseTransformClass.self)
        transform.pointee.transform_ip_on_passthrough = 0
        transform.pointee.transform_caps = { element, direction, caps, filter in
            let node = BufferTransform.of(element!)
            let caps = Caps(retaining: caps!)
            let result = direction == GST_PAD_SINK ? node.outputCaps(for: caps) : node.inputCaps(for: caps)
            guard let filter else { return gst_caps_ref(result.raw) }
            return gst_caps_intersect_full(filter, result.raw, GST_CAPS_INTERSECT_FIRST)
        }
        transform.pointee.set_caps = { element, input, output in
            BufferTransform.of(element!).setCaps(input: Caps(retaining: input!), output: Caps(retaining: output!))
                ? 1 : 0
        }
        transform.pointee.sink_event = { element, event in
            let node = BufferTransform.of(element!)
            node.tagged.follow(event!, at: element!.pointee.sinkpad)
            let parent = ElementClass.parentClass(of: node.instance)
            return parent.assumingMemoryBound(to: GstBaseTransformClass.self).pointee.sink_event(element, event)
        }
        // The parent's function negotiates. Its decision applies to this buffer.
        transform.pointee.submit_input_buffer = { element, isDiscontinuous, buffer in
            let node = BufferTransform.of(element!)
            let parent = ElementClass.parentClass(of: node.instance)
            let flow = parent.assumingMemoryBound(to: GstBaseTransformClass.self).pointee
                .submit_input_buffer(element, isDiscontinuous, buffer)
            if flow == GST_FLOW_OK { node.willTransform() }
            return flow
        }
        transform.pointee.prepare_output_buffer = { element, input, output in
            guard gst_base_transform_is_passthrough(element) == 0 else {
                output!.pointee = input
                return GST_FLOW_OK
            }
            guard let result = BufferTransform.of(element!).transform(Buffer(retaining: input!)) else {
                return GST_FLOW_ERROR
            }
            output!.pointee = result.take()
            // The base class releases the input only if the output is another buffer; otherwise one reference would
            // leak.
            if output!.pointee == input { gst_buffer_unref(input) }
            return GST_FLOW_OK
        }
        // `prepare_output_buffer` has made the output already.
        transform.pointee.transform = { _, _, _ in GST_FLOW_OK }
        transform.pointee.propose_allocation = { element, decided, query in
            let parent = ElementClass.parentClass(of: ElementInstance(UnsafeMutableRawPointer(element!)))
            let answer = parent.assumingMemoryBound(to: GstBaseTransformClass.self).pointee
                .propose_allocation(element, decided, query)
            // The subclasses' converters accept any strides. In pass-through mode downstream decides.
            if gst_base_transform_is_passthrough(element) == 0 {
                gst_query_add_allocation_meta(query, gst_video_meta_api_get_type(), nil)
            }
            return answer
        }
        transform.pointee.start = { BufferTransform.of($0!).start() ? 1 : 0 }
        transform.pointee.stop = { BufferTransform.of($0!).stop() ? 1 : 0 }
    }

    private static func of(_ element: UnsafeMutablePointer<GstBaseTransform>) -> BufferTransform {
        unsafeDowncast(
            ElementClass.implementation(
                of: UnsafeMutableRawPointer(element), offset: MemoryLayout<GstBaseTransform>.size),
            to: BufferTransform.self)
    }

    /// The orientation in the stream's tags. Streaming thread only.
    package private(set) var tagged = TaggedOrientation()

    private var base: UnsafeMutablePointer<GstBaseTransform> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseTransform.self)
    }

    /// Returns the caps that the output can have for these input caps, in order of preference; by default the same
    /// caps. Called on any thread, for caps queries and negotiation.
    open func outputCaps(for input: Caps) -> Caps { input }

    /// Returns the caps that the input can have for these output caps, in order of preference; by default the same
    /// caps. Called on any thread, for caps queries and negotiation.
    open func inputCaps(for output: Caps) -> Caps { output }

    /// Called with the negotiated caps of both sides, on the streaming thread. Returns whether the subclass accepts
    /// them; if false, the stream fails with `notNegotiated`. Accepts all caps by default.
    open func setCaps(input: Caps, output: Caps) -> Bool { true }

    /// Called before each buffer, also in pass-through mode, after its caps have been sent downstream. Streaming
    /// thread. Does nothing by default.
    open func willTransform() {}

    /// Returns the output buffer for an input buffer, with its metas and timestamps; by default the input buffer.
    /// Called on the streaming thread, but not in pass-through mode.
    ///
    /// To report a failure, post an error and return `nil`: the stream stops with `error`.
    open func transform(_ buffer: consuming Buffer) -> Buffer? { buffer }

    /// Called in the change from READY to PAUSED, before data flows, on the thread that changes the state. Returns
    /// whether the element can start; if false, the state change fails. Returns true by default.
    open func start() -> Bool { true }

    /// Called in the change from PAUSED to READY, after data flow has ended, on the thread that changes the state.
    /// Returns whether the element could stop. Returns true by default.
    open func stop() -> Bool { true }

    /// Turns pass-through mode on or off, in which buffers pass unchanged. May be called from any thread.
    public func setPassthrough(_ on: Bool) { gst_base_transform_set_passthrough(base, on ? 1 : 0) }

    /// Requests a new negotiation of the output caps before the next buffer. May be called from any thread.
    public func renegotiate() { gst_base_transform_reconfigure_src(base) }

    /// Sends other caps than the negotiated ones, for the buffers that follow. Streaming thread only.
    package func pushCaps(_ caps: Caps) { gst_pad_push_event(base.pointee.srcpad, gst_event_new_caps(caps.raw)) }

    /// Sends a sticky custom event with `structure` downstream, in order with the buffers. Elements that are linked
    /// later receive it too. Streaming thread only.
    public func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            base.pointee.srcpad,
            gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }

    /// The current input caps, or the caps that upstream can produce if there are none yet; `nil` if the pad isn't
    /// linked either. May be called from any thread.
    public var upstreamCaps: Caps? {
        let pad = Pad(retaining: UnsafeMutableRawPointer(base.pointee.sinkpad))
        return pad.currentCaps ?? pad.peerCaps()
    }

    /// Sends a custom query named `question` downstream. Returns the answer, or `nil` if no element answers.
    public func askDownstream(_ question: String) -> Structure? {
        Pad(retaining: UnsafeMutableRawPointer(base.pointee.srcpad)).askDownstream(question)
    }

    /// The caps that downstream accepts; `nil` if the pad isn't linked.
    public var downstreamCaps: Caps? { Pad(retaining: UnsafeMutableRawPointer(base.pointee.srcpad)).peerCaps() }
}
