import CGStreamer

/// Watches and filters what leaves a source pad. Attach it with ``Pad/setFlowWatch(_:)``.
///
/// The methods are called on the pad's streaming thread. A class rather than a protocol, for the same reason as
/// ``PadTap``.
///
/// `@unchecked Sendable`: this class has no state; a subclass says what protects its own.
open class FlowWatch: @unchecked Sendable {
    /// Creates a watch that lets everything pass.
    public init() {}

    /// Called on the streaming thread for each buffer, before downstream receives it; for a list, once with the first
    /// buffer.
    ///
    /// May block, also until the pad is linked. Returns false to drop the buffer or list. Returns true by default.
    open func passes(_ buffer: BufferAccess, at pad: FlowPad) -> Bool { true }

    /// Whether buffers that pass, and that have no wall-clock time of capture, get the current time. Read on the
    /// streaming thread after each `passes`. False by default.
    open var stampsCaptureTime: Bool { false }

    /// Called on the streaming thread when the stream ends, before downstream receives EOS. Returns false to drop the
    /// event. Returns true by default.
    open func passesEndOfStream() -> Bool { true }

    fileprivate func probe(_ pad: UnsafeMutablePointer<GstPad>, _ info: inout GstPadProbeInfo) -> GstPadProbeReturn {
        let type = info.type.rawValue
        if type & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 {
            let buffer = info.data.assumingMemoryBound(to: GstBuffer.self)
            guard passes(BufferAccess(buffer), at: FlowPad(pad)) else { return GST_PAD_PROBE_DROP }
            if stampsCaptureTime {
                info.data = UnsafeMutableRawPointer(Buffer(taking: buffer).withCaptureTime().take())
            }
            return GST_PAD_PROBE_OK
        }
        if type & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 {
            // Pass or drop a list as a whole: a source sends buffers as a list if they belong together.
            let list = OpaquePointer(info.data!)
            guard let first = gst_buffer_list_get(list, 0) else { return GST_PAD_PROBE_OK }
            guard passes(BufferAccess(first), at: FlowPad(pad)) else { return GST_PAD_PROBE_DROP }
            if stampsCaptureTime { info.data = UnsafeMutableRawPointer(addCaptureTimes(toList: list)) }
            return GST_PAD_PROBE_OK
        }
        guard let event = gst_pad_probe_info_get_event(&info), event.pointee.type == GST_EVENT_EOS else {
            return GST_PAD_PROBE_OK
        }
        return passesEndOfStream() ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
    }
}

/// The pad of a ``FlowWatch``, valid during the call that receives it.
public struct FlowPad {
    private let raw: UnsafeMutablePointer<GstPad>

    fileprivate init(_ raw: UnsafeMutablePointer<GstPad>) { self.raw = raw }

    /// Sends a sticky custom event downstream, before the buffer.
    public func pushSticky(_ structure: Structure) {
        gst_pad_push_event(
            raw, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }

    /// The caps of the stream; `nil` before the first caps.
    public var caps: Caps? { gst_pad_get_current_caps(raw).map(Caps.init(taking:)) }

    /// The minimum latency up to this pad, that is, how late after its timestamp a buffer leaves; zero if unknown.
    public var latency: Duration {
        let query = gst_query_new_latency()
        defer { gst_query_unref(query) }
        guard gst_pad_query(raw, query) != 0 else { return .zero }
        var minimum: GstClockTime = 0
        gst_query_parse_latency(query, nil, &minimum, nil)
        return Duration(raw: minimum) ?? .zero
    }
}

extension Pad {
    /// Attaches a watch to this source pad, which retains the watch until the pad is freed.
    public func setFlowWatch(_ watch: FlowWatch) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            holding: watch
        ) { pad, info, context in
            Unmanaged<FlowWatch>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.probe(pad!, &info!.pointee) }
        }
    }
}
