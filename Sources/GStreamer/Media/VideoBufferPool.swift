import CGStreamer

/// A pool of buffers for raw video of one format and size, in GStreamer's default layout.
package final class VideoBufferPool: @unchecked Sendable {
    // `@unchecked Sendable`: GstBufferPool is thread-safe, the other properties are constant.
    private let pool: UnsafeMutablePointer<GstBufferPool>
    package let info: VideoInfo
    /// Whether GStreamer's default layout has no padding. That depends on the format and the size.
    package let isPackedByDefault: Bool
    /// The bytes of a frame without padding.
    package let packedLength: Int

    /// Creates and activates a pool; `nil` if GStreamer refuses the format or there is no memory.
    package init?(_ info: VideoInfo) {
        guard let pool = gst_video_buffer_pool_new() else { return nil }
        let configuration = gst_buffer_pool_get_config(pool)
        let caps = info.caps
        gst_buffer_pool_config_set_params(configuration, caps.raw, guint(info.size), 2, 0)
        guard gst_buffer_pool_set_config(pool, configuration) != 0, gst_buffer_pool_set_active(pool, 1) != 0 else {
            gst_object_unref(pool)
            return nil
        }
        self.pool = pool
        self.info = info
        packedLength = info.format?.packedLength(width: info.width, height: info.height) ?? 0
        isPackedByDefault = packedLength == info.size
    }

    deinit {
        // Buffers that are still in use keep a reference to the pool, which frees them when they return.
        gst_buffer_pool_set_active(pool, 0)
        gst_object_unref(pool)
    }

    /// Returns a writable buffer, whose bytes aren't initialized; `nil` if there is no memory.
    package func acquire() -> Buffer? {
        var raw: UnsafeMutablePointer<GstBuffer>?
        guard gst_buffer_pool_acquire_buffer(pool, &raw, nil) == GST_FLOW_OK, let raw else { return nil }
        return Buffer(taking: raw)
    }

    /// Returns a buffer with a copy of a frame without padding. `packed` must point to `packedLength` bytes, one plane
    /// after the other, of the pool's format and size. Returns `nil` if there is no memory.
    package func copy(packed: UnsafeRawPointer) -> Buffer? {
        guard let format = info.format, let buffer = acquire() else { return nil }
        if isPackedByDefault {
            guard gst_buffer_fill(buffer.raw, 0, packed, gsize(info.size)) == gsize(info.size) else { return nil }
            return buffer
        }
        // GStreamer copies row by row from a buffer that wraps the memory and has a GstVideoMeta with the packed
        // layout.
        let length = format.packedLength(width: info.width, height: info.height)
        let source = Buffer(
            wrapping: UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(mutating: packed), count: length),
            context: nil, release: nil)
        Self.addPackedLayout(format, info, to: source)
        let done: Bool?? = source.access.withVideoFrame(info, .read) { from in
            buffer.access.withVideoFrame(info, .readWrite) { to in gst_video_frame_copy(to.frame, from.frame) != 0 }
        }
        guard done == true else { return nil }
        return buffer
    }

    private static func addPackedLayout(_ format: VideoFormat, _ info: VideoInfo, to buffer: borrowing Buffer) {
        var offsets: (gsize, gsize, gsize, gsize) = (0, 0, 0, 0)
        var strides: (gint, gint, gint, gint) = (0, 0, 0, 0)
        var offset = 0
        withUnsafeMutableBytes(of: &offsets) { offsets in
            withUnsafeMutableBytes(of: &strides) { strides in
                for (index, plane) in format.planes.enumerated() {
                    let size = format.size(of: plane, width: info.width, height: info.height)
                    let stride = size.width * format.pixelStride(of: plane)
                    offsets.storeBytes(
                        of: gsize(offset), toByteOffset: index * MemoryLayout<gsize>.stride, as: gsize.self)
                    strides.storeBytes(of: gint(stride), toByteOffset: index * MemoryLayout<gint>.stride, as: gint.self)
                    offset += stride * size.height
                }
            }
        }
        gst_buffer_add_video_meta_full(
            buffer.raw, GST_VIDEO_FRAME_FLAG_NONE, format.raw, guint(info.width), guint(info.height),
            guint(format.planes.count), &offsets.0, &strides.0)
    }
}
