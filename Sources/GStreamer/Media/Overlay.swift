import CGStreamer

/// A picture made ready for frames of one format and size, to be blended onto them in place
/// (`GstVideoOverlayComposition`). Belongs to one thread at a time.
public final class Overlay {
    private let composition: OpaquePointer

    /// The visible part of `picture`, scaled into `place` in frames of `info`. `opacity` is 0…1. `nil` when it can't be
    /// converted.
    public init?(_ picture: Picture, onto info: VideoInfo, at place: VideoConverter.Rectangle, opacity: Double) {
        // Left to itself the blender turns RGB into limited-range BT.601 whatever the frame is: it gets the frame's own
        // colorimetry, and has nothing to turn.
        var raw = GstVideoInfo()
        let format = info.isYUV ? GST_VIDEO_FORMAT_AYUV : GST_VIDEO_FORMAT_BGRA
        guard place.width > 0, place.height > 0,
            gst_video_info_set_format(&raw, format, guint(place.width), guint(place.height)) != 0
        else { return nil }
        if info.isYUV { raw.colorimetry = info.raw.colorimetry }
        // The converter insists on one rate, though a still picture has none to speak of.
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

    /// False when GStreamer can't blend onto this format.
    public func blend(onto frame: inout MappedVideoFrame) -> Bool {
        gst_video_overlay_composition_blend(composition, frame.frame) != 0
    }
}
