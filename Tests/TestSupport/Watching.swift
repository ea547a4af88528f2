import CGStreamer
import GStreamer

extension Element {
    /// The values that a switch had each time the element said that it had changed (GObject's `notify`).
    public func observeChanges(of property: String) -> Log<Bool> {
        let log = Log<Bool>()
        let callback: @convention(c) (gpointer, gpointer, gpointer) -> Void = { object, parameter, context in
            let element = Element(retaining: object)
            let name = String(cString: parameter.assumingMemoryBound(to: GParamSpec.self).pointee.name)
            guard let value = try? element.property(name, as: Bool.self) else { return }
            Unmanaged<Log<Bool>>.fromOpaque(context).takeUnretainedValue().add(value)
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(element), "notify::\(property)", unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(log).toOpaque(),
            { context, _ in Unmanaged<Log<Bool>>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
        return log
    }
}

extension Pad {
    /// The caps that are announced through the pad from now on.
    public func observeCaps() -> Log<Caps> {
        let log = Log<Caps>()
        gst_pad_add_probe(
            pad,
            GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_CAPS else {
                    return GST_PAD_PROBE_OK
                }
                var caps: UnsafeMutablePointer<GstCaps>?
                gst_event_parse_caps(event, &caps)
                Unmanaged<Log<Caps>>.fromOpaque(context!).takeUnretainedValue().add(Caps(taking: gst_caps_ref(caps)))
                return GST_PAD_PROBE_OK
            }, Unmanaged.passRetained(log).toOpaque(), { Unmanaged<Log<Caps>>.fromOpaque($0!).release() })
        return log
    }
}
