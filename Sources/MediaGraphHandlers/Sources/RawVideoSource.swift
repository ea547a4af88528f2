import GStreamer
import MediaGraphCore
import Synchronization

/// Plays packed frames without a header, as the SDKs dump them:
/// `videosource handler=raw options="location=dump.yuv,width=66,height=50,format=I420,fps=30"`.
///
/// Rows have no padding, and chroma of an odd size is rounded up: I420 of w×h has `(w+1)/2 × (h+1)/2` bytes of U and of V.
/// What is left at the end of the file is no whole frame: it isn't sent, and a warning says so.
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
        if supported.isEmpty {
            throw MediaGraphError.unsupported(.init("raw", expected: "downstream to take \(capabilities[0])"))
        }
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

    /// The next frame, which stays in the input until it is sent.
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
            try tellRest(input.filled, after: input.index, of: input.reader.name, sender)
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

    /// Most often the size or the format was another when the file was written.
    private func tellRest(
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
