import CGStreamer

/// The format of raw video, as fixed caps describe it, with its layout in memory (`GstVideoInfo`).
///
/// `@unchecked Sendable`: a value; its only pointer points to GStreamer's constant table of formats.
public struct VideoInfo: @unchecked Sendable, Equatable {
    @usableFromInline package var raw: GstVideoInfo

    package init(_ raw: GstVideoInfo) { self.raw = raw }

    /// Creates the format that fixed `video/x-raw` caps describe, in GStreamer's default layout; `nil` for any other
    /// caps.
    public init?(_ caps: Caps) {
        var info = GstVideoInfo()
        guard gst_video_info_from_caps(&info, caps.raw) != 0 else { return nil }
        raw = info
    }

    /// Creates a format with square pixels, progressive, in GStreamer's default layout. A frame rate of 0/1 is a
    /// variable or unknown rate. Returns `nil` if GStreamer refuses the size.
    public init?(_ format: VideoFormat, width: Int, height: Int, framesPerSecond: Fraction = Fraction(0, 1)) {
        self.init(format, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, width, height, framesPerSecond)
    }

    /// The interlace mode decides the layout too: of 4:2:0 formats, each field has chroma rows of its own.
    private init?(
        _ format: VideoFormat, _ mode: GstVideoInterlaceMode, _ width: Int, _ height: Int, _ framesPerSecond: Fraction
    ) {
        var info = GstVideoInfo()
        guard width > 0, height > 0, width <= Int(Int32.max), height <= Int(Int32.max),
            gst_video_info_set_interlaced_format(&info, format.raw, mode, guint(width), guint(height)) != 0
        else { return nil }
        info.fps_n = framesPerSecond.numerator
        info.fps_d = framesPerSecond.denominator
        raw = info
    }

    /// The width in pixels.
    public var width: Int { Int(raw.width) }
    /// The height in pixels.
    public var height: Int { Int(raw.height) }
    /// The size in bytes of a buffer with this layout.
    public var size: Int { Int(raw.size) }
    /// The pixel format; `nil` if the nodes don't support it. `formatName` has its name even then.
    public var format: VideoFormat? { VideoFormat(raw.finfo.pointee.format) }
    /// GStreamer's name of the pixel format, such as "I420".
    public var formatName: String { String(cString: raw.finfo.pointee.name) }
    /// Whether the components are luma and chroma, instead of red, green and blue.
    public var isYUV: Bool { raw.finfo.pointee.flags.rawValue & GST_VIDEO_FORMAT_FLAG_YUV.rawValue != 0 }
    /// Whether the pixel format has an alpha component.
    public var hasAlpha: Bool { raw.finfo.pointee.flags.rawValue & GST_VIDEO_FORMAT_FLAG_ALPHA.rawValue != 0 }
    /// The bits of the alpha component; 0 if there is none.
    public var alphaDepth: Int { hasAlpha ? Int(raw.finfo.pointee.depth.3) : 0 }
    /// The frame rate; 0/1 if it is variable or unknown.
    public var framesPerSecond: Fraction {
        get { Fraction(raw.fps_n, raw.fps_d) }
        set { (raw.fps_n, raw.fps_d) = (newValue.numerator, newValue.denominator) }
    }
    /// A pixel's width divided by its height.
    public var pixelAspectRatio: Fraction {
        get { Fraction(raw.par_n, raw.par_d) }
        set { (raw.par_n, raw.par_d) = (newValue.numerator, newValue.denominator) }
    }
    /// Whether the interlace mode is anything but progressive. In the mode `mixed`, single frames may still be
    /// progressive.
    public var isInterlaced: Bool { raw.interlace_mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE }
    /// Whether each buffer contains only one field (`interlace-mode=alternate`).
    public var isFieldPerBuffer: Bool { raw.interlace_mode == GST_VIDEO_INTERLACE_MODE_ALTERNATE }

    /// The range, matrix, transfer function and primaries.
    public var colorimetry: Colorimetry {
        get { Colorimetry(raw.colorimetry) }
        set { raw.colorimetry = newValue.raw }
    }

    /// A position of the chroma samples relative to the luma samples.
    public enum ChromaSite: Sendable {
        /// In the center of the luma samples, in both directions (`GST_VIDEO_CHROMA_SITE_NONE`).
        case center
        /// On the left luma samples, vertically between two lines (`GST_VIDEO_CHROMA_SITE_H_COSITED`).
        case left
        /// On the top left luma sample (`GST_VIDEO_CHROMA_SITE_COSITED`).
        case topLeft
        /// On alternating lines, as in DV (`GST_VIDEO_CHROMA_SITE_DV`).
        case digitalVideo
        /// Not known, or any other position.
        case unknown
    }

    /// The position of the chroma samples relative to the luma samples.
    public var chromaSite: ChromaSite {
        switch raw.chroma_site {
        case GST_VIDEO_CHROMA_SITE_NONE: .center
        case GST_VIDEO_CHROMA_SITE_H_COSITED: .left
        case GST_VIDEO_CHROMA_SITE_COSITED: .topLeft
        case GST_VIDEO_CHROMA_SITE_DV: .digitalVideo
        default: .unknown
        }
    }

    /// Returns the number of bytes from one row of the plane to the next.
    public func stride(plane index: Int) -> Int {
        withUnsafeBytes(of: raw.stride) { Int($0.load(fromByteOffset: index * 4, as: Int32.self)) }
    }

    /// Returns the byte offset of the plane's first row in the buffer.
    public func offset(plane index: Int) -> Int {
        withUnsafeBytes(of: raw.offset) { Int($0.load(fromByteOffset: index * 8, as: gsize.self)) }
    }

    /// The caps that describe this format, without its memory layout.
    public var caps: Caps {
        var info = raw
        return Caps(taking: gst_video_info_to_caps(&info))
    }

    /// Whether two formats and their memory layouts are equal (`gst_video_info_is_equal`).
    public static func == (a: VideoInfo, b: VideoInfo) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_video_info_is_equal(&x, &y) != 0
    }
}

extension VideoInfo {
    /// Returns this format with another pixel format and size. The frame rate and the interlace mode are kept. The
    /// colorimetry is kept if both pixel formats are YUV or both are RGB; otherwise only its primaries and transfer
    /// function are. The pixel aspect ratio is kept unless `squarePixels` is true. Returns `nil` if GStreamer refuses
    /// the size.
    public func converted(to format: VideoFormat, size: (width: Int, height: Int), squarePixels: Bool = false)
        -> VideoInfo?
    {
        // The converter refuses to change the interlace mode.
        guard var result = VideoInfo(format, raw.interlace_mode, size.width, size.height, framesPerSecond) else {
            return nil
        }
        if isYUV == format.isYUV {
            // With another range or matrix the converter would change the component values.
            result.raw.colorimetry = raw.colorimetry
            result.raw.chroma_site = raw.chroma_site
        } else {
            result.raw.colorimetry.primaries = raw.colorimetry.primaries
            result.raw.colorimetry.transfer = raw.colorimetry.transfer
        }
        result.raw.ABI.abi.field_order = raw.ABI.abi.field_order
        result.raw.flags = raw.flags
        if !squarePixels { result.pixelAspectRatio = pixelAspectRatio }
        return result
    }
}

extension VideoInfo {
    /// Returns this format with a memory layout that has at least `padding` unused pixels at the end of each row; `nil`
    /// if GStreamer refuses it.
    public func padded(byPixels padding: Int) -> VideoInfo? {
        var (info, alignment) = (raw, GstVideoAlignment())
        gst_video_alignment_reset(&alignment)
        alignment.padding_right = guint(padding)
        return gst_video_info_align(&info, &alignment) != 0 ? VideoInfo(info) : nil
    }
}
