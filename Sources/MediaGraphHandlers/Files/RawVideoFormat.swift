import GStreamer
import MediaGraphCore

/// What a file of packed frames has no header for: size, format, range and rate, as a handler's options say.
struct RawVideoFormat: Sendable {
    let width: Int
    let height: Int
    let format: FrameFormat
    let framesPerSecond: Fraction

    var frameLength: Int { format.pixelFormat.packedLength(width: width, height: height) }

    static let options = [
        HandlerOption("width", example: "1280", "pixels in a row"),
        HandlerOption("height", example: "720", "rows"),
        HandlerOption("format", default: "I420", "pixel format: I420, NV12, NV21, I422, BGRA, RGBA, …"),
        HandlerOption("range", default: "limited", "luma and chroma range: limited (16 to 235) or full"),
        HandlerOption("fps", default: "30", "frames per second, such as 30 or 30000/1001"),
    ]

    private enum Range: String, CaseIterable { case limited, full }

    init(_ options: HandlerOptions) throws(MediaGraphError) {
        for size in ["width", "height"] { _ = try options.string(size) }
        width = try options.int("width", in: 1...16384, default: 0)
        height = try options.int("height", in: 1...16384, default: 0)
        let name = options.string("format", default: "I420")
        guard let pixelFormat = PipeFormat.allCases.first(where: { $0.nick == name && $0 != .auto })?.format else {
            let known = PipeFormat.allCases.filter { $0.format != nil }.map(\.nick).joined(separator: ", ")
            throw options.wrong("format", "one of \(known)", name)
        }
        format = FrameFormat(
            pixelFormat, range: try options.choice("range", default: Range.limited) == .full ? .full : .limited)
        framesPerSecond = try options.fraction("fps", default: Fraction(30, 1))
    }
}
