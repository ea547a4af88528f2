import GStreamer

/// How large a pipe delivers frames: at most this height, before rotation.
///
/// Behind a session the session scales, once for all pipes of the process that want the same height, and a pipe has nothing
/// left to do. Of several pipes behind one `tee` the most demanding counts; a stock sink among them, or a handler on the
/// way, gets the stream as it is.
public enum Resolution: Int32, PropertyEnum {
    /// As the stream is.
    case native = 0
    case p90 = 90
    case p180 = 180
    case p360 = 360
    case p720 = 720
    case p1080 = 1080

    public static let typeName = "MediaGraphResolution"

    public var nick: String { self == .native ? "native" : "\(rawValue)p" }

    public var blurb: String { self == .native ? "As the stream is, no scaling" : "At most \(rawValue) lines" }

    /// From what crosses between copies of the code; throws where it is none.
    init(checking number: Int32) throws(MediaGraphError) {
        guard let resolution = Resolution(rawValue: number) else {
            throw .invalidParameter(
                .init(
                    "resolution", expected: "one of \(Resolution.allCases.map(\.nick).joined(separator: ", "))",
                    actual: "\(number)"))
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
