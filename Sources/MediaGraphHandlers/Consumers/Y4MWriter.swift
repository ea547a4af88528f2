import GStreamer
import MediaGraphCore

/// Writes a YUV4MPEG2 file: `rawdatapipe handler=y4m options="location=out.y4m"`.
///
/// I420, or with `format=I422` 4:2:2, as it comes: the header says where chroma lies (`C420jpeg`, `C420mpeg2`,
/// `C420paldv`), the pixel aspect and the range. A stream of variable rate gets `F0:0`. What can't be said in one header is
/// refused: interlaced video, and a change of size, aspect or range midway, are `unsupported` errors. A file that can't be
/// written is `invalidParameter` at the start, a write that fails later `processingFailed`.
///
/// The header has one rate, so the file keeps to it: where frames are missing the one before is repeated, and where there are
/// too many some are left out. How many is told at the end.
///
/// The file is complete at the end of the stream, and whenever the graph stops.
struct Y4MWriter: VideoConsumer, NamedHandler {
    static let name = "y4m"
    static let summary = "Writes a YUV4MPEG2 file"
    static let options = [
        HandlerOption("location", example: "out.y4m", isOutput: true, "the file, or - for standard output")
    ]
    static let formats = [VideoFormat.i420, .i422]

    private let file: ByteWriter
    private var header: Y4MHeader?
    private var pace = ConstantRate(Fraction(0, 1))
    /// The last frame in the file, on its own buffer.
    private var last: OwnedVideoFrame?

    init(options: HandlerOptions) throws {
        file = try ByteWriter(path: options.string("location"), option: "option location of y4m")
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        var current = Y4MHeader(frame)
        if let header {
            // The rate may change: the file goes on at the first one, as it must.
            current.rate = header.rate
            guard current == header else {
                throw MediaGraphError.unsupported(
                    .init(file.name, expected: "frames as its header says, \(header.text)", actual: current.text))
            }
        } else {
            guard !frame.info.isInterlaced else {
                throw MediaGraphError.unsupported(
                    .init(
                        file.name, expected: "progressive video (put deinterlace before the pipe)",
                        actual: "interlaced"))
            }
            try file.write(current.text + "\n")
            header = current
            pace = ConstantRate(current.rate)
        }
        let step = pace.next(at: frame.runningTime)
        for _ in 0..<step.repeats {
            // At its pool's limit the frame before couldn't be kept.
            if let last { try last.withFrame { try write($0) } } else { try write(frame) }
        }
        guard step.isWritten else { return }
        try write(frame)
        last = header?.rate.numerator == 0 ? nil : try? frame.retain()
    }

    private func write(_ frame: borrowing VideoFrame) throws {
        try file.write(Self.frameLine.span)
        try frame.withPackedRows { try file.write($0) }
    }

    var remark: String? {
        guard pace.repeated + pace.leftOut > 0 || pace.skipped > 0, let header else { return nil }
        var text = """
            \(file.name) has \(pace.count) frames at \(header.rate) a second: \(pace.repeated) duplicates fill gaps in the \
            stream, and \(pace.leftOut) surplus frames were dropped
            """
        if pace.skipped > 0 { text += "; gaps of \(Int(pace.skipped.rounded())) s in all were too long to fill" }
        return text
    }

    private static let frameLine = Array("FRAME\n".utf8)

    mutating func finish() throws {
        last = nil
        try file.flush()
    }
}

extension Y4MHeader {
    fileprivate init(_ frame: borrowing VideoFrame) {
        let info = frame.info
        let chroma: Chroma =
            if frame.format == .i422 { .c422 } else {
                switch info.chromaSite {
                case .left: .c420mpeg2
                case .topLeft, .digitalVideo: .c420paldv
                case .center, .unknown: .c420jpeg
                }
            }
        self.init(
            width: info.width, height: info.height, rate: info.framesPerSecond, pixelAspectRatio: info.pixelAspectRatio,
            chroma: chroma, range: frame.colorRange == .full ? .full : .limited)
    }
}
