import CGStreamer

/// The event with which pads of a running aggregator go, behind what is on them.
///
/// They go on the aggregator's own streaming thread: only there it can't be mixing their buffers. audioaggregator 1.22 lets go of
/// its locks for that, and holds neither the pad nor its place in the list of them.
enum Departure {
    static let name = "mediagraph/departure"
    private static let fields = ["pad", "messenger"]

    fileprivate static func event(of pads: Pad...) -> UnsafeMutablePointer<GstEvent> {
        let structure = gst_structure_new_empty(name)!
        for (field, pad) in zip(fields, pads) {
            var value = GValue()
            g_value_init(&value, gst_pad_get_type())
            g_value_set_object(&value, pad.raw)
            gst_structure_take_value(structure, field, &value)
        }
        return gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, structure)
    }

    fileprivate static func pads(of event: UnsafeMutablePointer<GstEvent>) -> [Pad]? {
        guard event.pointee.type == GST_EVENT_CUSTOM_DOWNSTREAM, let structure = gst_event_get_structure(event),
            gst_structure_has_name(structure, name) != 0
        else { return nil }
        return fields.compactMap { field in
            gst_structure_get_value(structure, field).flatMap { g_value_get_object($0) }
                .map { Pad(retaining: $0.assumingMemoryBound(to: GstPad.self)) }
        }
    }
}

extension Element {
    /// Has this aggregator release the pads that depart. Once, before it runs.
    public func releasesDeparted() {
        gst_pad_add_probe(
            staticPad("src")!.pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, _ in
                guard let departed = gst_pad_probe_info_get_event(info).flatMap(Departure.pads) else {
                    return GST_PAD_PROBE_OK
                }
                for pad in departed { pad.parent?.releasePad(pad) }
                return GST_PAD_PROBE_DROP
            }, nil, nil)
    }

    /// Releases a pad of this aggregator's, which may run, and whose `releasesDeparted` was called. What waits there is lost, and
    /// whoever does goes back now. Any thread.
    public func dismiss(_ pad: Pad) {
        let source = staticPad("src")!
        // Its thread is at rest, or is this one.
        if g_rec_mutex_trylock(&source.pad.pointee.stream_rec_lock) != 0 {
            releasePad(pad)
            return g_rec_mutex_unlock(&source.pad.pointee.stream_rec_lock)
        }
        // Another pad brings the news: this one may have ended, or be taking a buffer. First, since a flush of all pads would be
        // the aggregator's.
        guard let messenger = requestPad("sink_%u") else { return }
        pad.sendFlushStart()
        gst_pad_send_event(messenger.pad, Departure.event(of: pad, messenger))
    }
}

extension Pad {
    /// Has the aggregator that it belongs to, and whose `releasesDeparted` was called, release it behind all that is on it. False
    /// when that can't be said, since somebody is just feeding it, or a flush goes on. Any thread.
    public func tryDepart() -> Bool {
        guard g_rec_mutex_trylock(&pad.pointee.stream_rec_lock) != 0 else { return false }
        defer { g_rec_mutex_unlock(&pad.pointee.stream_rec_lock) }
        // Behind its end it takes nothing but another stream.
        if hasEnded { gst_pad_send_event(pad, gst_event_new_stream_start(Departure.name)) }
        return gst_pad_send_event(pad, Departure.event(of: self)) != 0
    }
}
