import CGStreamer

/// Data that arrives at a sink pad.
package enum PadArrival: Sendable {
    /// A buffer, or a list of buffers.
    case buffer
    /// A serialized event other than EOS.
    case event
    /// EOS.
    case endOfStream
}

extension Pad {
    /// Calls `isWatching` on the streaming thread for each arrival, before the pad's element receives it, until
    /// `isWatching` returns false.
    package func watchArrivals(while isWatching: @escaping @Sendable (PadArrival) -> Bool) {
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
