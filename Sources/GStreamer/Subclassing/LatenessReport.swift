import CGStreamer

extension InPlaceTransform {
    /// Posts a QoS message for one buffer that took `jitter` nanoseconds too long, with the counts so far. Streaming thread.
    public func postLateness(
        of buffer: BufferAccess, by jitter: UInt64, isDropped: Bool, processed: UInt64, dropped: UInt64
    ) {
        let segment = segment
        let countsTime = segment.pointee.format == GST_FORMAT_TIME
        let none = ClockTime?.none.raw
        let timestamp = buffer.presentationTimestamp.raw
        let message = gst_message_new_qos(
            UnsafeMutableRawPointer(instance.element).assumingMemoryBound(to: GstObject.self), 0,
            countsTime ? gst_segment_to_running_time(segment, GST_FORMAT_TIME, timestamp) : none,
            countsTime ? gst_segment_to_stream_time(segment, GST_FORMAT_TIME, timestamp) : none, timestamp,
            buffer.duration.raw)
        gst_message_set_qos_values(message, gint64(clamping: jitter), 1, isDropped ? 0 : 1_000_000)
        gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, guint64(processed), guint64(dropped))
        gst_element_post_message(instance.element, message)
    }
}
