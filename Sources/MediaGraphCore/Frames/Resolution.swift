import GStreamer

/// The greatest height at which a pipe delivers frames, before rotation. Larger frames are scaled down.
///
/// In a session, the session scales, once for all pipes of the process that want the same height. Behind a `tee`, the
/// largest resolution of all branches counts. If one of the branches ends in a stock sink, or a handler sees the frames
/// before the pipe, the stream arrives at its native size, and the pipe itself scales.
public struct Resolution: Sendable, Hashable, RawRepresentable {
    /// The number of lines; 0 stands for the stream's native height.
    public let rawValue: Int32

    /// Creates a resolution from a number of lines, or from 0 for ``native``; `nil` if the number is negative or above
    /// 32767.
    public init?(rawValue: Int32) {
        guard (0...Self.maximumHeight).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Creates a resolution of at most `height` lines; `nil` if the number isn't from 1 to 32767.
    public init?(height: Int) {
        guard height > 0, let height = Int32(exactly: height) else { return nil }
        self.init(rawValue: height)
    }

    private static let maximumHeight: Int32 = 32767

    private init(lines: Int32) { rawValue = lines }

    /// The stream's native height.
    public static let native = Resolution(lines: 0)
    /// 90 lines.
    public static let p90 = Resolution(lines: 90)
    /// 180 lines.
    public static let p180 = Resolution(lines: 180)
    /// 360 lines.
    public static let p360 = Resolution(lines: 360)
    /// 480 lines.
    public static let p480 = Resolution(lines: 480)
    /// 720 lines.
    public static let p720 = Resolution(lines: 720)
    /// 1080 lines.
    public static let p1080 = Resolution(lines: 1080)

    /// Reads a resolution as descriptions write it: `native`, or a number of lines such as `480p`; `nil` for other
    /// text.
    public init?(text: String) {
        if text == Self.native.text {
            self = .native
            return
        }
        guard text.hasSuffix("p"), let height = Int(text.dropLast()), "\(height)p" == text else { return nil }
        self.init(height: height)
    }

    package static let expected =
        "native, 90p, 180p, 360p, 720p, 1080p, or another number of lines from 1p to 32767p, such as 480p"

    /// Reads a number from another copy of the code. Throws `invalidParameter` if it isn't a valid resolution.
    package init(checking number: Int32) throws(MediaGraphError) {
        guard let resolution = Resolution(rawValue: number) else {
            throw .invalidParameter(.init("resolution", expected: Self.expected, actual: "\(number)"))
        }
        self = resolution
    }

    /// Returns the size to which a frame is scaled. The aspect ratio is kept, pixels become square, and nothing is
    /// enlarged. The width is rounded to the nearest integer; odd widths are allowed.
    public func size(for info: VideoInfo) -> (width: Int, height: Int) {
        guard self != .native else { return (info.width, info.height) }
        var aspect = info.pixelAspectRatio
        if aspect.value <= 0 { aspect = Fraction(1, 1) }
        // Pixels wider than high become square by removing lines: adding columns would enlarge the picture. The number
        // of lines is rounded down for the same reason: in a wide picture, part of a line corresponds to whole columns.
        let tallestWithinWidth = info.height * Int(aspect.denominator) / Int(aspect.numerator)
        let height = max(1, min(Int(rawValue), info.height, tallestWithinWidth))
        // A single division, so that exact halves stay exact and are rounded correctly.
        let width =
            Double(height * info.width) * Double(aspect.numerator) / (Double(info.height) * Double(aspect.denominator))
        // At a height of one line, the aspect ratio could ask for more columns than the stream has.
        return (min(max(1, Int(width.rounded())), info.width), height)
    }
}

extension Resolution: PropertyString {
    /// The error message for text that isn't a valid resolution.
    public static var conversionFailure: String { "expected \(expected)" }
    /// The resolution as descriptions write it: `native`, or the number of lines and `p`, as in `360p`.
    public var text: String { self == .native ? "native" : "\(rawValue)p" }
}
