import CGStreamer
import GStreamer

/// Holds the closure that a signal calls.
private final class Listener: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

extension Element {
    /// Runs `body` for each signal of that name. The signal's handler must have one argument, as `notify::caps` and
    /// `pad-added` do.
    public func listen(to signal: String, _ body: @escaping @Sendable () -> Void) {
        let callback: @convention(c) (gpointer, gpointer, gpointer) -> Void = { _, _, context in
            Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().body()
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(element), signal, unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(Listener(body)).toOpaque(),
            { context, _ in Unmanaged<Listener>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
    }

    /// Records the value of a property each time the element notifies that it has changed (GObject's `notify`).
    public func observeChanges<V: ValueConvertible & Sendable>(of property: String, as type: V.Type = Bool.self) -> Log<
        V
    > {
        let log = Log<V>()
        // The element retains its listener, so the listener must not retain the element.
        let weak = WeakElement(ElementInstance(UnsafeMutableRawPointer(element)))
        listen(to: "notify::\(property)") {
            if let value = try? weak.element?.property(property, as: V.self) { log.add(value) }
        }
        return log
    }
}

extension Pad {
    /// Calls `body` for each buffer that passes the pad, on the streaming thread, which waits meanwhile.
    public func observeBuffers(_ body: @escaping @Sendable (BufferAccess) -> Void) {
        let box = Unmanaged.passRetained(Observer(body)).toOpaque()
        gst_pad_add_probe(
            UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstPad.self), GST_PAD_PROBE_TYPE_BUFFER,
            { _, info, context in
                let observer = Unmanaged<Observer>.fromOpaque(context!).takeUnretainedValue()
                observer.body(BufferAccess(gst_pad_probe_info_get_buffer(info)!))
                return GST_PAD_PROBE_OK
            }, box, { Unmanaged<Observer>.fromOpaque($0!).release() })
    }

    /// Records the caps that pass the pad from now on.
    public func observeCaps() -> Log<Caps> {
        let log = Log<Caps>()
        observeCaps { log.add($0) }
        return log
    }

    /// Calls `body` for the caps that pass the pad from now on, on the streaming thread, which waits meanwhile.
    public func observeCaps(_ body: @escaping @Sendable (Caps) -> Void) {
        let box = Unmanaged.passRetained(CapsObserver(body)).toOpaque()
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_CAPS else {
                    return GST_PAD_PROBE_OK
                }
                var caps: UnsafeMutablePointer<GstCaps>?
                gst_event_parse_caps(event, &caps)
                let observer = Unmanaged<CapsObserver>.fromOpaque(context!).takeUnretainedValue()
                observer.body(Caps(taking: gst_caps_ref(caps)))
                return GST_PAD_PROBE_OK
            }, box, { Unmanaged<CapsObserver>.fromOpaque($0!).release() })
    }

    private final class Observer: Sendable {
        let body: @Sendable (BufferAccess) -> Void
        init(_ body: @escaping @Sendable (BufferAccess) -> Void) { self.body = body }
    }

    private final class CapsObserver: Sendable {
        let body: @Sendable (Caps) -> Void
        init(_ body: @escaping @Sendable (Caps) -> Void) { self.body = body }
    }
}

/// Holds a stream at a pad until `release` is called. Records the timestamp of each frame in milliseconds before
/// holding the frame.
public final class FrameHold: Sendable {
    /// The timestamps of the frames that have arrived, in milliseconds.
    public let seen = Log<UInt64>()
    private let isHolding = BlockingMonitor(true)

    /// Holds the stream from now on.
    public init(at pad: Pad) {
        pad.observeBuffers { [seen, isHolding] buffer in
            seen.add(buffer.presentationTimestamp!.nanoseconds / 1_000_000)
            _ = isHolding.wait { $0 ? nil : true }
        }
    }

    /// Lets the stream continue, and holds it no more.
    public func release() { isHolding.withLock { $0 = false } }
}
