import GStreamer

/// How large a pipe delivers frames: at most this height, before rotation.
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
        let pixelAspect = info.pixelAspectRatio.value > 0 ? info.pixelAspectRatio.value : 1
        let displayAspect = Double(info.width) * pixelAspect / Double(info.height)
        // Wide pixels are made square by fewer lines, not by more columns: that would enlarge.
        let tallestWithinWidth = Double(info.width) / displayAspect
        let height = min(Double(rawValue), Double(info.height), tallestWithinWidth).rounded()
        let width = (height * displayAspect).rounded()
        return (max(1, Int(width)), max(1, Int(height)))
    }
}
