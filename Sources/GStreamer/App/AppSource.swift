import CGStreamer

/// A stock `appsrc` of a graph, as it is set up there.
public final class AppSource: Element, @unchecked Sendable {
    private var source: UnsafeMutablePointer<GstAppSrc> { raw.assumingMemoryBound(to: GstAppSrc.self) }
    private var base: BaseSource { BaseSource(raw.assumingMemoryBound(to: GstBaseSrc.self)) }

    /// `nil` for any other element.
    public init?(wrapping element: Element) {
        guard element.typeName == "GstAppSrc" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Queues a buffer. Any thread; waits for room only where the element has `block=true`, and until it leaves PAUSED.
    @discardableResult
    public func push(_ buffer: consuming Buffer) -> FlowReturn {
        FlowReturn(gst_app_src_push_buffer(source, buffer.take()))
    }

    /// End of stream behind the buffers pushed so far.
    @discardableResult
    public func endOfStream() -> FlowReturn { FlowReturn(gst_app_src_end_of_stream(source)) }

    /// Calls `feed` on the streaming thread whenever nothing is queued. It may wait until there is a buffer, push that and
    /// return; without one it returns when the stream stops. Set before data flows.
    public func onNeedData(_ feed: @escaping @Sendable () -> Void) {
        var callbacks = GstAppSrcCallbacks()
        callbacks.need_data = { _, _, context in
            Unmanaged<Feed>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.body() }
        }
        let feed = Unmanaged.passRetained(Feed(feed)).toOpaque()
        gst_app_src_set_callbacks(source, &callbacks, feed) { Unmanaged<Feed>.fromOpaque($0!).release() }
    }

    /// Lets the feed go. Not while data flows.
    public func removeFeed() {
        var none = GstAppSrcCallbacks()
        gst_app_src_set_callbacks(source, &none, nil, nil)
    }

    private final class Feed: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// What its `caps` say; `nil` where they say nothing.
    public var caps: Caps? { gst_app_src_get_caps(source).map(Caps.init(taking:)) }

    /// What its `caps` are to say; downstream hears of them with the next buffer.
    public func describe(_ caps: Caps) { gst_app_src_set_caps(source, caps.raw) }

    // MARK: From the feed

    /// The caps of the buffers that follow: downstream has them at once.
    ///
    /// Where `caps` said something they say this from now on, or the next negotiation would announce that again. Where they
    /// said nothing they stay so: they can't be taken back (GStreamer 1.22 ends the process at the next buffer).
    public func setCaps(_ caps: Caps) {
        if self.caps != nil { describe(caps) }
        base.setCaps(caps)
    }

    public func downstreamAccepts(_ caps: Caps) -> Bool { base.downstreamAccepts(caps) }
    public func pushSegment() { base.pushSegment() }
    public func pushSticky(_ structure: Structure) { base.pushSticky(structure) }
}
