import CGStreamer
import CMediaGraphABI
import GStreamer

/// A frame size and a frame rate.
public struct VideoCapability: Sendable, Hashable, CustomStringConvertible {
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int
    /// Frames per second.
    public var framesPerSecond: Fraction

    /// Creates a capability from a size in pixels and a frame rate.
    public init(width: Int, height: Int, framesPerSecond: Fraction) {
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
    }

    /// The size and rate as text, such as `1280×720@30/1`.
    public var description: String { "\(width)×\(height)@\(framesPerSecond)" }
}

extension VideoCapability: PropertyString {
    package static let expected = "a size and rate such as 1280x720@30 or 1920x1080@30000/1001"
    private static let largestSide = 16384

    /// Reads a size and rate as descriptions write them, such as `1280x720@30`; `nil` for other text, for a width or
    /// height of 0 or more than 16384 pixels, and for a rate of 0.
    public init?(text: String) {
        guard let match = text.wholeMatch(of: /(\d+)x(\d+)@(\d+)(?:\/(\d+))?/), let width = Int(match.1),
            let height = Int(match.2), let rate = Int32(match.3), let divisor = Int32(match.4 ?? "1"),
            (1...Self.largestSide).contains(width), (1...Self.largestSide).contains(height), rate > 0, divisor > 0
        else { return nil }
        self.init(width: width, height: height, framesPerSecond: Fraction(rate, divisor))
    }

    /// The error message for text that isn't a valid size and rate.
    public static var conversionFailure: String { "expected \(expected)" }

    /// The size and rate as descriptions write them, such as `1280x720@30`.
    public var text: String {
        let rate = framesPerSecond.denominator == 1 ? "\(framesPerSecond.numerator)" : "\(framesPerSecond)"
        return "\(width)x\(height)@\(rate)"
    }
}

/// The pixel format and color range of a frame to send.
public struct FrameFormat: Sendable, Hashable {
    /// The pixel format.
    public var pixelFormat: VideoFormat
    /// The color range: full (0…255) or limited (16…235). RGB is always full.
    public var range: Colorimetry.Range

    /// Creates a frame format. `range` is ignored unless the pixel format is YUV.
    public init(_ pixelFormat: VideoFormat, range: Colorimetry.Range = .full) {
        self.pixelFormat = pixelFormat
        self.range = pixelFormat.isYUV ? range : .full
    }

    /// Full-range I420, the SDKs' default.
    public static let i420 = FrameFormat(.i420)
    /// Limited-range I420, which cameras and video files use.
    public static let i420Limited = FrameFormat(.i420, range: .limited)

    /// `nil` if the nodes don't carry the pixel format.
    package init?(_ frame: MGOutgoingFrame) {
        guard let pixelFormat = VideoFormat(frame.format) else { return nil }
        self.init(pixelFormat, range: frame.range == GST_VIDEO_COLOR_RANGE_16_235 ? .limited : .full)
    }
}

/// Describes a frame to send: everything but its bytes.
public struct FrameDescription: Sendable, Hashable {
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int
    /// The pixel format and color range.
    public var format: FrameFormat
    /// The clockwise rotation that shows the frame upright.
    public var rotation: Rotation
    /// The nominal frame rate for the caps; `nil` for a variable rate.
    public var framesPerSecond: Fraction?
    /// The width of a pixel divided by its height.
    public var pixelAspectRatio: Fraction
    /// The running time at which to show the frame; `nil` for the time of its arrival.
    public var timestamp: ClockTime?

    /// Creates a description. By default the frame is full-range I420, upright, has square pixels and a variable rate,
    /// and is shown when it arrives.
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
