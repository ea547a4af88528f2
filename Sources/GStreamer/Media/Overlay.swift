import CGStreamer

/// A picture converted for frames of one format and size, and blended onto them in place
/// (`GstVideoOverlayComposition`). Use it on one thread at a time.
package final class Overlay {
    private let composition: OpaquePointer

    /// Scales the visible part of `picture` to fill `place` in frames of the format `info`. `opacity` is from 0 to 1.
    /// Returns `nil` if the picture can't be converted.
    package init?(_ picture: Picture, onto info: VideoInfo, at place: VideoConverter.Rectangle, opacity: Double) {
        // The blender converts RGB to limited-range BT.601 whatever the frame's colorimetry is. A picture in the
        // frame's own colorimetry is blended without a conversion.
        var raw = GstVideoInfo()
        let format = info.isYUV ? GST_VIDEO_FORMAT_AYUV : GST_VIDEO_FORMAT_BGRA
        guard place.width > 0, place.height > 0,
            gst_video_info_set_format(&raw, format, guint(place.width), guint(place.height)) != 0
        else { return nil }
        if info.isYUV { raw.colorimetry = info.raw.colorimetry }
        // The converter refuses different frame rates, which mean nothing for a still picture.
        (raw.fps_n, raw.fps_d) = (picture.info.raw.fps_n, picture.info.raw.fps_d)
        guard
            let pixels = VideoConverter(from: picture.info, to: VideoInfo(raw), crop: picture.visible, isSmooth: true)?
                .convert(picture.buffer.access)
        else { return nil }
        gst_buffer_add_video_meta(
            pixels.raw, GST_VIDEO_FRAME_FLAG_NONE, format, guint(place.width), guint(place.height))
        guard
            let rectangle = gst_video_overlay_rectangle_new_raw(
                pixels.raw, gint(place.x), gint(place.y), guint(place.width), guint(place.height),
                GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE)
        else { return nil }
        defer { gst_video_overlay_rectangle_unref(rectangle) }
        gst_video_overlay_rectangle_set_global_alpha(rectangle, gfloat(opacity))
        guard let composition = gst_video_overlay_composition_new(rectangle) else { return nil }
        self.composition = composition
    }

    deinit { gst_video_overlay_composition_unref(composition) }

    /// Blends the picture onto the frame. Returns false if GStreamer doesn't support the frame's format.
    package func blend(onto frame: inout MappedVideoFrame) -> Bool {
        gst_video_overlay_composition_blend(composition, frame.frame) != 0
    }
}
