import CGStreamer

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
