import CGStreamer

extension Element {
    /// Calls `body` whenever the element says that a property of its has changed (`notify`), on the thread that says so. The
    /// element holds it for as long as it lives.
    public func watchProperty(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let watch = Unmanaged.passRetained(PropertyWatch(body)).toOpaque()
        let handler:
            @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = {
                _, _, context in Unmanaged<PropertyWatch>.fromOpaque(context).takeUnretainedValue().body()
            }
        g_signal_connect_data(
            raw, "notify::\(name)", unsafeBitCast(handler, to: GCallback.self), watch,
            { context, _ in Unmanaged<PropertyWatch>.fromOpaque(context!).release() }, GConnectFlags(rawValue: 0))
    }

    /// Whether its class has a property of this name.
    public func hasProperty(_ name: String) -> Bool { (try? propertyText(name)) != nil }
}

private final class PropertyWatch: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
