import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests a `videosource`'s capabilities, rates and back-pressure, from the sender's side.
@Suite struct VideoSourceSendingTests {
    init() throws { try Nodes.register() }

    private static let bytes = patternedFrame(width: 16, height: 16)
    private static let frame = FrameDescription(width: 16, height: 16)

    // MARK: VS-3

    @Test("VS-3 a source that sends nothing still gets propertyChange for new caps downstream")
    func promptPropertyChange() throws {
        let source = RecordingSource(
            capabilities: [180, 720, 1080].map {
                VideoCapability(width: $0 * 16 / 9, height: $0, framesPerSecond: Fraction(30, 1))
            })
        let graph = try Graph(
            "videosource name=src ! capsfilter name=filter caps=video/x-raw,height=[1,1080] ! fakesink")
        try graph.videoSource("src").attach(source)
        graph.pipeline.setState(.playing)
        #expect(source.suggested?.height == 1080)
        for height in [720, 1080, 180] {
            let calls = source.calls.all.count
            try graph.element("filter").setProperty("caps", parsing: "video/x-raw,height=[1,\(height)]")
            #expect(waitUntil { source.calls.all.count > calls })
            #expect(source.calls.all.last == "propertyChange" && source.suggested?.height == height)
            #expect(source.supported.map(\.height) == [180, 720, 1080].filter { $0 <= height })
        }
        graph.pipeline.setState(.null)
    }

    @Test(
        "VS-3 propertyChange may read the node's properties without a deadlock")
    func propertyChangeMayCall() throws {
        let log = Log<UInt64>()
        final class Asking: VideoSource {
            let node = Mutex<Element?>(nil)
            let log: Log<UInt64>
            init(_ log: Log<UInt64>) { self.log = log }
            func startSend() {}
            func stopSend() {}
            func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
                log.add(NodeCounts(node.withLock { $0! })?.frames ?? 99)
            }
        }
        let source = Asking(log)
        let graph = try Graph(
            "videosource name=src ! capsfilter name=filter caps=video/x-raw,height=[1,1080] ! fakesink")
        let element = try graph.element("src")
        source.node.withLock { $0 = element }
        try graph.videoSource("src").attach(source)
        graph.pipeline.setState(.playing)
        try graph.element("filter").setProperty("caps", parsing: "video/x-raw,height=[1,720]")
        #expect(waitUntil { log.all == [0] })
        graph.pipeline.setState(.null)
        source.node.withLock { $0 = nil }
    }

    // MARK: VS-8

    @Test("VS-8 a frame of an undeclared size is refused with the declared sizes")
    func undeclaredSize() throws {
        let source = RecordingSource(capabilities: [
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(30, 1)),
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(15, 1)),
            VideoCapability(width: 32, height: 16, framesPerSecond: Fraction(30, 1)),
        ])
        let harness = try videoSourceHarness(["pace": "fast"], source: source)
        try sendNow(source.sender, Self.bytes, Self.frame)
        let refusal = sendError {
            try sendNow(source.sender, patternedFrame(width: 8, height: 8), FrameDescription(width: 8, height: 8))
        }
        #expect(refusal?.code == .invalidParameter)
        #expect("\(refusal!)" == "frame size: expected one of the declared sizes 16×16, 32×16, got 8×8")
        #expect(NodeCounts(harness.element)?.refused == 1)
    }

    @Test("VS-8 frames whose timestamps exceed the declared rate are refused and counted")
    func policedRate() throws {
        let source = RecordingSource(capabilities: [
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))
        ])
        let harness = try videoSourceHarness(["backpressure": "drop-old", "max-frames": "200"], source: source)
        var refused = 0
        for index in 0..<100 {
            var frame = Self.frame
            frame.timestamp = .milliseconds(UInt64(index) * 50)
            if let error = sendError({ try sendNow(source.sender, Self.bytes, frame) }) {
                #expect(
                    "\(error.code) \(error)"
                        == "tooFrequent sending a frame: timestamps follow each other too closely; the source declared at most 10/1 frames/s"
                )
                refused += 1
            }
        }
        // 10.5 frames a second are accepted for five seconds, and up to three may come early.
        #expect((44...48).contains(refused))
        #expect(NodeCounts(harness.element)?.refused == UInt64(refused))
    }

    @Test("VS-8 extreme timestamps and rates cause refusals at most")
    func extremeTimes() throws {
        let fast = VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))
        let slow = VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(1, Int32.max))
        for capability in [fast, slow] {
            let source = RecordingSource(capabilities: [capability])
            let harness = try videoSourceHarness(["backpressure": "drop-old", "max-frames": "200"], source: source)
            var sent: UInt64 = 0
            for time in [0, 1, UInt64.max - 1, 5, UInt64(Int64.max), 100_000_000] {
                var frame = Self.frame
                frame.timestamp = ClockTime(nanoseconds: time)
                frame.framesPerSecond = capability.framesPerSecond
                if sendError({ try sendNow(source.sender, Self.bytes, frame) }) == nil { sent += 1 }
            }
            #expect(sent > 0 && NodeCounts(harness.element)?.refused == 6 - sent)
        }
    }

    @Test(
        "VS-8 drop-old, drop-new and block treat a full queue as named, and count it",
        arguments: ["drop-old", "drop-new", "block"])
    func backPressure(policy: String) throws {
        let source = RecordingSource()
        let graph = try Graph(
            "videosource name=src backpressure=\(policy) max-frames=3 block-timeout=1000000 ! identity name=gate ! fakesink"
        )
        try graph.videoSource("src").attach(source)
        let hold = FrameHold(at: try graph.element("gate").staticPad("sink")!)
        let seen = hold.seen
        graph.pipeline.setState(.playing)
        var refused: [UInt64] = []
        func send(_ index: UInt64) throws {
            var frame = Self.frame
            frame.timestamp = .milliseconds(index)
            if sendError({ try sendNow(source.sender, Self.bytes, frame) })?.code == .timeOut { refused.append(index) }
        }
        try send(0)
        #expect(waitUntil { seen.all == [0] })
        for index in 1...5 { try send(UInt64(index)) }
        hold.release()
        let (expected, lost, late): ([UInt64], UInt64, [UInt64]) =
            switch policy {
            case "drop-old": ([0, 3, 4, 5], 2, [])
            case "drop-new": ([0, 1, 2, 3], 2, [])
            default: ([0, 1, 2, 3], 0, [4, 5])
            }
        #expect(waitUntil { seen.all == expected }, "\(seen.all)")
        #expect(refused == late)
        let counts = try graph.videoSource("src").statistics
        #expect(counts.dropped == lost && counts.refused == UInt64(late.count))
        #expect(counts.frames == 6 - UInt64(late.count))
        graph.pipeline.setState(.null)
    }

    @Test("VS-8 backpressure, max-frames and block-timeout have the documented defaults")
    func defaults() throws {
        let element = try #require(Element(factory: "videosource"))
        #expect(try element.property("backpressure", as: BackPressure.self) == .auto)
        #expect(try element.property("max-frames", as: Int32.self) == 2)
        #expect(VideoSourceElement.Settings(pace: .live).gate.blockTimeoutNanoseconds == 100_000_000)
        #expect(VideoSourceElement.Settings(pace: .fast).gate.blockTimeoutNanoseconds == nil)
        #expect(VideoSourceElement.Settings(pace: .fast, blockTimeout: 7).gate.blockTimeoutNanoseconds == 7)
        #expect(BackPressure.auto.resolved(isLive: true) == .dropOldest)
        #expect(BackPressure.auto.resolved(isLive: false) == .block)
    }

    @Test("VS-8 a fast source waits for a slow reader without a time limit and loses nothing")
    func slowReader() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe max-frames=1")
        let times = Log<UInt64>()
        let isHeld = BlockingMonitor(true)
        try graph.rawDataPipe("pipe").receive { frame in
            times.add(frame.presentationTimestamp!.nanoseconds)
            _ = isHeld.wait(timeout: .milliseconds(300)) { $0 ? nil : true }
            isHeld.withLock { $0 = false }
        }
        let frames = (0..<20).map { _ in TestFrame(.i420, width: 16, height: 16, filledWith: 7) }
        try graph.videoSource("src").attach(FrameListSource(frames))
        try await graph.run()
        let expected: [UInt64] = (0..<20).map { (index: UInt64) in index * 40_000_000 }
        #expect(times.all == expected)
    }

    // MARK: VS-11

    @Test(
        "VS-8 a stream that downstream has ended refuses frames with each policy",
        arguments: ["backpressure=drop-old", "backpressure=block block-timeout=3600000000000", "pace=fast"])
    func endedStream(settings: String) async throws {
        let source = RecordingSource()
        let graph = try Graph("videosource name=src \(settings) ! identity eos-after=2 ! fakesink")
        try graph.videoSource("src").attach(source)
        try await graph.start()
        // The sender learns of the end when the node's queue has filled up.
        let refused = waitUntil {
            guard case .wrongUsage(let detail)? = sendError({ try sendNow(source.sender, Self.bytes, Self.frame) })
            else {
                return false
            }
            return detail.actual == "the stream has ended (endOfStream)"
        }
        #expect(refused)
        await graph.stop()
        // A new run is a new stream.
        try await graph.start()
        try sendNow(source.sender, Self.bytes, Self.frame)
        await graph.stop()
    }
}
