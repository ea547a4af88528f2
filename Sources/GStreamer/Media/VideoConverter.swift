import CGStreamer

/// Converts the format and size of raw video with `GstVideoConverter`, which `videoconvert` and `videoscale` use, at
/// those elements' default quality. The output buffers come from a pool.
package final class VideoConverter {
    private let converter: OpaquePointer
    private let pool: VideoBufferPool
    package let input: VideoInfo
    package let output: VideoInfo
    /// Whether the converter sets a wrong alpha. Like `videoconvert`, GStreamer 1.22's converter sets alpha to 128 when
    /// it converts planar YUV to A420; from other formats, it sets 255.
    private let leavesAlphaWrong: Bool

    /// A rectangle in a picture, in pixels from the top left corner.
    package struct Rectangle: Sendable, Hashable {
        package var x: Int
        package var y: Int
        package var width: Int
        package var height: Int

        package init(x: Int, y: Int, width: Int, height: Int) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// Creates a converter; `nil` if GStreamer can't convert between the two formats, or there is no memory.
    ///
    /// - Parameters:
    ///   - crop: The part of the input that fills the output; by default all of it.
    ///   - isSmooth: Whether each output pixel is computed from all input pixels that it covers, for pictures that
    ///     people look at. Otherwise two pixels in each direction are used, as in `videoscale`.
    package init?(from input: VideoInfo, to output: VideoInfo, crop: Rectangle? = nil, isSmooth: Bool = false) {
        var (source, target) = (input.raw, output.raw)
        let options = gst_structure_new_empty("options")
        // videoscale's default: linear, with two taps. The converter's default is cubic, with as many taps as the
        // reduction needs.
        if !isSmooth { Value(Int32(2)).read { gst_structure_set_value(options, "GstVideoResampler.max-taps", $0) } }
        var method = GValue()
        g_value_init(&method, gst_video_resampler_method_get_type())
        g_value_set_enum(&method, gint(GST_VIDEO_RESAMPLER_METHOD_LINEAR.rawValue))
        gst_structure_set_value(options, "GstVideoConverter.resampler-method", &method)
        if let crop {
            let fields = [("x", crop.x), ("y", crop.y), ("width", crop.width), ("height", crop.height)]
            for (field, number) in fields {
                Value(Int32(clamping: number)).read {
                    gst_structure_set_value(options, "GstVideoConverter.src-\(field)", $0)
                }
            }
        }
        guard let converter = gst_video_converter_new(&source, &target, options) else { return nil }
        guard let pool = VideoBufferPool(output) else {
            gst_video_converter_free(converter)
            return nil
        }
        self.converter = converter
        self.pool = pool
        self.input = input
        self.output = output
        leavesAlphaWrong = output.format == .a420 && !input.hasAlpha
    }

    deinit { gst_video_converter_free(converter) }

    /// Returns the converted frame in a buffer of the pool, with the input's timestamps and flags. Returns `nil` if the
    /// input can't be mapped or there is no memory.
    package func convert(_ buffer: BufferAccess) -> Buffer? {
        guard let result = pool.acquire() else { return nil }
        let copied = GstBufferCopyFlags(
            rawValue: GST_BUFFER_COPY_TIMESTAMPS.rawValue | GST_BUFFER_COPY_FLAGS.rawValue)
        gst_buffer_copy_into(result.raw, buffer.raw, copied, 0, .max)
        let done: Bool?? = buffer.withVideoFrame(input, .read) { source in
            result.access.withVideoFrame(output, .readWrite) { target in
                gst_video_converter_frame(converter, source.frame, target.frame)
                if leavesAlphaWrong { target.makeOpaque() }
                return true
            }
        }
        guard done == true else { return nil }
        return result
    }

    /// Converts a frame into a mapped frame of the output format. Returns false if the input can't be mapped.
    package func convert(_ buffer: BufferAccess, into target: inout MappedVideoFrame) -> Bool {
        buffer.withVideoFrame(input, .read) { source in
            gst_video_converter_frame(converter, source.frame, target.frame)
            return true
        } ?? false
    }

    /// Returns the converted frame in a buffer of the pool, without timestamps; `nil` if there is no memory.
    package func convert(_ frame: borrowing MappedVideoFrame) -> Buffer? {
        guard let result = pool.acquire() else { return nil }
        let done: Bool? = result.access.withVideoFrame(output, .readWrite) { target in
            gst_video_converter_frame(converter, frame.frame, target.frame)
            if leavesAlphaWrong { target.makeOpaque() }
            return true
        }
        guard done == true else { return nil }
        return result
    }
}

extension MappedVideoFrame {
    /// Copies the pixels of a buffer of the same format and size. Returns false if the buffer can't be mapped.
    package mutating func copy(_ buffer: BufferAccess, _ info: VideoInfo) -> Bool {
        let target = frame
        return buffer.withVideoFrame(info, .read) { gst_video_frame_copy(target, $0.frame) != 0 } ?? false
    }
}
