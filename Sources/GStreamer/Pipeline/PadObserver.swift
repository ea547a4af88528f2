import CGStreamer

/// Observes the pads that an element adds (`pad-added`).
package final class PadObserver: Sendable {
    private let element: Element
    private let handler: gulong

    /// Calls `body` with each pad that is added from now on, on the thread that adds it, before data passes the pad.
    ///
    /// The element retains `body` until `stop()`.
    package init(of element: Element, _ body: @escaping @Sendable (Pad) -> Void) {
        typealias Added = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, gpointer?) -> Void
        let added: Added = { _, pad, watch in
            Unmanaged<Watch>.fromOpaque(watch!)._withUnsafeGuaranteedRef { $0.body(Pad(retaining: pad!)) }
        }
        self.element = element
        handler = g_signal_connect_data(
            element.raw, "pad-added", unsafeBitCast(added, to: GCallback.self),
            Unmanaged.passRetained(Watch(body)).toOpaque(),
            { watch, _ in Unmanaged<Watch>.fromOpaque(watch!).release() }, GConnectFlags(rawValue: 0))
    }

    /// Stops observing. Call it once.
    package func stop() { g_signal_handler_disconnect(element.raw, handler) }

    private final class Watch: Sendable {
        let body: @Sendable (Pad) -> Void
        init(_ body: @escaping @Sendable (Pad) -> Void) { self.body = body }
    }
}
