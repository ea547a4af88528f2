import CGStreamer

/// A live source whose streaming thread calls `create` for each buffer: a subclass of `GstPushSrc` with one `src` pad,
/// in time format.
///
/// The base class runs the streaming thread, sends STREAM_START, SEGMENT and EOS, implements num-buffers and refuses
/// seeks. As in every live source, `create` is called in PLAYING only. It sets the caps of its buffers with `setCaps`.
open class PushSource: ElementImplementation, ParentClass, @unchecked Sendable {
    class var parentType: GType { gst_push_src_get_type() }

    class func installClassFunctions(_ klass: UnsafeMutableRawPointer) {
        let source = klass.assumingMemoryBound(to: GstBaseSrcClass.self)
        // By default the base class fixates downstream's caps. Here `create` sets the caps of its buffers.
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
                if let latency = Duration(raw: latency) { node.latencyDecided(latency) }
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
            node.willDecideAllocation(AllocationQuery(query!))
            return PushSource.parent(of: node).pointee.decide_allocation(element, query)
        }
        source.pointee.query = { element, query in
            let node = PushSource.of(element!)
            guard query!.pointee.type == GST_QUERY_LATENCY else {
                return PushSource.parent(of: node).pointee.query(element, query)
            }
            let latency = node.latency
            gst_query_set_latency(
                query, latency.isLive ? 1 : 0, GstClockTime(latency.minimum.nanoseconds), latency.maximum.raw)
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
            // Avoids a retain and a release for each buffer: the GObject keeps the implementation alive during the
            // call.
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
                // The base class has counted this call, but a flush yields no buffer.
                if flow == .flushing, source.pointee.num_buffers_left >= 0 { source.pointee.num_buffers_left += 1 }
                return flow.raw
            }
        }
    }

    /// Whether the last buffer of `num-buffers` was created. Streaming thread only, or `start`.
    private var hasSentLast = false

    /// Creates the last buffer of `num-buffers`. The base class would send EOS right after this buffer. Instead, it calls
    /// this method once more, which then calls `lastBufferSent` and ends the stream.
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

    /// Makes the source live and sets its format to time.
    public required init(instance: ElementInstance) {
        super.init(instance: instance)
        gst_base_src_set_live(source, 1)
        gst_base_src_set_format(source, GST_FORMAT_TIME)
    }

    private var source: UnsafeMutablePointer<GstBaseSrc> {
        UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstBaseSrc.self)
    }

    // MARK: For subclasses to override

    /// Creates the next buffer. Called on the streaming thread, under the pad's stream lock. May block until `unlock`
    /// is called.
    ///
    /// Returns `ok` with a buffer. Any other value pauses the streaming thread: `endOfStream`, the default, sends EOS;
    /// `flushing` sends nothing; for an error, the base class posts an error and sends EOS.
    open func create(_ buffer: inout Buffer?) -> FlowReturn { .endOfStream }

    /// Called on the streaming thread after the last buffer of `num-buffers` was pushed, before EOS is sent. Does
    /// nothing by default.
    open func lastBufferSent() {}

    /// Called when a flush starts or data flow ends: a blocked `create` must return `flushing` at once, as must later
    /// calls until `unlockStop`. May be called from any thread. Does nothing by default.
    open func unlock() {}

    /// Called when `create` may block again after `unlock`. May be called from any thread. Does nothing by default.
    open func unlockStop() {}

    /// Called in the change from READY to PAUSED, before data flows, on the thread that changes the state. Returns
    /// whether the element can start; if false, the state change fails. Returns true by default.
    open func start() -> Bool { true }

    /// Called in the change from PAUSED to READY, after data flow has ended, on the thread that changes the state.
    /// Returns whether the element could stop. Returns true by default.
    open func stop() -> Bool { true }

    /// Called when downstream requests a new negotiation (RECONFIGURE). May be called from any thread. Does nothing by
    /// default.
    open func downstreamReconfigured() {}

    /// Called with the pipeline's latency, by which sinks render buffers later than their timestamps (LATENCY event).
    /// May be called from any thread. Does nothing by default.
    open func latencyDecided(_ latency: Duration) {}

    /// Called when downstream requests a key frame (`GstForceKeyUnit`) from the running time `time` on, or as soon as
    /// possible if `time` is `nil`. May be called from any thread.
    ///
    /// Returns whether a key frame will be sent. If false, the default, the base class handles the event.
    open func keyFrameRequested(at time: ClockTime?) -> Bool { false }

    /// Called with the structure of a custom upstream event, such as one from `Pad.sendUpstream`. May be called from
    /// any thread. Does nothing by default.
    open func received(_ structure: Structure) {}

    /// Called with downstream's answer to an ALLOCATION query, which is empty if no element answered. Called on the
    /// streaming thread: before the first buffer, after a RECONFIGURE event, and in `negotiate`. Does nothing by
    /// default.
    open func willDecideAllocation(_ query: AllocationQuery) {}

    /// Called when an EOS event is sent to the element by `gst_element_send_event`, as `gst-launch-1.0 -e` does. Any
    /// thread.
    ///
    /// Returns whether the subclass ends the stream itself. If false, the default, the base class ends it at once.
    open func endOfStreamRequested() -> Bool { false }

    /// The answer to LATENCY queries: whether the source is live, and its latency; a maximum of `nil` is unlimited. Any
    /// thread. By default live, without latency.
    open var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) { (true, .zero, nil) }

    // MARK: For subclasses to call from `create`

    /// Sends the caps of the following buffers, unless they equal the current caps. If downstream refuses the caps, it
    /// refuses the next buffer as well.
    public func setCaps(_ caps: Caps) { BaseSource(source).setCaps(caps) }

    /// Returns whether downstream accepts these caps at the moment. True if the pad isn't linked, since pushing the
    /// buffer then fails anyway.
    public func downstreamAccepts(_ caps: Caps) -> Bool { BaseSource(source).downstreamAccepts(caps) }

    /// Sends an ALLOCATION query for the current caps, without which downstream may be unable to answer. Blocks until
    /// the elements after queues have received all earlier buffers.
    public func negotiate() { gst_base_src_negotiate(source) }

    /// Sends the segment now, for an event that must come after it. The base class sends the segment again with the
    /// next buffer.
    public func pushSegment() { BaseSource(source).pushSegment() }

    /// Starts a new segment and sends it now, for an event that must come after it. The base class sends the segment
    /// again with the next buffer.
    package func pushSegment(_ segment: Segment) {
        var segment = segment.raw
        gst_base_src_new_segment(source, &segment)
        pushSegment()
    }

    /// Sends a GAP event: no buffers come for `duration`, so downstream need not wait for any.
    public func pushGap(at timestamp: ClockTime, duration: Duration?) {
        gst_pad_push_event(
            source.pointee.srcpad, gst_event_new_gap(GstClockTime(timestamp.nanoseconds), duration.raw))
    }

    /// Sends STREAM_START for a new stream on the pad. The stream's ID is the element's name.
    public func pushStreamStart() {
        gst_pad_push_event(source.pointee.srcpad, gst_event_new_stream_start(name))
    }

    /// Sends a sticky custom event with `structure`, in order with the buffers.
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
