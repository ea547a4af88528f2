import CGStreamer
import GStreamer

/// What a signal of two arguments calls.
private final class Listener: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

extension Element {
    /// Runs `body` for each signal of that name whose handler has one argument, such as `notify::caps` or `pad-added`.
    public func listen(to signal: String, _ body: @escaping @Sendable () -> Void) {
        let callback: @convention(c) (gpointer, gpointer, gpointer) -> Void = { _, _, context in
            Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().body()
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(element), signal, unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(Listener(body)).toOpaque(),
            { context, _ in Unmanaged<Listener>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
    }

    /// The values that a property had each time the element said that it had changed (GObject's `notify`).
    public func observeChanges<V: ValueConvertible & Sendable>(of property: String, as type: V.Type = Bool.self) -> Log<
        V
    > {
        let log = Log<V>()
        // The element keeps its listener: no reference back.
        let weak = WeakElement(ElementInstance(UnsafeMutableRawPointer(element)))
        listen(to: "notify::\(property)") {
            if let value = try? weak.element?.property(property, as: V.self) { log.add(value) }
        }
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
