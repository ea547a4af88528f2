import CGStreamer
import GStreamer

extension Pad {
    /// Shows each buffer that passes the pad, on the streaming thread, which waits meanwhile.
    public func observeBuffers(_ body: @escaping @Sendable (BufferAccess) -> Void) {
        let box = Unmanaged.passRetained(Observer(body)).toOpaque()
        gst_pad_add_probe(
            UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstPad.self), GST_PAD_PROBE_TYPE_BUFFER,
            { _, info, context in
                let observer = Unmanaged<Observer>.fromOpaque(context!).takeUnretainedValue()
                observer.body(BufferAccess(gst_pad_probe_info_get_buffer(info)!))
                return GST_PAD_PROBE_OK
            }, box, { Unmanaged<Observer>.fromOpaque($0!).release() })
    }

    private final class Observer: Sendable {
        let body: @Sendable (BufferAccess) -> Void
        init(_ body: @escaping @Sendable (BufferAccess) -> Void) { self.body = body }
    }
}
