import CGStreamer

/// GStreamer's `appsrc`, live and in time format.
public final class AppSource: Element, @unchecked Sendable {
    private var source: UnsafeMutablePointer<GstAppSrc> { raw.assumingMemoryBound(to: GstAppSrc.self) }

    /// What a full queue does to a new buffer.
    public enum Overflow: Sendable {
        /// The oldest buffer of the queue is dropped.
        case dropOldest
        /// The new buffer is dropped.
        case dropNewest
        /// The queue grows: the caller looks at `level` first.
        case none
    }

    /// `nil` when the app plugin of gst-plugins-base isn't there.
    public init?(name: String? = nil) {
        GStreamerRuntime.initialize()
        guard let raw = gst_element_factory_make("appsrc", name) else { return nil }
        super.init(taking: raw)
        gst_util_set_object_arg(self.raw.assumingMemoryBound(to: GObject.self), "format", "time")
        gst_util_set_object_arg(self.raw.assumingMemoryBound(to: GObject.self), "is-live", "true")
        gst_app_src_set_emit_signals(source, 0)
        gst_app_src_set_max_bytes(source, 0)
        gst_app_src_set_stream_type(source, GST_APP_STREAM_TYPE_STREAM)
    }

    /// An appsrc that exists, as it is set up; `nil` for any other element.
    public init?(wrapping element: Element) {
        guard element.typeName == "GstAppSrc" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Bounds the queue.
    public func setQueue(maximumBuffers: Int, overflow: Overflow) {
        gst_app_src_set_max_buffers(source, guint64(maximumBuffers))
        let leaky =
            switch overflow {
            case .dropOldest: GST_APP_LEAKY_TYPE_DOWNSTREAM
            case .dropNewest: GST_APP_LEAKY_TYPE_UPSTREAM
            case .none: GST_APP_LEAKY_TYPE_NONE
            }
        gst_app_src_set_leaky_type(source, leaky)
    }

    /// Buffers in the queue.
    public var level: Int { Int(gst_app_src_get_current_level_buffers(source)) }

    /// Queues a buffer. Any thread; never blocks.
    public func push(_ buffer: consuming Buffer) -> FlowReturn {
        FlowReturn(gst_app_src_push_buffer(source, buffer.take()))
    }

    /// The caps of all buffers pushed from now on; in order with them.
    public func setCaps(_ caps: Caps) { gst_app_src_set_caps(source, caps.raw) }

    /// Queues a sticky custom event behind the buffers pushed so far.
    public func pushSticky(_ structure: Structure) {
        gst_element_send_event(
            element, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_copy(structure.raw)))
    }

    /// Queues a custom event behind the buffers pushed so far. Not before the first caps: appsrc would send its segment.
    public func push(_ structure: Structure) {
        gst_element_send_event(
            element, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_copy(structure.raw)))
    }

    /// End of stream behind the buffers pushed so far.
    @discardableResult
    public func endOfStream() -> FlowReturn { FlowReturn(gst_app_src_end_of_stream(source)) }

    /// The least latency of what is pushed: zero for buffers that are stamped as they arrive.
    public func setLatency(minimum: ClockTime, maximum: ClockTime?) {
        gst_app_src_set_latency(source, guint64(minimum.nanoseconds), maximum.raw)
    }
}
