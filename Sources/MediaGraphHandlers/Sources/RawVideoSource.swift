import GStreamer
import MediaGraphCore
import Synchronization

/// Plays packed frames without a header, as the SDKs dump them:
/// `videosource handler=raw options="location=dump.yuv,width=66,height=50,format=I420,fps=30"`.
///
/// Rows have no padding, and odd chroma sizes are rounded up: I420 of w×h has `(w+1)/2 × (h+1)/2` bytes of U and of V.
/// An incomplete frame at the end of the file isn't sent, and causes a warning.
final class RawVideoSource: VideoSource, NamedHandler {
    static let name = "raw"
    static let summary = "Plays packed frames without a header, as the SDKs dump them"
    static let options =
        [HandlerOption("location", example: "dump.yuv", isInput: true, "the file, or - for standard input")]
        + RawVideoFormat.options

    private struct Input: ~Copyable {
        var reader: ByteReader
        var frame: [UInt8]
        var filled = 0
        var index = 0
    }

    private let format: RawVideoFormat
    private let input: Mutex<Input>
    private let interruption = Interruption()
    private let sender = Mutex<VideoSender?>(nil)
    private let pump = FramePump(name: "mg-rawvideo")
    let capabilities: [VideoCapability]

    static func validate(_ options: HandlerOptions) throws {
        _ = try options.string("location")
        _ = try RawVideoFormat(options)
    }

    init(options: HandlerOptions) throws {
        let format = try RawVideoFormat(options)
        let reader = try ByteReader(
            path: try options.string("location"), option: "option location of raw", interruption: interruption)
        self.format = format
        input = Mutex(Input(reader: reader, frame: [UInt8](repeating: 0, count: format.frameLength)))
        capabilities = [
            VideoCapability(width: format.width, height: format.height, framesPerSecond: format.framesPerSecond)
        ]
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        if supported.isEmpty { throw MediaGraphError.notAccepted(capabilities[0], by: Self.name) }
        self.sender.withLock { $0 = sender }
    }

    func startSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        interruption.set(false)
        pump.start(sender, rate: { [format] in format.framesPerSecond }) {
            [self] (_, timestamp) throws(MediaGraphError) in
            try input.withLock { (input) throws(MediaGraphError) in try send(&input, sender, timestamp) }
        }
    }

    /// Reads and sends the next frame, which stays in `input` until it has been sent.
    private func send(
        _ input: inout Input, _ sender: VideoSender, _ timestamp: ClockTime
    ) throws(MediaGraphError) -> FramePump.Step {
        let outcome = try input.reader.read(into: &input.frame, filled: &input.filled)
        if outcome != .interrupted, input.index == 0 {
            try HeaderCheck.refuseHeader(of: input.frame.prefix(input.filled), in: input.reader.name)
        }
        switch outcome {
        case .interrupted: return .interrupted
        case .end:
            try reportRemainder(input.filled, after: input.index, of: input.reader.name, sender)
            return .end
        case .complete: break
        }
        try sender.send(
            input.frame,
            FrameDescription(
                width: format.width, height: format.height, format: format.format,
                framesPerSecond: format.framesPerSecond, timestamp: timestamp))
        input.filled = 0
        input.index += 1
        return .sent
    }

    /// Reports an incomplete frame at the end of the file. The usual cause is a file that was written with another size
    /// or format.
    private func reportRemainder(
        _ count: Int, after frames: Int, of name: String, _ sender: VideoSender
    ) throws(MediaGraphError) {
        guard count > 0 || frames == 0 else { return }
        let frame = "a frame of \(format.width)×\(format.height) \(format.format.pixelFormat.gstreamerName)"
        guard frames > 0 else {
            throw .processingFailed(
                .init(
                    name,
                    actual: "\(frame) has \(format.frameLength) bytes, but the file has only \(count); "
                        + "check width, height and format"))
        }
        sender.warn(
            """
            \(name) doesn't end on a frame boundary: \(frame) has \(format.frameLength) bytes, and \(count) are left after \
            \(frames) frames; check width, height and format
            """)
    }

    func stopSend() {
        interruption.set(true)
        pump.stop()
    }

    func uninitialize() { sender.withLock { $0 = nil } }
}

/// The size, format, range and rate of a file of packed frames, from a handler's options, because the file has no
/// header.
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
