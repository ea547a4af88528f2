import CGStreamer
import Synchronization

extension Element {
    /// Requests another source pad of a `tee`, which may be running; `nil` if the tee refuses. May be called from any
    /// thread.
    ///
    /// The tee copies the sticky events of its sink pad to the new pad, and then adds the pad (GStreamer 1.22). The new
    /// pad never gets an event that passes in between, nor one that the sink pad stores only after the other source
    /// pads have it. So a probe makes the streaming thread wait during the request, and adds the missing events when the
    /// next data arrives.
    package func requestTeeOutlet() -> Pad? {
        guard let inlet = staticPad("sink") else { return nil }
        let request = TeeRequest()
        inlet.addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            holding: request
        ) { inlet, info, context in
            // Other events can overtake the stream, and may arrive before the sink pad has stored the event that the
            // tee is sending.
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
    /// Whether the request is complete. Locked during the request.
    let isOver = Mutex(false)
}

extension Pad {
    /// Stores the sticky events of a tee's sink pad on all its source pads. Storing an event that a source pad already
    /// has changes nothing.
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
