import CGStreamer
import GStreamer

/// A pool with a fixed number of buffers, as cameras have.
public final class BoundedPool: @unchecked Sendable {
    // `@unchecked Sendable`: a GstBufferPool may be used from any thread.
    private let pool: UnsafeMutablePointer<GstBufferPool>

    /// Creates a pool of `buffers` buffers with `size` bytes each.
    public init(_ caps: String, size: Int, buffers: Int) {
        pool = gst_buffer_pool_new()
        let configuration = gst_buffer_pool_get_config(pool)
        let caps = Caps(caps)!
        withExtendedLifetime(caps) {
            gst_buffer_pool_config_set_params(configuration, caps.raw, guint(size), 0, guint(buffers))
        }
        precondition(gst_buffer_pool_set_config(pool, configuration) != 0 && gst_buffer_pool_set_active(pool, 1) != 0)
    }

    deinit {
        gst_buffer_pool_set_active(pool, 0)
        gst_object_unref(pool)
    }

    /// Returns a free buffer; `nil` if all are in use.
    public func acquire() -> Buffer? {
        var parameters = GstBufferPoolAcquireParams()
        parameters.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT
        var raw: UnsafeMutablePointer<GstBuffer>?
        guard gst_buffer_pool_acquire_buffer(pool, &raw, &parameters) == GST_FLOW_OK, let raw else { return nil }
        gst_buffer_memset(raw, 0, 7, gst_buffer_get_size(raw))
        raw.pointee.pts = 0
        return Buffer(taking: raw)
    }

    /// The number of free buffers.
    public var available: Int {
        var list: [UnsafeMutablePointer<GstBuffer>] = []
        defer { for buffer in list { gst_buffer_unref(buffer) } }
        while let buffer = acquire() { list.append(gst_buffer_ref(buffer.address.buffer)) }
        return list.count
    }
}

extension UInt {
    fileprivate var buffer: UnsafeMutablePointer<GstBuffer> { UnsafeMutablePointer(bitPattern: self)! }
}
