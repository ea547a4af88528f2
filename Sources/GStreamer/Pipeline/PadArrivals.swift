import CGStreamer

/// What comes into a sink pad: buffers (a list of them is one arrival) and serialized events.
public enum PadArrival: Sendable { case buffer, event, endOfStream }

extension Pad {
    /// Calls `isWatching` before the pad's element gets what arrives, until it returns false. On the streaming thread.
    public func watchArrivals(while isWatching: @escaping @Sendable (PadArrival) -> Bool) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            holding: ArrivalWatch(isWatching)
        ) { _, info, context in
            var arrival = PadArrival.buffer
            if info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM.rawValue != 0,
                let event = gst_pad_probe_info_get_event(info)
            {
                let flags = gst_event_type_get_flags(event.pointee.type).rawValue
                guard flags & GST_EVENT_TYPE_SERIALIZED.rawValue != 0 else { return GST_PAD_PROBE_OK }
                arrival = event.pointee.type == GST_EVENT_EOS ? .endOfStream : .event
            }
            let watch = Unmanaged<ArrivalWatch>.fromOpaque(context!).takeUnretainedValue()
            return watch.isWatching(arrival) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_REMOVE
        }
    }
}

private final class ArrivalWatch: Sendable {
    let isWatching: @Sendable (PadArrival) -> Bool
    init(_ isWatching: @escaping @Sendable (PadArrival) -> Bool) { self.isWatching = isWatching }
}
