import CGStreamer

/// Buffers for raw video of one format and size, used again and again, in GStreamer's default layout.
public final class VideoBufferPool: @unchecked Sendable {
    // `@unchecked Sendable`: GstBufferPool is safe from any thread, `info` is constant.
    private let pool: UnsafeMutablePointer<GstBufferPool>
    public let info: VideoInfo
    /// Packed planes lie just as GStreamer lays them out by default, which isn't so at every size.
    public let isPackedByDefault: Bool
    /// Bytes of a frame without padding.
    public let packedLength: Int

    /// `nil` when the pool can't be set up.
    public init?(_ info: VideoInfo) {
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
        // Buffers that are still out go back to a pool that then frees them.
        gst_buffer_pool_set_active(pool, 0)
        gst_object_unref(pool)
    }

    /// A buffer to be written to; `nil` when there is no memory.
    public func acquire() -> Buffer? {
        var raw: UnsafeMutablePointer<GstBuffer>?
        guard gst_buffer_pool_acquire_buffer(pool, &raw, nil) == GST_FLOW_OK, let raw else { return nil }
        return Buffer(taking: raw)
    }

    /// A buffer with a copy of a frame whose planes lie one behind the other without padding; `packed` must have
    /// `packedLength` bytes of the pool's format and size.
    public func copy(packed: UnsafeRawPointer) -> Buffer? {
        guard let format = info.format, let buffer = acquire() else { return nil }
        if isPackedByDefault {
            guard gst_buffer_fill(buffer.raw, 0, packed, gsize(info.size)) == gsize(info.size) else { return nil }
            return buffer
        }
        // Row by row, by GStreamer: the packed layout is told to it by a GstVideoMeta on a buffer around the memory.
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
