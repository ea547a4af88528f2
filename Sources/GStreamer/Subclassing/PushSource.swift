import CGStreamer

/// A source that is asked for each buffer: a live `GstPushSrc` subclass with one `src` pad, in time format.
///
/// The base class has the streaming thread, STREAM_START, SEGMENT and EOS, num-buffers, and refuses seeks.
/// `create` runs in PLAYING only, as for every live source; it sets the caps that its buffers have.
open class PushSource: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_push_src_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let source = klass.assumingMemoryBound(to: GstBaseSrcClass.self)
        // By default the base class fixates whatever downstream takes; here caps come with the buffers.
        source.pointee.negotiate = { _ in 1 }
        source.pointee.unlock = {
            PushSource.of($0!).unlock()
            return 1
        }
        source.pointee.unlock_stop = {
            PushSource.of($0!).unlockStop()
            return 1
        }
        source.pointee.start = { element in
            let node = PushSource.of(element!)
            node.hasSentLast = false
            return node.start() ? 1 : 0
        }
        source.pointee.stop = { PushSource.of($0!).stop() ? 1 : 0 }
        source.pointee.event = { element, event in
            let node = PushSource.of(element!)
            switch event!.pointee.type {
            case GST_EVENT_RECONFIGURE: node.downstreamReconfigured()
            case GST_EVENT_LATENCY:
                var latency: GstClockTime = 0
                gst_event_parse_latency(event, &latency)
                if let latency = ClockTime(raw: latency) { node.latencyDecided(latency) }
            case GST_EVENT_CUSTOM_UPSTREAM where gst_video_event_is_force_key_unit(event) != 0:
                var time: GstClockTime = 0
                gst_video_event_parse_upstream_force_key_unit(event, &time, nil, nil)
                if node.keyFrameRequested(at: ClockTime(raw: time)) { return 1 }
            case GST_EVENT_CUSTOM_UPSTREAM:
                if let structure = gst_event_get_structure(event) { node.received(Structure(copying: structure)) }
            default: break
            }
            return PushSource.parent(of: node).pointee.event(element, event)
        }
        source.pointee.decide_allocation = { element, query in
            let node = PushSource.of(element!)
            node.downstreamAnswered(AllocationQuery(query!))
            return PushSource.parent(of: node).pointee.decide_allocation(element, query)
        }
        source.pointee.query = { element, query in
            let node = PushSource.of(element!)
            guard query!.pointee.type == GST_QUERY_LATENCY else {
                return PushSource.parent(of: node).pointee.query(element, query)
            }
            let latency = node.latency
            gst_query_set_latency(
                query, latency.isLive ? 1 : 0, latency.minimum.nanoseconds.clock, latency.maximum.raw)
            return 1
        }
        klass.assumingMemoryBound(to: GstElementClass.self).pointee.send_event = { element, event in
            let node = ElementClass.implementation(
                of: UnsafeMutableRawPointer(element!), offset: MemoryLayout<GstPushSrc>.size)
            if event!.pointee.type == GST_EVENT_EOS, unsafeDowncast(node, to: PushSource.self).endOfStreamRequested() {
                gst_event_unref(event)
                return 1
            }
            return ElementClass.parentClass(of: node.instance).assumingMemoryBound(to: GstElementClass.self).pointee
                .send_event(element, event)
        }
        klass.assumingMemoryBound(to: GstPushSrcClass.self).pointee.create = { element, result in
            // Nothing but GObject's own reference keeps the implementation, and it outlives the call: no retain here.
            Unmanaged<ElementImplementation>.fromOpaque(
                UnsafeRawPointer(element!).load(
                    fromByteOffset: MemoryLayout<GstPushSrc>.size, as: UnsafeMutableRawPointer.self)
            )._withUnsafeGuaranteedRef {
                var buffer: Buffer?
                let node = unsafeDowncast($0, to: PushSource.self)
                let source = UnsafeMutableRawPointer(element!).assumingMemoryBound(to: GstBaseSrc.self)
                let isLast = source.pointee.num_buffers_left == 0
                let flow = isLast ? node.createLast(&buffer) : node.create(&buffer)
                result!.pointee = buffer.take()?.take()
                // A flush has cost no buffer, so it counts for none.
                if flow == .flushing, source.pointee.num_buffers_left >= 0 { source.pointee.num_buffers_left += 1 }
                return flow.raw
            }
        }
    }

    /// Belongs to the streaming thread.
    private var hasSentLast = false

    /// The base class sends EOS right behind the last of `num-buffers`; one call more gives the subclass its word before it.
    @inline(never)
    private func createLast(_ buffer: inout Buffer?) -> FlowReturn {
        if hasSentLast {
            lastBufferSent()
            return .endOfStream
        }
        let flow = create(&buffer)
        if flow == .ok {
            hasSentLast = true
            source.pointee.num_buffers_left = 1
        }
        return flow
    }

    @inline(__always)
    private static func of(_ element: UnsafeMutablePointer<GstBaseSrc>) -> PushSource {
        unsafeDowncast(
            ElementClass.implementation(of: UnsafeMutableRawPointer(element), offset: MemoryLayout<GstPushSrc>.size),
            to: PushSource.self)
    }

    private static func parent(of node: PushSource) -> UnsafeMutablePointer<GstBaseSrcClass> {
        ElementClass.parentClass(of: node.instance).assumingMemoryBound(to: GstBaseSrcClass.self)
    }

    public required init(instance: ElementInstance) {
        super.init(instance: instance)
        gst_base_src_set_live(source, 1)
        gst_base_src_set_format(source, GST_FORMAT_TIME)
    }

    private var source: UnsafeMutablePointer<GstBaseSrc> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseSrc.self)
    }

    // MARK: For subclasses to override

    /// The next buffer, on the streaming thread, its pad's stream lock held. May wait until `unlock`. Anything but `ok`
    /// pauses the streaming thread: `endOfStream` sends EOS, an error is posted and sends EOS, `flushing` does neither.
    open func create(_ buffer: inout Buffer?) -> FlowReturn { .endOfStream }

    /// The last of `num-buffers` has gone, and EOS follows. On the streaming thread.
    open func lastBufferSent() {}

    /// `create` must return `flushing` at once, and until `unlockStop`: a flush, or the end of data flow. Any thread.
    open func unlock() {}
    open func unlockStop() {}

    /// READY→PAUSED, before data flows. False refuses.
    open func start() -> Bool { true }

    /// PAUSED→READY, after data flow has ended.
    open func stop() -> Bool { true }

    /// Downstream asks to negotiate anew (RECONFIGURE). Any thread.
    open func downstreamReconfigured() {}

    /// How long after their timestamps sinks render buffers (LATENCY, which the pipeline distributes). Any thread.
    open func latencyDecided(_ latency: ClockTime) {}

    /// Downstream asks for a key frame (`GstForceKeyUnit`) from that running time on; `nil` for as soon as can be. True when it
    /// will come. Any thread.
    open func keyFrameRequested(at time: ClockTime?) -> Bool { false }

    /// What somebody downstream sends by `Pad.sendUpstream`. Any thread.
    open func received(_ structure: Structure) {}

    /// What downstream answers to an ALLOCATION query; nothing where nobody answered. On the streaming thread: before the first
    /// buffer, after a RECONFIGURE, and in `negotiate`.
    open func downstreamAnswered(_ query: AllocationQuery) {}

    /// The element was sent an EOS event (`gst_element_send_event`, as `gst-launch-1.0 -e` does). True when the subclass
    /// ends the stream itself; false leaves it to the base class, which ends it at once. Any thread.
    open func endOfStreamRequested() -> Bool { false }

    /// What a LATENCY query is answered. Any thread.
    open var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?) { (true, .zero, nil) }

    // MARK: For subclasses to call from `create`

    /// Sends the caps of the buffers that follow, unless they are the same. When they are refused the next buffer is too.
    public func setCaps(_ caps: Caps) { BaseSource(source).setCaps(caps) }

    /// Whether downstream takes these caps just now; true while unlinked, when the buffer itself is refused.
    public func downstreamAccepts(_ caps: Caps) -> Bool { BaseSource(source).downstreamAccepts(caps) }

    /// Sends an ALLOCATION query for the caps that were set, which downstream may answer by them only. It waits until those
    /// behind queues have taken all that is under way.
    public func negotiate() { gst_base_src_negotiate(source) }

    /// Sends the segment, which the base class would send with the first buffer only: an event that follows needs it.
    public func pushSegment() { BaseSource(source).pushSegment() }

    /// Begins another segment: sent now, since an event that follows needs it, and by the base class with the next buffer.
    public func pushSegment(_ segment: Segment) {
        var segment = segment.raw
        gst_base_src_new_segment(source, &segment)
        pushSegment()
    }

    /// Nothing comes for so long: downstream need not wait for it.
    public func pushGap(at timestamp: ClockTime, duration: ClockTime?) {
        gst_pad_push_event(
            source.pointee.srcpad, gst_event_new_gap(timestamp.nanoseconds.clock, duration.raw))
    }

    /// Another stream begins on the pad. It has the ID that the pad was given.
    public func pushStreamStart() {
        gst_pad_push_event(source.pointee.srcpad, gst_event_new_stream_start(name))
    }

    /// Sends a sticky custom event, in order with the buffers.
    public func pushSticky(_ structure: Structure) { BaseSource(source).pushSticky(structure) }

    /// Sends an image-orientation tag, such as "rotate-90", in order with the buffers.
    public func pushImageOrientation(_ orientation: String) {
        let tags = gst_tag_list_new_empty()
        let value = Value(orientation)
        value.read { gst_tag_list_add_value(tags, GST_TAG_MERGE_REPLACE, "image-orientation", $0) }
        gst_pad_push_event(source.pointee.srcpad, gst_event_new_tag(tags))
    }

    /// The `src` pad.
    public var sourcePad: Pad { Pad(retaining: UnsafeMutableRawPointer(source.pointee.srcpad)) }
}

extension UInt64 {
    fileprivate var clock: GstClockTime { GstClockTime(self) }
}
