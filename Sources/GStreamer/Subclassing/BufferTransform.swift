import CGStreamer

/// A filter whose buffers may leave with other caps than they came with: a `GstBaseTransform` subclass with one `sink` and
/// one `src` pad that gives one buffer for each.
///
/// The base class negotiates, handles events, queries and QoS, and in pass-through touches nothing. What leaves may change
/// with any buffer: `renegotiate()` asks `outputCaps` anew before the next.
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
        // Negotiation happens in the parent's; what it decided counts for this buffer.
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
            // The base class lets the input go only where what leaves is another buffer: one reference would be left over.
            if output!.pointee == input { gst_buffer_unref(input) }
            return GST_FLOW_OK
        }
        // Done by then.
        transform.pointee.transform = { _, _, _ in GST_FLOW_OK }
        transform.pointee.propose_allocation = { element, decided, query in
            let parent = ElementClass.parentClass(of: ElementInstance(UnsafeMutableRawPointer(element!)))
            let answer = parent.assumingMemoryBound(to: GstBaseTransformClass.self).pointee
                .propose_allocation(element, decided, query)
            // The converters that are inside take any strides. In pass-through it is for downstream to say.
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

    private var base: UnsafeMutablePointer<GstBaseTransform> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseTransform.self)
    }

    /// What can leave when this comes in.
    open func outputCaps(for input: Caps) -> Caps { input }

    /// What can come in for this to leave.
    open func inputCaps(for output: Caps) -> Caps { output }

    /// What comes in and leaves from now on. Streaming thread. False refuses it (not-negotiated).
    open func setCaps(input: Caps, output: Caps) -> Bool { true }

    /// Before each buffer, in pass-through too, when its caps have gone out. Streaming thread.
    open func willTransform() {}

    /// The buffer that leaves for this one, metas and timestamps included; `nil` after an error was posted. Streaming
    /// thread; not called in pass-through.
    open func transform(_ buffer: consuming Buffer) -> Buffer? { buffer }

    /// READY→PAUSED, before data flows. False refuses.
    open func start() -> Bool { true }

    /// PAUSED→READY, after data flow has ended.
    open func stop() -> Bool { true }

    /// In pass-through buffers go by untouched. Any thread.
    public func setPassthrough(_ on: Bool) { gst_base_transform_set_passthrough(base, on ? 1 : 0) }

    /// Asks for what leaves to be negotiated anew before the next buffer. Any thread.
    public func renegotiate() { gst_base_transform_reconfigure_src(base) }

    /// Sends an event with a structure downstream, kept for who links later. Streaming thread: it lies between the buffer
    /// before and the one after.
    public func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            base.pointee.srcpad,
            gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }

    /// What comes in, where that is known: the caps it has, or else what upstream can give.
    public var upstreamCaps: Caps? {
        let pad = Pad(retaining: UnsafeMutableRawPointer(base.pointee.sinkpad))
        return pad.currentCaps ?? pad.peerCaps()
    }

    /// Asks what is downstream; `nil` where nobody answers.
    public func askDownstream(_ question: String) -> Structure? {
        Pad(retaining: UnsafeMutableRawPointer(base.pointee.srcpad)).askDownstream(question)
    }

    /// What downstream takes; `nil` while unlinked.
    public var downstreamCaps: Caps? { Pad(retaining: UnsafeMutableRawPointer(base.pointee.srcpad)).peerCaps() }
}
