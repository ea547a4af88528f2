import CGStreamer

/// The beginning of a stream (a STREAM_START event): it says which stream it is.
///
/// `@unchecked Sendable`: events are immutable while shared.
public final class StreamStart: @unchecked Sendable {
    @usableFromInline package let raw: UnsafeMutablePointer<GstEvent>

    package init(retaining event: UnsafeMutablePointer<GstEvent>) { raw = gst_event_ref(event) }

    deinit { gst_event_unref(raw) }

    /// The stream's ID: the same for the same stream, unique among all.
    public var id: String {
        var id: UnsafePointer<CChar>?
        gst_event_parse_stream_start(raw, &id)
        return id.map { String(cString: $0) } ?? ""
    }
}
