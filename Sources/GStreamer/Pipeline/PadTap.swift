import CGStreamer

/// What stands at a pad and sees all that comes in before the pad's element has it. Set with `Pad.setTap`.
///
/// A list of buffers comes one by one. Calls are on the streaming thread, the pad's stream lock held, but for flushes. A class, not
/// a protocol: a call through an existential takes more for each buffer.
///
/// `@unchecked Sendable`: it has no state of its own; a subclass says what guards its.
open class PadTap: @unchecked Sendable {
    public init() {}

    /// One buffer. Anything but `ok` keeps it from going on, and is what upstream gets.
    open func received(_ buffer: inout PassingBuffer) -> FlowReturn { .ok }

    /// One event. False keeps it from going on.
    open func received(_ event: Event) -> Bool { true }

    public enum Event: Sendable {
        case streamStart(StreamStart)
        case caps(Caps)
        case segment(Segment)
        case orientation(OrientationTag)
        case endOfStream
        case flushStart, flushStop
        /// A custom event's structure.
        case custom(Structure)

        fileprivate init?(_ event: UnsafeMutablePointer<GstEvent>) {
            switch event.pointee.type {
            case GST_EVENT_STREAM_START: self = .streamStart(StreamStart(retaining: event))
            case GST_EVENT_CAPS:
                var caps: UnsafeMutablePointer<GstCaps>?
                gst_event_parse_caps(event, &caps)
                guard let caps else { return nil }
                self = .caps(Caps(retaining: caps))
            case GST_EVENT_SEGMENT: self = .segment(Segment(event))
            case GST_EVENT_TAG:
                guard let tag = OrientationTag(event) else { return nil }
                self = .orientation(tag)
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

    fileprivate func probe(_ pad: UnsafeMutablePointer<GstPad>, _ info: inout GstPadProbeInfo) -> GstPadProbeReturn {
        if info.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 { return takeApart(&info, pad) }
        guard info.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 else {
            guard let event = gst_pad_probe_info_get_event(&info).flatMap(Event.init) else { return GST_PAD_PROBE_OK }
            return received(event) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
        var buffer = PassingBuffer(info.data.assumingMemoryBound(to: GstBuffer.self), at: pad)
        let result = received(&buffer)
        info.data = UnsafeMutableRawPointer(buffer.raw)
        guard result != .ok else { return GST_PAD_PROBE_OK }
        // Handled: the buffer is this probe's to give away, and what became of it this probe's to say.
        gst_buffer_unref(buffer.raw)
        info.data = nil
        info.ABI.abi.flow_ret = result.raw
        return GST_PAD_PROBE_HANDLED
    }

    /// As a pad does whose element takes no lists: each buffer comes in by itself, by this tap too.
    private func takeApart(_ info: inout GstPadProbeInfo, _ pad: UnsafeMutablePointer<GstPad>) -> GstPadProbeReturn {
        guard let list = gst_pad_probe_info_get_buffer_list(&info) else { return GST_PAD_PROBE_OK }
        var flow = GST_FLOW_OK
        for index in 0..<gst_buffer_list_length(list) where flow == GST_FLOW_OK {
            flow = gst_pad_chain(pad, gst_buffer_ref(gst_buffer_list_get(list, index)))
        }
        gst_buffer_list_unref(list)
        info.data = nil
        info.ABI.abi.flow_ret = flow
        return GST_PAD_PROBE_HANDLED
    }
}

/// A buffer on its way: valid for the call it was passed to.
public struct PassingBuffer: ~Copyable {
    fileprivate var raw: UnsafeMutablePointer<GstBuffer>

    private let pad: UnsafeMutablePointer<GstPad>

    fileprivate init(_ raw: UnsafeMutablePointer<GstBuffer>, at pad: UnsafeMutablePointer<GstPad>) {
        (self.raw, self.pad) = (raw, pad)
    }

    /// Sends a tag into the sink pad, ahead of the buffer, that says how it and those behind it lie. It comes by the tap too.
    public func sendAhead(_ orientation: VideoOrientation) { Pad.send(orientation, into: pad) }

    public var access: BufferAccess { BufferAccess(raw) }

    /// Puts a copy in its place where somebody else has it too.
    public mutating func makeWritable() {
        raw = UnsafeMutableRawPointer(
            gst_mini_object_make_writable(UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstMiniObject.self))
        )
        .assumingMemoryBound(to: GstBuffer.self)
    }
}

extension Pad {
    /// Puts `tap` before the sink pad, for as long as the pad lives.
    public func setTap(_ tap: PadTap) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            GST_PAD_PROBE_TYPE_EVENT_FLUSH, holding: tap
        ) { pad, info, context in
            Unmanaged<PadTap>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.probe(pad!, &info!.pointee) }
        }
    }

    /// Sets a property that pads of its class are known to have.
    public func set<T: ValueConvertible>(_ property: String, to value: T) {
        Value(value).read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), property, $0) }
    }

    /// Sends end-of-stream into a sink pad that nobody else feeds. False when it isn't taken, as in the midst of a flush.
    @discardableResult
    public func sendEndOfStream() -> Bool { gst_pad_send_event(pad, gst_event_new_eos()) != 0 }

    /// Sends stream-start, segment and EOS into a sink pad that nobody feeds. May block: a sink keeps EOS until the graph plays.
    public func sendEmptyStream() {
        var segment = GstSegment()
        gst_segment_init(&segment, GST_FORMAT_TIME)
        gst_pad_send_event(pad, gst_event_new_stream_start("empty-\(name)"))
        gst_pad_send_event(pad, gst_event_new_segment(&segment))
        sendEndOfStream()
    }

    /// The same as `sendEndOfStream`, unless somebody is just feeding it: then false, since that may last.
    public func trySendEndOfStream() -> Bool {
        guard g_rec_mutex_trylock(&pad.pointee.stream_rec_lock) != 0 else { return false }
        defer { g_rec_mutex_unlock(&pad.pointee.stream_rec_lock) }
        return sendEndOfStream()
    }

    /// Begins a flush of this sink pad, which nobody else feeds.
    public func sendFlushStart() { gst_pad_send_event(pad, gst_event_new_flush_start()) }

    public func unlink(from sink: Pad) { gst_pad_unlink(pad, sink.pad) }
}
