import GStreamer
import MediaGraph
import Synchronization
import TestSupport

/// Runs a description to its end; the error's text, or `nil` when it ended well.
func failure(of description: String) async throws -> String? {
    let graph = try Graph(description)
    do {
        try await graph.run()
        return nil
    } catch {
        return "\(error)"
    }
}

/// Sends the frames that it is given, and ends.
final class FrameList: VideoSource {
    private let frames: [[UInt8]]
    private let description: FrameDescription
    private let sender = Mutex<VideoSender?>(nil)
    private let thread = Mutex<NativeThread?>(nil)

    init(_ frames: [[UInt8]], _ description: FrameDescription) {
        self.frames = frames
        self.description = description
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }

    func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        thread.withLock { $0 = NativeThread("frame-list") { [self] in send(with: sender) } }
    }

    private func send(with sender: VideoSender) {
        do throws(MediaGraphError) {
            for (index, frame) in frames.enumerated() {
                var description = description
                description.timestamp = .milliseconds(UInt64(index) * 40)
                try sender.send(frame, description)
            }
            sender.endOfStream()
        } catch {
            sender.fail(error)
        }
    }

    func stopSend() { thread.withLock { $0.take() }?.join() }
}

/// What comes of packed frames behind `nodes`, in the same format.
func process(
    _ frames: [[UInt8]], _ format: VideoFormat, width: Int, height: Int, range: Colorimetry.Range = .limited,
    through nodes: String
) async throws -> [[UInt8]] {
    let nick = [VideoFormat.i422: "I422", .rgb24: "RGB24", .bgr24: "BGR24"][format] ?? format.gstreamerName
    let graph = try Graph(
        "videosource name=in pace=fast ! \(nodes) ! rawdatapipe name=out format=\(nick)")
    try graph.videoSource("in").attach(
        FrameList(
            frames,
            FrameDescription(
                width: width, height: height, format: FrameFormat(format, range: range),
                framesPerSecond: Fraction(25, 1))))
    let received = Log<[UInt8]>()
    try graph.rawDataPipe("out").receive { received.add($0.packedBytes) }
    try await graph.run()
    return received.all
}

/// Bytes without a pattern, the same for the same seed (SplitMix64).
func noise(_ count: Int, seed: UInt64 = 1, in range: ClosedRange<UInt8> = 0...255) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return range.lowerBound + UInt8((z >> 32) % (UInt64(range.upperBound - range.lowerBound) + 1))
    }
}
