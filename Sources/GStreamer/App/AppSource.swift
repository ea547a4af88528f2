import CGStreamer

/// A stock `appsrc` of a graph, as it is set up there.
public final class AppSource: Element, @unchecked Sendable {
    private var source: UnsafeMutablePointer<GstAppSrc> { raw.assumingMemoryBound(to: GstAppSrc.self) }

    /// `nil` for any other element.
    public init?(wrapping element: Element) {
        guard element.typeName == "GstAppSrc" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Queues a buffer. Any thread; never blocks.
    public func push(_ buffer: consuming Buffer) -> FlowReturn {
        FlowReturn(gst_app_src_push_buffer(source, buffer.take()))
    }

    /// End of stream behind the buffers pushed so far.
    @discardableResult
    public func endOfStream() -> FlowReturn { FlowReturn(gst_app_src_end_of_stream(source)) }
}
