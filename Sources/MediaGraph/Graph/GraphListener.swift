import GStreamer

extension Graph {
    /// The callbacks of a graph's owner, such as a session. This is a structure, because reading a bare closure from
    /// behind a lock wraps the closure once more each time.
    struct Listener: Sendable {
        /// Receives each event, on the thread that posts the event. It must be quick and must not block.
        var receive: @Sendable (GraphEvent) -> Void
        /// Returns whether the graph continues after this element has failed in this way; for `nil`, after all of its
        /// sources have ended. It is called on the thread that posts the message.
        var outlives: @Sendable ((element: Element, failure: ElementFailure)?) -> Bool = { _ in false }
    }
}
