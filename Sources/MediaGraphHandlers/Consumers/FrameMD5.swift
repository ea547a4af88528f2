import GStreamer
import MediaGraphCore

/// Writes the MD5 hash of each frame: `rawdatapipe handler=framemd5 options="location=frames.md5"`.
///
/// The file is the same, byte for byte, as `ffmpeg -fflags +bitexact -f framemd5` writes for the same frames as raw
/// video (version 2 of the format). Frames are hashed packed, without padding, in the pipe's format and before
/// rotation.
///
/// The unit of time is one frame at the rate in the first frame's caps, or a nanosecond if the rate is variable. Times
/// are running times. Each line is written when its frame arrives. Throws `invalidParameter` at the start if the file
/// can't be written, and `processingFailed` if a later write fails.
struct FrameMD5: VideoConsumer, NamedHandler, InterruptibleHandler {
    static let name = "framemd5"
    static let summary = "Writes the MD5 of each frame, as FFmpeg's framemd5 does"
    static let options = [
        HandlerOption(
            "location", default: "-", example: "frames.md5", isOutput: true, "the file, or - for standard output")
    ]

    let interruption = Interruption()
    private let file: ByteWriter
    private let checksum = Checksum(.md5)
    /// The rate of the first frame, 0/1 if it is variable; `nil` before the first frame.
    private var rate: Fraction?
    private var next = 0

    init(options: HandlerOptions) throws {
        // Without a buffer, each line is in the file at once, for readers of the growing file and if the process
        // crashes.
        file = try ByteWriter(
            path: options.string("location", default: "-"), option: "option location of framemd5", capacity: 0,
            interruption: interruption)
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        let rate = try self.rate ?? begin(frame)
        let time: Int
        let duration: Int
        if rate.numerator > 0 {
            time = frame.runningTime?.frameIndex(at: rate) ?? next
            duration = 1
        } else {
            time = frame.runningTime.map { Int(clamping: $0.nanoseconds) } ?? next
            duration = 0
        }
        next = time + 1
        try frame.withPackedRows { checksum.update($0) }
        let columns = [(time, 10), (time, 10), (duration, 8), (frame.packedLength, 8)]
        let numbers = columns.map { value, width in Self.padded(value, width) }.joined(separator: ", ")
        try file.write("0, \(numbers), \(checksum.finish())\n")
    }

    mutating func finish() throws { try file.flush() }

    private mutating func begin(_ frame: borrowing VideoFrame) throws(MediaGraphError) -> Fraction {
        let info = frame.info
        let rate = info.framesPerSecond
        self.rate = rate
        let timeBase = rate.numerator > 0 ? "\(rate.denominator)/\(rate.numerator)" : "1/1000000000"
        try file.write(
            """
            #format: frame checksums
            #version: 2
            #hash: MD5
            #tb 0: \(timeBase)
            #media_type 0: video
            #codec_id 0: rawvideo
            #dimensions 0: \(frame.width)x\(frame.height)
            #sar 0: \(info.pixelAspectRatio)
            #stream#, dts,        pts, duration,     size, hash

            """)
        return rate
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
