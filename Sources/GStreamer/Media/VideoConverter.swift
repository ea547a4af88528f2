import CGStreamer

/// Converts format and size of raw video: the engine of `videoconvert` and `videoscale` (`GstVideoConverter`), with
/// those elements' default quality, writing into pooled buffers.
public final class VideoConverter {
    private let converter: OpaquePointer
    private let pool: VideoBufferPool
    public let input: VideoInfo
    public let output: VideoInfo
    /// From planar YUV to A420 GStreamer 1.22 sets alpha to 128 (`videoconvert` too); from other formats to 255.
    private let leavesAlphaWrong: Bool

    /// A part of a picture, in pixels.
    public struct Rectangle: Sendable, Hashable {
        public var x: Int
        public var y: Int
        public var width: Int
        public var height: Int

        public init(x: Int, y: Int, width: Int, height: Int) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// With `crop` only that part of the input fills the output. `isSmooth`: each pixel is made of all those that it stands
    /// for, as pictures for the eye want it, where videoscale takes two each way. `nil` when there is no way from one to the other, or no
    /// memory for the result.
    public init?(from input: VideoInfo, to output: VideoInfo, crop: Rectangle? = nil, isSmooth: Bool = false) {
        var (source, target) = (input.raw, output.raw)
        let options = gst_structure_new_empty("options")
        // videoscale's default; the engine's own would be cubic, of as many pixels as the reduction asks for.
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

    /// The converted frame in a buffer of the pool, with the input's timestamps and metas. `nil` when the input can't be
    /// mapped or there is no memory.
    public func convert(_ buffer: BufferAccess) -> Buffer? {
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

    /// Writes the converted frame over one that is mapped; false when the input can't be mapped.
    public func convert(_ buffer: BufferAccess, into target: inout MappedVideoFrame) -> Bool {
        buffer.withVideoFrame(input, .read) { source in
            gst_video_converter_frame(converter, source.frame, target.frame)
            return true
        } ?? false
    }

    /// The same for a frame that is mapped already, without timestamps.
    public func convert(_ frame: borrowing MappedVideoFrame) -> Buffer? {
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
    /// Takes the pixels of a buffer of the same format and size; false when it can't be mapped.
    public mutating func copy(_ buffer: BufferAccess, _ info: VideoInfo) -> Bool {
        let target = frame
        return buffer.withVideoFrame(info, .read) { gst_video_frame_copy(target, $0.frame) != 0 } ?? false
    }
}
