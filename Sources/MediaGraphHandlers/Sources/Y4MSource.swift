import GStreamer
import MediaGraphCore
import Synchronization

/// Plays a YUV4MPEG2 file: `videosource handler=y4m options="location=clip.y4m"`.
///
/// `location=-` reads standard input, and a named pipe works too; their header is read when the graph plays. The source
/// outputs I420 for 4:2:0 (without the chroma position) and Y42B for 4:2:2, with the header's rate (25 if unknown) and
/// pixel aspect ratio. The range is limited unless the header contains `XCOLORRANGE=FULL`. Throws `unsupported` for
/// interlaced and other files.
///
/// An incomplete frame ends the graph with an error, after all frames before it have been sent.
final class Y4MSource: VideoSource, NamedHandler {
    static let name = "y4m"
    static let summary = "Plays a YUV4MPEG2 file"
    static let options = [
        HandlerOption("location", example: "clip.y4m", isInput: true, "the file, or - for standard input"),
        HandlerOption("loop", default: "false", "start again at the end; only for a file on disk"),
    ]

    private let interruption = Interruption()
    private let file: Mutex<Y4MReader>
    private let sender = Mutex<VideoSender?>(nil)
    private let pump = FramePump(name: "mg-y4m")
    private let isLooping: Bool
    let capabilities: [VideoCapability]

    static func validate(_ options: HandlerOptions) throws {
        _ = try options.string("location")
        _ = try options.bool("loop", default: false)
    }

    init(options: HandlerOptions) throws {
        isLooping = try options.bool("loop", default: false)
        let bytes = try ByteReader(
            path: try options.string("location"), option: "option location of y4m", interruption: interruption)
        guard bytes.isRegularFile || !isLooping else {
            throw MediaGraphError.invalidParameter(
                .init("option loop of y4m", actual: "only a file on disk can be played in a loop"))
        }
        let isRegularFile = bytes.isRegularFile
        var reader = Y4MReader(bytes)
        // Waiting here for a pipe's header would block the change of state.
        if isRegularFile, let header = try reader.header() {
            capabilities = [
                VideoCapability(width: header.width, height: header.height, framesPerSecond: header.playbackRate)
            ]
        } else {
            capabilities = []
        }
        file = Mutex(reader)
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        if let own = capabilities.first, supported.isEmpty { throw MediaGraphError.notAccepted(own, by: Self.name) }
        self.sender.withLock { $0 = sender }
    }

    func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        interruption.set(false)
        pump.start(
            sender,
            rate: { [self] () throws(MediaGraphError) in
                try file.withLock { (file) throws(MediaGraphError) in try file.header()?.playbackRate }
            },
            { [self] (_, timestamp) throws(MediaGraphError) in
                try file.withLock { (file) throws(MediaGraphError) in
                    try send(from: &file, sender, timestamp)
                }
            })
    }

    /// Reads and sends the next frame, which stays in the reader until it has been sent.
    private func send(
        from file: inout Y4MReader, _ sender: VideoSender, _ timestamp: ClockTime
    ) throws(MediaGraphError) -> FramePump.Step {
        guard let header = try file.header() else { return .interrupted }
        switch try file.loadFrame(looping: isLooping) {
        case .interrupted: return .interrupted
        case .end: return .end
        case .complete: break
        }
        let frame = FrameDescription(
            width: header.width, height: header.height, format: header.format, framesPerSecond: header.playbackRate,
            pixelAspectRatio: header.pixelAspectRatio, timestamp: timestamp)
        try sender.send(file.frame, frame)
        file.nextFrame()
        return .sent
    }

    func stopSend() {
        interruption.set(true)
        pump.stop()
    }

    func uninitialize() { sender.withLock { $0 = nil } }
}

extension Y4MHeader {
    /// The header's rate; 25 if it is unknown, as in FFmpeg.
    fileprivate var playbackRate: Fraction { rate.numerator > 0 ? rate : Fraction(25, 1) }
}
