import CGStreamer

/// A STREAM_START event: the beginning of a stream, with the stream's ID.
///
/// `@unchecked Sendable`: events are immutable while shared.
public final class StreamStart: @unchecked Sendable {
    @usableFromInline package let raw: UnsafeMutablePointer<GstEvent>

    package init(retaining event: UnsafeMutablePointer<GstEvent>) { raw = gst_event_ref(event) }

    deinit { gst_event_unref(raw) }

    /// The stream's ID, unique among all streams.
    package var id: String {
        var id: UnsafePointer<CChar>?
        gst_event_parse_stream_start(raw, &id)
        return id.map { String(cString: $0) } ?? ""
    }
}
