import CGStreamer

/// Everything that caps say about raw video.
///
/// `@unchecked Sendable`: a value; its one pointer is to GStreamer's constant table of formats.
public struct VideoInfo: @unchecked Sendable, Equatable {
    @usableFromInline package var raw: GstVideoInfo

    package init(_ raw: GstVideoInfo) { self.raw = raw }

    /// From fixed `video/x-raw` caps in system memory layout; `nil` for anything else.
    public init?(_ caps: Caps) {
        var info = GstVideoInfo()
        guard gst_video_info_from_caps(&info, caps.raw) != 0 else { return nil }
        raw = info
    }

    /// Square pixels, progressive, GStreamer's default layout. `nil` when GStreamer refuses the size.
    public init?(_ format: VideoFormat, width: Int, height: Int, framesPerSecond: Fraction = Fraction(0, 1)) {
        var info = GstVideoInfo()
        guard width > 0, height > 0, width <= Int(Int32.max), height <= Int(Int32.max),
            gst_video_info_set_format(&info, format.raw, guint(width), guint(height)) != 0
        else { return nil }
        info.fps_n = framesPerSecond.numerator
        info.fps_d = framesPerSecond.denominator
        raw = info
    }

    public var width: Int { Int(raw.width) }
    public var height: Int { Int(raw.height) }
    /// Bytes of a buffer in GStreamer's default layout.
    public var size: Int { Int(raw.size) }
    /// `nil` for a format that the nodes don't carry; `formatName` names it.
    public var format: VideoFormat? { VideoFormat(raw.finfo.pointee.format) }
    public var formatName: String { String(cString: raw.finfo.pointee.name) }
    /// Luma and chroma rather than red, green and blue.
    public var isYUV: Bool { raw.finfo.pointee.flags.rawValue & GST_VIDEO_FORMAT_FLAG_YUV.rawValue != 0 }
    public var hasAlpha: Bool { raw.finfo.pointee.flags.rawValue & GST_VIDEO_FORMAT_FLAG_ALPHA.rawValue != 0 }
    /// Bits of alpha; 0 without.
    public var alphaDepth: Int { hasAlpha ? Int(raw.finfo.pointee.depth.3) : 0 }
    public var framesPerSecond: Fraction {
        get { Fraction(raw.fps_n, raw.fps_d) }
        set { (raw.fps_n, raw.fps_d) = (newValue.numerator, newValue.denominator) }
    }
    public var pixelAspectRatio: Fraction {
        get { Fraction(raw.par_n, raw.par_d) }
        set { (raw.par_n, raw.par_d) = (newValue.numerator, newValue.denominator) }
    }
    public var isInterlaced: Bool { raw.interlace_mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE }
    /// Each buffer holds one field only (`interlace-mode=alternate`).
    public var isFieldPerBuffer: Bool { raw.interlace_mode == GST_VIDEO_INTERLACE_MODE_ALTERNATE }

    /// Range, matrix, transfer and primaries.
    public var colorimetry: Colorimetry {
        get { Colorimetry(raw.colorimetry) }
        set { raw.colorimetry = newValue.raw }
    }

    /// Where chroma samples lie among the luma samples.
    public enum ChromaSite: Sendable { case center, left, topLeft, digitalVideo, unknown }

    public var chromaSite: ChromaSite {
        switch raw.chroma_site {
        case GST_VIDEO_CHROMA_SITE_NONE: .center
        case GST_VIDEO_CHROMA_SITE_H_COSITED: .left
        case GST_VIDEO_CHROMA_SITE_COSITED: .topLeft
        case GST_VIDEO_CHROMA_SITE_DV: .digitalVideo
        default: .unknown
        }
    }

    public func stride(plane index: Int) -> Int {
        withUnsafeBytes(of: raw.stride) { Int($0.load(fromByteOffset: index * 4, as: Int32.self)) }
    }

    public func offset(plane index: Int) -> Int {
        withUnsafeBytes(of: raw.offset) { Int($0.load(fromByteOffset: index * 8, as: gsize.self)) }
    }

    public var caps: Caps {
        var info = raw
        return Caps(taking: gst_video_info_to_caps(&info))
    }

    public static func == (a: VideoInfo, b: VideoInfo) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_video_info_is_equal(&x, &y) != 0
    }
}

/// A ratio of whole numbers, as caps write it.
public struct Fraction: Sendable, Hashable, CustomStringConvertible {
    public var numerator: Int32
    public var denominator: Int32

    public init(_ numerator: Int32, _ denominator: Int32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    public var value: Double { denominator == 0 ? 0 : Double(numerator) / Double(denominator) }
    public var description: String { "\(numerator)/\(denominator)" }
}

/// How numbers stand for colours (`GstVideoColorimetry`).
public struct Colorimetry: Sendable, Equatable, CustomStringConvertible {
    package var raw: GstVideoColorimetry

    package init(_ raw: GstVideoColorimetry) { self.raw = raw }

    public enum Range: Sendable { case full, limited, unknown }

    /// Full (0…255) or limited (16…235) range. In caps without colorimetry GStreamer means limited for YUV.
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

    public enum Matrix: Sendable { case rgb, bt601, bt709, bt2020, fcc, smpte240m, unknown }

    /// The matrix between RGB and YUV.
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

    /// As caps write it, such as "bt709" or "1:4:0:0".
    public var description: String {
        var copy = raw
        return takeString(gst_video_colorimetry_to_string(&copy)) ?? "unknown"
    }

    public static func == (a: Colorimetry, b: Colorimetry) -> Bool {
        var (x, y) = (a.raw, b.raw)
        return gst_video_colorimetry_is_equal(&x, &y) != 0
    }
}

extension VideoInfo {
    /// The same video in another format and size: rate, interlacing and, within YUV, colorimetry stay.
    public func converted(to format: VideoFormat, size: (width: Int, height: Int), squarePixels: Bool = false)
        -> VideoInfo?
    {
        guard var result = VideoInfo(format, width: size.width, height: size.height, framesPerSecond: framesPerSecond)
        else { return nil }
        if isYUV == format.isYUV {
            // The converter refuses to change interlacing, and would shift colours if range or matrix changed.
            result.raw.colorimetry = raw.colorimetry
            result.raw.chroma_site = raw.chroma_site
        } else {
            result.raw.colorimetry.primaries = raw.colorimetry.primaries
            result.raw.colorimetry.transfer = raw.colorimetry.transfer
        }
        result.raw.interlace_mode = raw.interlace_mode
        result.raw.flags = raw.flags
        if !squarePixels { result.pixelAspectRatio = pixelAspectRatio }
        return result
    }
}

extension Fraction: ValueConvertible {
    public static var gtype: GType { gst_fraction_get_type() }

    public init?(_ value: borrowing Value) {
        guard value.holds(Self.gtype) else { return nil }
        self = value.read { Fraction(gst_value_get_fraction_numerator($0), gst_value_get_fraction_denominator($0)) }
    }

    public func store(in value: inout Value) { gst_value_set_fraction(&value.raw, numerator, denominator) }
}

extension VideoInfo {
    /// The same picture in memory that has room for so many more pixels at the end of each row. `nil` when GStreamer
    /// refuses.
    public func padded(byPixels padding: Int) -> VideoInfo? {
        var (info, alignment) = (raw, GstVideoAlignment())
        gst_video_alignment_reset(&alignment)
        alignment.padding_right = guint(padding)
        return gst_video_info_align(&info, &alignment) != 0 ? VideoInfo(info) : nil
    }
}
