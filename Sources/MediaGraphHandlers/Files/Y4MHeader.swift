import GStreamer
import MediaGraphCore

/// The first line of a YUV4MPEG2 stream: size, rate, pixel aspect ratio, chroma and range. Progressive video only.
struct Y4MHeader: Equatable, Sendable {
    enum Chroma: String, Sendable, CaseIterable {
        case c420 = "420"
        case c420jpeg = "420jpeg"
        case c420mpeg2 = "420mpeg2"
        case c420paldv = "420paldv"
        case c422 = "422"

        var format: VideoFormat { self == .c422 ? .i422 : .i420 }
    }

    var width: Int
    var height: Int
    /// The rate in frames per second; 0/1 if unknown (`F0:0`).
    var rate: Fraction
    /// The pixel aspect ratio; 1/1 if unknown (`A0:0`).
    var pixelAspectRatio = Fraction(1, 1)
    var chroma = Chroma.c420jpeg
    /// The range; limited if the header contains none.
    var range = Colorimetry.Range.limited

    static let magic = "YUV4MPEG2"
    /// The longest first line in bytes. A file with a longer one isn't YUV4MPEG2.
    static let lengthLimit = 1024

    var format: FrameFormat { FrameFormat(chroma.format, range: range) }
    var frameLength: Int { chroma.format.packedLength(width: width, height: height) }

    /// The line as written, without its line break.
    var text: String {
        let (rate, aspect) = (rate, pixelAspectRatio)
        let frames = rate.numerator > 0 ? "\(rate.numerator):\(rate.denominator)" : "0:0"
        return """
            \(Self.magic) W\(width) H\(height) F\(frames) Ip A\(aspect.numerator):\(aspect.denominator) \
            C\(chroma.rawValue) XCOLORRANGE=\(range == .full ? "FULL" : "LIMITED")
            """
    }
}

extension Y4MHeader {
    /// Parses the line. Throws `unsupported` for files that can't be played; `name` is the file's name for the error.
    init(parsing line: String, name: String) throws(MediaGraphError) {
        let fields = line.split(separator: " ")
        guard fields.first == Self.magic[...] else {
            throw .unsupported(
                .init(name, actual: "isn't a YUV4MPEG2 file; to play another kind of file, use filesrc ! decodebin"))
        }
        var size: (width: Int?, height: Int?)
        self.init(width: 0, height: 0, rate: Fraction(0, 1))
        for field in fields.dropFirst() {
            let value = field.dropFirst()
            switch field.first {
            case "W": size.width = Int(value)
            case "H": size.height = Int(value)
            case "F": rate = try Self.ratio(value, field, name) ?? rate
            case "A": pixelAspectRatio = try Self.ratio(value, field, name) ?? pixelAspectRatio
            case "I":
                guard value == "p" || value == "?" else {
                    throw .unsupported(
                        .init(
                            name,
                            actual: "interlaced video (\(field)) isn't supported; "
                                + "convert it: ffmpeg -i \(name) -vf yadif new.y4m"))
                }
            case "C":
                guard let known = Chroma(rawValue: String(value)) else {
                    let names = Chroma.allCases.map { "C\($0.rawValue)" }.joined(separator: ", ")
                    throw .unsupported(
                        .init(
                            name,
                            actual: "the pixel format \(field) isn't supported, only \(names); "
                                + "convert it: ffmpeg -i \(name) -pix_fmt yuv420p new.y4m"))
                }
                chroma = known
            case "X" where value == "COLORRANGE=FULL": range = .full
            case "X" where value == "COLORRANGE=LIMITED": range = .limited
            // Ignore comments, and fields that later versions may add.
            default: break
            }
        }
        guard let width = size.width, let height = size.height, 1...16384 ~= width, 1...16384 ~= height else {
            throw .unsupported(
                .init(name, expected: "a header with W and H from 1 to 16384", actual: "\"\(line.prefix(100))\""))
        }
        (self.width, self.height) = (width, height)
    }

    /// Returns the ratio of a field; `nil` for 0:0, which means unknown.
    private static func ratio(
        _ value: Substring, _ field: Substring, _ name: String
    ) throws(MediaGraphError) -> Fraction? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Int32($0) }
        guard parts.count == 2, let numerator = parts[0], let denominator = parts[1], numerator >= 0, denominator >= 0
        else {
            throw .unsupported(.init(name, expected: "a ratio such as \(field.prefix(1))30:1", actual: "\(field)"))
        }
        return numerator > 0 && denominator > 0 ? Fraction(numerator, denominator) : nil
    }
}
