import CGStreamer

/// What stands at a source pad and sees all that leaves it, before anything is downstream's. Set with `Pad.setFlowWatch`.
///
/// Calls are on the pad's streaming thread. A class, not a protocol, as `PadTap` is.
///
/// `@unchecked Sendable`: it has no state of its own; a subclass says what guards its.
open class FlowWatch: @unchecked Sendable {
    public init() {}

    /// One buffer; of a list, the first for all. False drops it. It may wait here, also for the pad to be linked.
    open func passes(_ buffer: BufferAccess, at pad: FlowPad) -> Bool { true }

    /// The stream's end. False keeps it from downstream.
    open func passesEndOfStream() -> Bool { true }

    fileprivate func probe(_ pad: UnsafeMutablePointer<GstPad>, _ info: inout GstPadProbeInfo) -> GstPadProbeReturn {
        let type = info.type.rawValue
        if type & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 {
            return passes(BufferAccess(info.data.assumingMemoryBound(to: GstBuffer.self)), at: FlowPad(pad))
                ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
        if type & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 {
            // Sources that send lists send what belongs together.
            guard let first = gst_buffer_list_get(OpaquePointer(info.data), 0) else { return GST_PAD_PROBE_OK }
            return passes(BufferAccess(first), at: FlowPad(pad)) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
        guard let event = gst_pad_probe_info_get_event(&info), event.pointee.type == GST_EVENT_EOS else {
            return GST_PAD_PROBE_OK
        }
        return passesEndOfStream() ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
    }
}

/// The pad that a `FlowWatch` is asked at: valid for the call it was passed to.
public struct FlowPad {
    private let raw: UnsafeMutablePointer<GstPad>

    fileprivate init(_ raw: UnsafeMutablePointer<GstPad>) { self.raw = raw }

    /// Sends a sticky custom event downstream, ahead of the buffer.
    public func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            raw, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }

    public var caps: Caps? { gst_pad_get_current_caps(raw).map(Caps.init(taking:)) }

    /// How later than its timestamp a buffer leaves at least; zero where that isn't known.
    public var latency: ClockTime {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_query(raw, query) != 0 else { return .zero }
        var minimum: GstClockTime = 0
        gst_query_parse_latency(query, nil, &minimum, nil)
        return ClockTime(raw: minimum) ?? .zero
    }
}

extension Pad {
    /// Puts `watch` behind the source pad, for as long as the pad lives.
    public func setFlowWatch(_ watch: FlowWatch) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            holding: watch
        ) { pad, info, context in
            Unmanaged<FlowWatch>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.probe(pad!, &info!.pointee) }
        }
    }
}
