import CGStreamer

/// Collects buffers and returns their bytes in pieces of any length (`GstAdapter`). A piece shares memory with its
/// buffer if it lies within one, and is copied otherwise. Use it on one thread.
package final class BufferAdapter {
    private let adapter: OpaquePointer

    package init() {
        GStreamerRuntime.initialize()
        adapter = gst_adapter_new()
    }

    deinit { gst_object_unref(UnsafeMutableRawPointer(adapter)) }

    /// The number of bytes that can be taken.
    package var available: Int { Int(gst_adapter_available(adapter)) }

    /// Appends a buffer's bytes.
    package func push(_ buffer: consuming Buffer) { gst_adapter_push(adapter, buffer.take()) }

    /// Removes the first `count` bytes and returns them without timestamps, and without the source buffers' flags for
    /// gaps and discontinuities. Returns `nil` if there are fewer bytes.
    package func take(_ count: Int) -> Buffer? {
        gst_adapter_take_buffer(adapter, gsize(count)).map { raw in
            let piece = Buffer(taking: raw).writable()
            piece.access.clearContinuityFlags()
            return piece
        }
    }

    /// Discards the first `count` bytes. There must be as many.
    package func skip(_ count: Int) { gst_adapter_flush(adapter, gsize(count)) }

    /// Discards all bytes.
    package func clear() { gst_adapter_clear(adapter) }
}
