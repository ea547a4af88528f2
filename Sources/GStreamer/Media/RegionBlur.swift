import CGStreamer

/// Blurs a region of frames in place. GStreamer's converter shrinks the region, which averages neighboring pixels, and
/// enlarges it again smoothly. Details smaller than `radius` pixels can't be recovered. Use it on one thread at a time.
package final class RegionBlur {
    private let shrink: OpaquePointer
    private let enlarge: OpaquePointer
    private let small: VideoBufferPool

    /// Creates a blur of `region` in frames of the format `info`. In formats with subsampled chroma, the region's edges
    /// must be on even pixels. Alpha is blurred with the colors. Returns `nil` if GStreamer can't convert the format or
    /// there is no memory.
    package init?(_ info: VideoInfo, region: VideoConverter.Rectangle, radius: Int) {
        guard region.width > 0, region.height > 0, let format = info.format,
            var smallInfo = info.converted(
                to: format,
                size: (max(1, region.width / max(1, radius)), max(1, region.height / max(1, radius))))
        else { return nil }
        // The blur mixes both fields anyway, and a picture with so few lines can't be interlaced.
        smallInfo.raw.interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
        var (full, small) = (info.raw, smallInfo.raw)
        full.interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
        guard let pool = VideoBufferPool(smallInfo) else { return nil }
        guard
            let shrink = gst_video_converter_new(&full, &small, Self.options("src", region, cubic: false))
        else {
            return nil
        }
        guard
            let enlarge = gst_video_converter_new(&small, &full, Self.options("dest", region, cubic: true))
        else {
            gst_video_converter_free(shrink)
            return nil
        }
        (self.shrink, self.enlarge, self.small) = (shrink, enlarge, pool)
    }

    deinit {
        gst_video_converter_free(shrink)
        gst_video_converter_free(enlarge)
    }

    private static func options(
        _ side: String, _ region: VideoConverter.Rectangle, cubic: Bool
    ) -> UnsafeMutablePointer<GstStructure> {
        let options = gst_structure_new_empty("options")!
        for (field, number) in [
            ("x", region.x), ("y", region.y), ("width", region.width), ("height", region.height),
        ] {
            Value(Int32(clamping: number)).read {
                gst_structure_set_value(options, "GstVideoConverter.\(side)-\(field)", $0)
            }
        }
        // Leaves the pixels around the region unchanged.
        Value(false).read { gst_structure_set_value(options, "GstVideoConverter.fill-border", $0) }
        var method = GValue()
        g_value_init(&method, gst_video_resampler_method_get_type())
        let resampler = cubic ? GST_VIDEO_RESAMPLER_METHOD_CUBIC : GST_VIDEO_RESAMPLER_METHOD_LINEAR
        g_value_set_enum(&method, gint(resampler.rawValue))
        gst_structure_set_value(options, "GstVideoConverter.resampler-method", &method)
        return options
    }

    /// Blurs the region of the frame. Returns false if there is no memory.
    package func apply(to frame: inout MappedVideoFrame) -> Bool {
        guard let buffer = small.acquire() else { return false }
        return buffer.access.withVideoFrame(small.info, .readWrite) { small in
            gst_video_converter_frame(shrink, frame.frame, small.frame)
            gst_video_converter_frame(enlarge, small.frame, frame.frame)
            return true
        } ?? false
    }
}
