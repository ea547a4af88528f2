import GStreamer

/// How large a pipe delivers frames: at most this height, before rotation.
///
/// Behind a session the session scales, once for all pipes of the process that want the same height, and a pipe has nothing
/// left to do. Of several pipes behind one `tee` the most demanding counts; a stock sink among them, or a handler on the
/// way, gets the stream as it is.
public struct Resolution: Sendable, Hashable, RawRepresentable {
    /// The number of lines; 0 is the stream's own.
    public let rawValue: Int32

    /// `nil` for less than 0 and for more lines than raw video can have.
    public init?(rawValue: Int32) {
        guard (0...Self.maximumHeight).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// At most so many lines, from 1 to 32767; `nil` for another number.
    public init?(height: Int) {
        guard height > 0, let height = Int32(exactly: height) else { return nil }
        self.init(rawValue: height)
    }

    private static let maximumHeight: Int32 = 32767

    private init(lines: Int32) { rawValue = lines }

    /// As the stream is.
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

    /// From a description: `native`, or a number of lines as in `480p`.
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

    /// From what crosses between copies of the code; throws where it is none.
    package init(checking number: Int32) throws(MediaGraphError) {
        guard let resolution = Resolution(rawValue: number) else {
            throw .invalidParameter(.init("resolution", expected: Self.expected, actual: "\(number)"))
        }
        self = resolution
    }

    /// The size that a frame of `info` gets: the aspect is kept, pixels become square, nothing is enlarged, and the width
    /// is the nearest to the true one (odd is legal).
    public func size(for info: VideoInfo) -> (width: Int, height: Int) {
        guard self != .native else { return (info.width, info.height) }
        var aspect = info.pixelAspectRatio
        if aspect.value <= 0 { aspect = Fraction(1, 1) }
        // Wide pixels are made square by fewer lines, not by more columns: that would enlarge. Rounded down for the same
        // reason: a part of a line is columns in a wide picture.
        let tallestWithinWidth = info.height * Int(aspect.denominator) / Int(aspect.numerator)
        let height = max(1, min(Int(rawValue), info.height, tallestWithinWidth))
        // One division, so that what is half a column is seen to be that.
        let width =
            Double(height * info.width) * Double(aspect.numerator) / (Double(info.height) * Double(aspect.denominator))
        // A single line is wide enough as the stream has it.
        return (min(max(1, Int(width.rounded())), info.width), height)
    }
}

extension Resolution: PropertyString {
    /// The error message for text that isn't a valid resolution.
    public static var conversionFailure: String { "expected \(expected)" }
    /// As descriptions write it: `native`, or the lines and `p`, as in `360p`.
    public var text: String { self == .native ? "native" : "\(rawValue)p" }
}
