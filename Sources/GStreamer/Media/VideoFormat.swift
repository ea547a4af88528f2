import CGStreamer

/// The raw video formats that the nodes support, with 8 bits per component. The cases are named as in conferencing
/// SDKs; the raw values are GStreamer's names in caps.
public enum VideoFormat: String, Sendable, CaseIterable, Hashable {
    /// YUV 4:2:0 in three planes.
    case i420 = "I420"
    /// YUV 4:2:0 in two planes: Y, and interleaved UV.
    case nv12 = "NV12"
    /// YUV 4:2:0 in two planes: Y, and interleaved VU.
    case nv21 = "NV21"
    /// YUV 4:2:2 in three planes.
    case i422 = "Y42B"
    /// Packed blue, green, red and alpha.
    case bgra = "BGRA"
    /// Packed red, green, blue and alpha.
    case rgba = "RGBA"
    /// Packed alpha, red, green and blue.
    case argb = "ARGB"
    /// Packed alpha, blue, green and red.
    case abgr = "ABGR"
    /// Packed red, green and blue.
    case rgb24 = "RGB"
    /// Packed blue, green and red.
    case bgr24 = "BGR"
    /// YUV 4:2:0 in three planes, and alpha in a fourth.
    case a420 = "A420"

    /// The format's name in caps.
    public var gstreamerName: String { rawValue }

    @inlinable
    package var raw: GstVideoFormat {
        switch self {
        case .i420: GST_VIDEO_FORMAT_I420
        case .nv12: GST_VIDEO_FORMAT_NV12
        case .nv21: GST_VIDEO_FORMAT_NV21
        case .i422: GST_VIDEO_FORMAT_Y42B
        case .bgra: GST_VIDEO_FORMAT_BGRA
        case .rgba: GST_VIDEO_FORMAT_RGBA
        case .argb: GST_VIDEO_FORMAT_ARGB
        case .abgr: GST_VIDEO_FORMAT_ABGR
        case .rgb24: GST_VIDEO_FORMAT_RGB
        case .bgr24: GST_VIDEO_FORMAT_BGR
        case .a420: GST_VIDEO_FORMAT_A420
        }
    }

    @inlinable
    package init?(_ raw: GstVideoFormat) {
        switch raw {
        case GST_VIDEO_FORMAT_I420: self = .i420
        case GST_VIDEO_FORMAT_NV12: self = .nv12
        case GST_VIDEO_FORMAT_NV21: self = .nv21
        case GST_VIDEO_FORMAT_Y42B: self = .i422
        case GST_VIDEO_FORMAT_BGRA: self = .bgra
        case GST_VIDEO_FORMAT_RGBA: self = .rgba
        case GST_VIDEO_FORMAT_ARGB: self = .argb
        case GST_VIDEO_FORMAT_ABGR: self = .abgr
        case GST_VIDEO_FORMAT_RGB: self = .rgb24
        case GST_VIDEO_FORMAT_BGR: self = .bgr24
        case GST_VIDEO_FORMAT_A420: self = .a420
        default: return nil
        }
    }

    /// Whether the components are luma and chroma, instead of red, green and blue.
    public var isYUV: Bool {
        switch self {
        case .i420, .nv12, .nv21, .i422, .a420: true
        case .bgra, .rgba, .argb, .abgr, .rgb24, .bgr24: false
        }
    }

    /// Whether the format has an alpha component.
    public var hasAlpha: Bool {
        switch self {
        case .bgra, .rgba, .argb, .abgr, .a420: true
        default: false
        }
    }

    /// The planes in memory order.
    public var planes: [Plane] {
        switch self {
        case .i420, .i422: [.y, .u, .v]
        case .a420: [.y, .u, .v, .alpha]
        case .nv12, .nv21: [.y, .uv]
        case .bgra, .rgba, .argb, .abgr, .rgb24, .bgr24: [.packed]
        }
    }

    /// A plane of a frame.
    public enum Plane: String, Sendable, CaseIterable {
        /// Luma.
        case y
        /// The blue-difference chroma.
        case u
        /// The red-difference chroma.
        case v
        /// Both chroma components, interleaved as UV; as VU in NV21.
        case uv
        /// All components of each pixel side by side.
        case packed
        /// Alpha.
        case alpha
    }

    /// Returns the plane's index in memory order; `nil` if the format doesn't have this plane.
    @inlinable
    public func index(of plane: Plane) -> Int? {
        switch (self, plane) {
        case (.i420, .y), (.i422, .y), (.a420, .y), (.nv12, .y), (.nv21, .y): 0
        case (.i420, .u), (.i422, .u), (.a420, .u), (.nv12, .uv), (.nv21, .uv): 1
        case (.i420, .v), (.i422, .v), (.a420, .v): 2
        case (.a420, .alpha): 3
        case (.bgra, .packed), (.rgba, .packed), (.argb, .packed), (.abgr, .packed), (.rgb24, .packed),
            (.bgr24, .packed):
            0
        default: nil
        }
    }

    /// Returns the bytes from one pixel to the next in a row of the plane.
    @inlinable
    public func pixelStride(of plane: Plane) -> Int {
        switch (self, plane) {
        case (.nv12, .uv), (.nv21, .uv): 2
        case (.rgb24, _), (.bgr24, _): 3
        case (.bgra, _), (.rgba, _), (.argb, _), (.abgr, _): 4
        default: 1
        }
    }

    /// Returns the plane's size in pixels in a frame of this size. The size of subsampled chroma is rounded up.
    @inlinable
    public func size(of plane: Plane, width: Int, height: Int) -> (width: Int, height: Int) {
        switch (self, plane) {
        case (.i420, .u), (.i420, .v), (.a420, .u), (.a420, .v), (.nv12, .uv), (.nv21, .uv):
            ((width + 1) / 2, (height + 1) / 2)
        case (.i422, .u), (.i422, .v): ((width + 1) / 2, height)
        default: (width, height)
        }
    }

    /// Returns the bytes of a frame without any padding. For I420 of even size that is `width * height * 3 / 2`.
    public func packedLength(width: Int, height: Int) -> Int {
        planes.reduce(0) { sum, plane in
            let size = size(of: plane, width: width, height: height)
            return sum + size.width * pixelStride(of: plane) * size.height
        }
    }
}
