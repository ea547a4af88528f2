import GStreamer
import MediaGraphCore

/// Writes a YUV4MPEG2 file: `rawdatapipe handler=y4m options="location=out.y4m"`.
///
/// Frames are I420, or 4:2:2 with `format=I422`. The header contains the chroma position (`C420jpeg`, `C420mpeg2`,
/// `C420paldv`), the pixel aspect ratio and the range. For a stream of variable rate it contains `F0:0`. Throws
/// `unsupported` for video that one header can't describe: interlaced video, and changes of size, aspect ratio or
/// range. Throws `invalidParameter` at the start if the file can't be written, and `processingFailed` if a later write
/// fails.
///
/// The file has one constant rate, that of the header: the previous frame is repeated where frames are missing, and
/// surplus frames are dropped. A warning at the end gives their numbers. A rate of more than 240 frames a second is the
/// clock of the stream's timestamps, such as 1000 or 90000, and counts as variable.
///
/// The file is complete when the stream ends or the graph stops.
struct Y4MWriter: VideoConsumer, NamedHandler, InterruptibleHandler {
    static let name = "y4m"
    static let summary = "Writes a YUV4MPEG2 file"
    static let options = [
        HandlerOption("location", example: "out.y4m", isOutput: true, "the file, or - for standard output")
    ]
    static let formats = [VideoFormat.i420, .i422]

    let interruption = Interruption()
    private let file: ByteWriter
    private var header: Y4MHeader?
    private var pace = ConstantRate(Fraction(0, 1))
    /// The last frame in the file; the handler holds its buffer.
    private var last: OwnedVideoFrame?

    init(options: HandlerOptions) throws {
        file = try ByteWriter(
            path: options.string("location"), option: "option location of y4m", interruption: interruption)
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        var current = Y4MHeader(frame)
        if let header {
            // The rate may change. The file keeps the first one, since it has one header.
            current.rate = header.rate
            guard current == header else {
                throw MediaGraphError.unsupported(
                    .init(
                        file.name,
                        actual:
                            "the frames change from \(header.text) to \(current.text), but the file has one header; "
                            + "put videoconvert ! videoscale and a caps filter before the pipe"))
            }
        } else {
            guard !frame.info.isInterlaced else {
                throw MediaGraphError.unsupported(
                    .init(
                        file.name,
                        actual: "handler=y4m doesn't write interlaced video; put deinterlace before the pipe"))
            }
            try file.write(current.text + "\n")
            header = current
            pace = ConstantRate(current.rate)
        }
        let step = pace.next(at: frame.runningTime)
        for _ in 0..<step.repeats {
            // `last` is nil if its buffer couldn't be held because of its pool's limit.
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
        let rate = info.framesPerSecond
        self.init(
            width: info.width, height: info.height,
            rate: rate.numerator > 0 && rate.value > 240 ? Fraction(0, 1) : rate,
            pixelAspectRatio: info.pixelAspectRatio,
            chroma: chroma, range: frame.colorRange == .full ? .full : .limited)
    }
}
