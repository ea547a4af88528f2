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

/// A fraction of two integers (`GstFraction`). Equality compares numerators and denominators: 1/2 isn't equal to 2/4.
public struct Fraction: Sendable, Hashable, CustomStringConvertible {
    /// The numerator.
    public var numerator: Int32
    /// The denominator.
    public var denominator: Int32

    /// Creates a fraction, without reducing it.
    public init(_ numerator: Int32, _ denominator: Int32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The fraction as a floating-point number; 0 if the denominator is 0.
    public var value: Double { denominator == 0 ? 0 : Double(numerator) / Double(denominator) }
    /// The fraction as in caps, such as "30/1".
    public var description: String { "\(numerator)/\(denominator)" }
}

/// The mapping from component values to colors (`GstVideoColorimetry`).
public struct Colorimetry: Sendable, Equatable, CustomStringConvertible {
    package var raw: GstVideoColorimetry

    package init(_ raw: GstVideoColorimetry) { self.raw = raw }

    /// The range of component values.
    public enum Range: Sendable {
        /// 0 to 255, for 8 bits.
        case full
        /// 16 to 235 (chroma: to 240), for 8 bits.
        case limited
        /// Not known.
        case unknown
    }

    /// The range of component values. If caps have no colorimetry, GStreamer assumes limited range for YUV.
    public var range: Range {
        get {
            switch raw.range {
            case GST_VIDEO_COLOR_RANGE_0_255: .full
            case GST_VIDEO_COLOR_RANGE_16_235: .limited
            default: .unknown
            }
        }
        set {
            switch newValue {
            case .full: raw.range = GST_VIDEO_COLOR_RANGE_0_255
            case .limited: raw.range = GST_VIDEO_COLOR_RANGE_16_235
            case .unknown: raw.range = GST_VIDEO_COLOR_RANGE_UNKNOWN
            }
        }
    }

    /// A matrix for the conversion between RGB and YUV.
    public enum Matrix: Sendable {
        /// The identity matrix, for RGB.
        case rgb
        /// ITU-R BT.601.
        case bt601
        /// ITU-R BT.709.
        case bt709
        /// ITU-R BT.2020.
        case bt2020
        /// The matrix of the FCC's 1953 NTSC standard.
        case fcc
        /// SMPTE 240M.
        case smpte240m
        /// Not known.
        case unknown
    }

    /// The matrix for the conversion between RGB and YUV.
    public var matrix: Matrix {
        switch raw.matrix {
        case GST_VIDEO_COLOR_MATRIX_RGB: .rgb
        case GST_VIDEO_COLOR_MATRIX_BT601: .bt601
        case GST_VIDEO_COLOR_MATRIX_BT709: .bt709
        case GST_VIDEO_COLOR_MATRIX_BT2020: .bt2020
        case GST_VIDEO_COLOR_MATRIX_FCC: .fcc
        case GST_VIDEO_COLOR_MATRIX_SMPTE240M: .smpte240m
        default: .unknown
        }
    }

    /// The colorimetry as in caps, such as "bt709" or "1:4:0:0".
    public var description: String {
        var copy = raw
        return takeString(gst_video_colorimetry_to_string(&copy)) ?? "unknown"
    }

    /// Whether all fields are equal (`gst_video_colorimetry_is_equal`).
    public static func == (a: Colorimetry, b: Colorimetry) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_video_colorimetry_is_equal(&x, &y) != 0
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

extension Fraction: ValueConvertible {
    /// `GST_TYPE_FRACTION`.
    public static var gtype: GType { gst_fraction_get_type() }

    /// Reads the fraction from a value; `nil` if the value has another type.
    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { Fraction(gst_value_get_fraction_numerator($0), gst_value_get_fraction_denominator($0)) }
    }

    /// Writes the fraction to a value of the type `gtype`.
    public func store(in value: inout Value) { gst_value_set_fraction(&value.raw, numerator, denominator) }
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
