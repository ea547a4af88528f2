import GStreamer

/// Writes a YUV4MPEG2 file: `rawdatapipe handler=y4m options="location=out.y4m"`.
///
/// I420, or with `format=I422` 4:2:2, as it comes: the header says where chroma lies (`C420jpeg`, `C420mpeg2`,
/// `C420paldv`), the pixel aspect and the range. A stream of variable rate gets `F0:0`. What can't be said in one header is
/// refused: interlaced video, and a change of size, aspect or range midway, are `unsupported` errors. A file that can't be
/// written is `invalidParameter` at the start, a write that fails later `processingFailed`.
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
        }
        try file.write(Self.frameLine.span)
        try frame.withPackedRows { try file.write($0) }
    }

    private static let frameLine = Array("FRAME\n".utf8)

    mutating func finish() throws { try file.flush() }
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
