import CGStreamer
import Synchronization

extension Element {
    /// A further outlet of a `tee`, which may be running; `nil` when it gives none. Any thread.
    ///
    /// The tee copies what events its inlet has kept, and then adds the pad (GStreamer 1.22): what passes in between, or is kept
    /// only when the others have it, the outlet never gets. So nothing begins to pass meanwhile, and what comes next brings it what
    /// it lacks.
    public func requestTeeOutlet() -> Pad? {
        guard let inlet = staticPad("sink") else { return nil }
        let request = TeeRequest()
        inlet.addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            holding: request
        ) { inlet, info, context in
            // What isn't serialized passes beside the stream, maybe before the inlet has kept what the tee is just sending.
            if info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM.rawValue != 0,
                let event = gst_pad_probe_info_get_event(info),
                gst_event_type_get_flags(event.pointee.type).rawValue & GST_EVENT_TYPE_SERIALIZED.rawValue == 0
            {
                return GST_PAD_PROBE_OK
            }
            let isOver = Unmanaged<TeeRequest>.fromOpaque(context!).takeUnretainedValue().isOver.withLock { $0 }
            Pad.completeOutlets(behind: inlet!)
            return isOver ? GST_PAD_PROBE_REMOVE : GST_PAD_PROBE_OK
        }
        return request.isOver.withLock { isOver in
            isOver = true
            return requestPad("src_%u")
        }
    }
}

private final class TeeRequest: Sendable {
    /// The outlet is there, or there will be none. Locked while it is asked for.
    let isOver = Mutex(false)
}

extension Pad {
    /// What each of the tee's outlets has already stays as it is.
    fileprivate static func completeOutlets(behind inlet: UnsafeMutablePointer<GstPad>) {
        guard let tee = gst_pad_get_parent_element(inlet) else { return }
        defer { gst_object_unref(tee) }
        gst_element_foreach_src_pad(
            tee,
            { _, outlet, inlet in
                gst_pad_sticky_events_foreach(
                    inlet!.assumingMemoryBound(to: GstPad.self),
                    { _, event, outlet in
                        gst_pad_store_sticky_event(outlet!.assumingMemoryBound(to: GstPad.self), event!.pointee)
                        return 1
                    }, outlet)
                return 1
            }, inlet)
    }
}
