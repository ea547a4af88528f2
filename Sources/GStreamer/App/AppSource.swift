import CGStreamer

/// An `appsrc` element of a graph, with the settings that the graph's description gives it.
package final class AppSource: Element, @unchecked Sendable {
    private var source: UnsafeMutablePointer<GstAppSrc> { raw.assumingMemoryBound(to: GstAppSrc.self) }
    private var base: BaseSource { BaseSource(raw.assumingMemoryBound(to: GstBaseSrc.self)) }

    /// Wraps an existing `appsrc`; `nil` for any other element.
    package init?(wrapping element: Element) {
        guard element.typeName == "GstAppSrc" else { return nil }
        super.init(retaining: element.raw)
    }

    /// Queues a buffer, on any thread. If the element has `block=true`, it waits while the queue is full, at most until
    /// the element leaves PAUSED.
    @discardableResult
    package func push(_ buffer: consuming Buffer) -> FlowReturn {
        FlowReturn(gst_app_src_push_buffer(source, buffer.take()))
    }

    /// Queues the end of the stream behind the buffers pushed so far.
    @discardableResult
    package func endOfStream() -> FlowReturn { FlowReturn(gst_app_src_end_of_stream(source)) }

    /// Calls `feed` on the streaming thread whenever the queue is empty. `feed` may block until it has a buffer to
    /// push; if it gets none, it returns when the stream stops. Call this before data flows.
    package func onNeedData(_ feed: @escaping @Sendable () -> Void) {
        var callbacks = GstAppSrcCallbacks()
        callbacks.need_data = { _, _, context in
            Unmanaged<Feed>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.body() }
        }
        let feed = Unmanaged.passRetained(Feed(feed)).toOpaque()
        gst_app_src_set_callbacks(source, &callbacks, feed) { Unmanaged<Feed>.fromOpaque($0!).release() }
    }

    /// Releases the closure that `onNeedData(_:)` has set. Don't call it while data flows.
    package func removeFeed() {
        var none = GstAppSrcCallbacks()
        gst_app_src_set_callbacks(source, &none, nil, nil)
    }

    private final class Feed: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// The element's property `caps`; `nil` if it isn't set.
    package var caps: Caps? { gst_app_src_get_caps(source).map(Caps.init(taking:)) }

    /// Sets the element's property `caps`. They are sent downstream before the next buffer.
    package func describe(_ caps: Caps) { gst_app_src_set_caps(source, caps.raw) }

    // MARK: Called from the feed closure

    /// Sends `caps` downstream at once, for the buffers that follow.
    ///
    /// If the property `caps` is set, it is replaced as well: otherwise the next negotiation would send the old caps
    /// again. If it isn't set, it stays unset, because it can't be unset later (GStreamer 1.22 ends the process at the
    /// next buffer).
    package func setCaps(_ caps: Caps) {
        if self.caps != nil { describe(caps) }
        base.setCaps(caps)
    }

    /// Returns whether downstream accepts these caps.
    package func downstreamAccepts(_ caps: Caps) -> Bool { base.downstreamAccepts(caps) }

    /// Sends the source's segment downstream.
    package func pushSegment() { base.pushSegment() }

    /// Sends a sticky custom event downstream.
    package func pushSticky(_ structure: Structure) { base.pushSticky(structure) }
}
