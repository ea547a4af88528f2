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
        addProbe(GST_PAD_PROBE_TYPE_IDLE, holding: IdleBox(body)) { pad, _, context in
            Unmanaged<IdleBox>.fromOpaque(context!).takeUnretainedValue().body()
            Pad.restartStickyEvents(pad!)
            return GST_PAD_PROBE_REMOVE
        }
    }

    /// Makes GStreamer send all sticky events that the pad's peer doesn't have. Called in an idle probe.
    ///
    /// The push that has just returned may have been that of a sticky event, such as CAPS. After the probe, GStreamer
    /// marks that event as received, though the new peer hasn't received it (GStreamer 1.22, `push_sticky` in gstpad.c).
    /// It starts again with the first event only if the pad's sticky events have changed meanwhile. So this function adds an
    /// event and removes it again.
    private static func restartStickyEvents(_ pad: UnsafeMutablePointer<GstPad>) {
        let event = gst_event_new_custom(
            GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_new_empty("mediagraph-relinked"))!
        gst_pad_store_sticky_event(pad, event)
        gst_pad_sticky_events_foreach(
            pad,
            { _, stored, added in
                guard stored!.pointee == added!.assumingMemoryBound(to: GstEvent.self) else { return 1 }
                gst_event_unref(stored!.pointee)
                stored!.pointee = nil
                return 1
            }, event)
        gst_event_unref(event)
    }

    private final class IdleBox: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
