import CGStreamer
import CMediaGraphABI
import GStreamer

/// A size and a rate of video.
public struct VideoCapability: Sendable, Hashable, CustomStringConvertible {
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int
    /// The rate.
    public var framesPerSecond: Fraction

    /// A size in pixels and a rate.
    public init(width: Int, height: Int, framesPerSecond: Fraction) {
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
    }

    /// Such as `1280×720@30/1`.
    public var description: String { "\(width)×\(height)@\(framesPerSecond)" }
}

/// How the bytes of a sent frame lie and what they mean.
public struct FrameFormat: Sendable, Hashable {
    /// How the bytes of a frame are laid out.
    public var pixelFormat: VideoFormat
    /// Full (0…255) or limited (16…235). RGB is always full.
    public var range: Colorimetry.Range

    /// A format; `range` counts for YUV only.
    public init(_ pixelFormat: VideoFormat, range: Colorimetry.Range = .full) {
        self.pixelFormat = pixelFormat
        self.range = pixelFormat.isYUV ? range : .full
    }

    /// Full-range I420: what the SDKs send unless told otherwise.
    public static let i420 = FrameFormat(.i420)
    /// Limited-range I420: what cameras and video files have.
    public static let i420Limited = FrameFormat(.i420, range: .limited)

    /// `nil` if handlers don't support the pixel format.
    package init?(_ frame: MGOutgoingFrame) {
        guard let pixelFormat = VideoFormat(frame.format) else { return nil }
        self.init(pixelFormat, range: frame.range == GST_VIDEO_COLOR_RANGE_16_235 ? .limited : .full)
    }
}

/// Everything about a sent frame but its bytes.
public struct FrameDescription: Sendable, Hashable {
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int
    /// What the bytes are.
    public var format: FrameFormat
    /// How far to turn the frame, clockwise, to show it upright.
    public var rotation: Rotation
    /// Nominal rate for the caps; `nil` for a variable one.
    public var framesPerSecond: Fraction?
    /// Width of a pixel by its height.
    public var pixelAspectRatio: Fraction
    /// Running time; `nil` takes the time of arrival.
    public var timestamp: ClockTime?

    /// A frame of full-range I420 unless `format` is given, upright, with square pixels, of a variable rate and to be
    /// shown when it arrives.
    public init(
        width: Int, height: Int, format: FrameFormat = .i420, rotation: Rotation = .none,
        framesPerSecond: Fraction? = nil, pixelAspectRatio: Fraction = Fraction(1, 1), timestamp: ClockTime? = nil
    ) {
        self.width = width
        self.height = height
        self.format = format
        self.rotation = rotation
        self.framesPerSecond = framesPerSecond
        self.pixelAspectRatio = pixelAspectRatio
        self.timestamp = timestamp
    }
}
