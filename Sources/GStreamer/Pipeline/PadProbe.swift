import CGStreamer

/// A probe that can be removed.
struct PadProbe: Sendable {
    let pad: Pad
    let id: gulong

    /// Removes the probe. Call it once.
    func remove() { gst_pad_remove_probe(pad.pad, id) }
}

extension Pad {
    /// Adds a probe: calls `callback` for data of these types, on the thread that delivers it, until the probe is
    /// removed or the pad is freed. The probe retains `context`, which the callback receives as its last argument.
    @discardableResult
    func addProbe(
        _ types: GstPadProbeType..., holding context: sending some AnyObject,
        _ callback: @escaping GstPadProbeCallback
    ) -> PadProbe {
        let id = gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types.reduce(0) { $0 | $1.rawValue }), callback,
            Unmanaged<AnyObject>.passRetained(context).toOpaque(),
            { Unmanaged<AnyObject>.fromOpaque($0!).release() })
        return PadProbe(pad: self, id: id)
    }
}

extension Pad {
    /// Runs `body` once, at a moment when no data is leaving this source pad: at once if none is leaving now, otherwise on
    /// the streaming thread, after the current push has returned. New data waits until `body` has returned, so `body` may
    /// link the pad to another one. It must not change states.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        addProbe(GST_PAD_PROBE_TYPE_IDLE, holding: IdleBox(body)) { _, _, context in
            Unmanaged<IdleBox>.fromOpaque(context!).takeUnretainedValue().body()
            return GST_PAD_PROBE_REMOVE
        }
    }

    private final class IdleBox: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
