import CGStreamer

/// Buffers in, pieces of any length out (`GstAdapter`): memory is shared where a piece lies in one buffer, and copied where
/// it doesn't. Belongs to one thread.
public final class BufferAdapter {
    private let adapter: OpaquePointer

    public init() {
        GStreamerRuntime.initialize()
        adapter = gst_adapter_new()
    }

    deinit { gst_object_unref(UnsafeMutableRawPointer(adapter)) }

    /// Bytes that are in it.
    public var available: Int { Int(gst_adapter_available(adapter)) }

    public func push(_ buffer: consuming Buffer) { gst_adapter_push(adapter, buffer.take()) }

    /// The first `count` bytes, without timestamps, and without what was said of the buffers that they come from: gaps and
    /// discontinuities. `nil` when there are fewer.
    public func take(_ count: Int) -> Buffer? {
        gst_adapter_take_buffer(adapter, gsize(count)).map { raw in
            let piece = Buffer(taking: raw).writable()
            piece.access.clearFlags()
            return piece
        }
    }

    /// Leaves out the first `count` bytes, which must be there.
    public func skip(_ count: Int) { gst_adapter_flush(adapter, gsize(count)) }

    public func clear() { gst_adapter_clear(adapter) }
}
