import CGStreamer

/// Watches, changes and filters what arrives at a sink pad. Attach it with ``Pad/setTap(_:)``.
///
/// A list of buffers arrives one by one. The methods are called on the streaming thread with the pad's stream lock
/// held, except for flushes, which arrive on the thread that flushes. A class rather than a protocol: a call through an
/// existential costs more instructions per buffer.
///
/// `@unchecked Sendable`: this class has no state; a subclass says what protects its own.
open class PadTap: @unchecked Sendable {
    /// Creates a tap that lets everything pass.
    public init() {}

    /// Called on the streaming thread for each buffer, before the pad's element receives it.
    ///
    /// Returns `.ok` to let the buffer pass, which is the default, and `.dropped` to drop it. Any other value drops it too, and
    /// is the result of upstream's push.
    open func received(_ buffer: inout PassingBuffer) -> FlowReturn { .ok }

    /// Called for each event, before the pad's element receives it: on the streaming thread, or for flushes on the
    /// thread that flushes. Returns false to drop the event. Returns true by default.
    open func received(_ event: Event) -> Bool { true }

    /// An event that arrives at the pad.
    public enum Event: Sendable {
        /// A stream begins.
        case streamStart(StreamStart)
        /// The format of the buffers that follow.
        case caps(Caps)
        /// The segment to which the timestamps that follow belong.
        case segment(Segment)
        /// A tag that gives the orientation of the pictures.
        case orientation(OrientationTag)
        /// The stream ends.
        case endOfStream
        /// A flush begins or ends.
        case flushStart, flushStop
        /// A custom event's structure.
        case custom(Structure)

        fileprivate init?(_ event: UnsafeMutablePointer<GstEvent>) {
            switch event.pointee.type {
            case GST_EVENT_STREAM_START: self = .streamStart(StreamStart(retaining: event))
            case GST_EVENT_CAPS:
                guard let caps = Caps(of: event) else { return nil }
                self = .caps(caps)
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
        if info.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 { return splitList(&info, pad) }
        guard info.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 else {
            guard let event = gst_pad_probe_info_get_event(&info).flatMap(Event.init) else { return GST_PAD_PROBE_OK }
            return received(event) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
        var buffer = PassingBuffer(info.data.assumingMemoryBound(to: GstBuffer.self), at: pad)
        let result = received(&buffer)
        info.data = UnsafeMutableRawPointer(buffer.raw)
        guard result != .ok else { return GST_PAD_PROBE_OK }
        // With HANDLED, the probe owns the buffer and sets the flow return.
        gst_buffer_unref(buffer.raw)
        info.data = nil
        // Most elements would stop at any other success.
        info.ABI.abi.flow_ret = result == .dropped ? GST_FLOW_OK : result.raw
        return GST_PAD_PROBE_HANDLED
    }

    /// Sends each buffer of a list to the pad, and so through this tap, as a pad without support for lists does.
    private func splitList(_ info: inout GstPadProbeInfo, _ pad: UnsafeMutablePointer<GstPad>) -> GstPadProbeReturn {
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

/// A buffer that passes a ``PadTap``, valid during the call that receives it.
public struct PassingBuffer: ~Copyable {
    fileprivate var raw: UnsafeMutablePointer<GstBuffer>

    private let pad: UnsafeMutablePointer<GstPad>

    fileprivate init(_ raw: UnsafeMutablePointer<GstBuffer>, at pad: UnsafeMutablePointer<GstPad>) {
        (self.raw, self.pad) = (raw, pad)
    }

    /// Sends a tag into the sink pad with the orientation of this buffer and the buffers that follow. The tag passes
    /// the tap too.
    public func sendOrientationTag(_ orientation: VideoOrientation) { Pad.send(orientation, into: pad) }

    /// Sends another buffer into the sink pad before this one. It passes the tap too.
    package func sendBefore(_ buffer: consuming Buffer) -> FlowReturn {
        FlowReturn(gst_pad_chain(pad, buffer.take()))
    }

    /// Lets another buffer pass instead of this one.
    package mutating func replace(with buffer: consuming Buffer) {
        gst_buffer_unref(raw)
        raw = buffer.take()
    }

    /// The buffer's content and metadata.
    public var access: BufferAccess { BufferAccess(raw) }

    /// Replaces the buffer with a copy if it has other owners.
    public mutating func makeWritable() {
        raw = UnsafeMutableRawPointer(
            gst_mini_object_make_writable(UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstMiniObject.self))
        )
        .assumingMemoryBound(to: GstBuffer.self)
    }
}

extension Pad {
    /// Attaches a tap to this sink pad, which retains the tap until the pad is freed.
    public func setTap(_ tap: PadTap) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            GST_PAD_PROBE_TYPE_EVENT_FLUSH, holding: tap
        ) { pad, info, context in
            Unmanaged<PadTap>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.probe(pad!, &info!.pointee) }
        }
    }

    /// Sets a property that the pad's class is known to have. If it doesn't, GObject only logs a warning.
    public func set<T: ValueConvertible>(_ property: String, to value: T) {
        Value(value).read { g_object_set_property(raw.assumingMemoryBound(to: GObject.self), property, $0) }
    }

    /// Sends EOS into this sink pad, which no other thread feeds. False if the element doesn't accept it, for example
    /// during a flush.
    @discardableResult
    public func sendEndOfStream() -> Bool { gst_pad_send_event(pad, gst_event_new_eos()) != 0 }

    /// Sends the pad's current segment into this sink pad again. A stock resampler then sends what it holds. Does nothing
    /// before the first segment. Call it on the thread that feeds the pad.
    public func repeatSegment() {
        // A new event: GStreamer wouldn't send the old one any further, since the pads downstream have it already.
        if let segment = Segment(passing: pad) { gst_pad_send_event(pad, segment.newEvent()) }
    }

    /// Sends STREAM_START, SEGMENT and EOS into this sink pad, which no other thread feeds. May block, because a sink
    /// holds EOS until the graph plays.
    public func sendEmptyStream() {
        gst_pad_send_event(pad, gst_event_new_stream_start("empty-\(name)"))
        gst_pad_send_event(pad, Segment().newEvent())
        sendEndOfStream()
    }

    /// Sends EOS into this sink pad unless another thread is feeding it now, which may take long. False if EOS isn't
    /// accepted or wasn't sent.
    public func trySendEndOfStream() -> Bool {
        guard g_rec_mutex_trylock(&pad.pointee.stream_rec_lock) != 0 else { return false }
        defer { g_rec_mutex_unlock(&pad.pointee.stream_rec_lock) }
        return sendEndOfStream()
    }

    /// Starts flushing this sink pad, which no other thread feeds.
    public func sendFlushStart() { gst_pad_send_event(pad, gst_event_new_flush_start()) }

    /// Unlinks this source pad from a sink pad.
    public func unlink(from sink: Pad) { gst_pad_unlink(pad, sink.pad) }
}
