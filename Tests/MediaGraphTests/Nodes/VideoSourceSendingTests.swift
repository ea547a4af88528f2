import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// What senders may count on beyond the gate: capabilities, back-pressure, timestamps, rotation, tasks, zero-copy.
@Suite struct VideoSourceSendingTests {
    init() throws { try Nodes.register() }

    private static let bytes = patternedFrame(width: 16, height: 16)
    private static let frame = FrameDescription(width: 16, height: 16)

    /// A `videosource` alone on a clock that stands still, and the source that is attached to it.
    private func harness(
        _ settings: [String: String] = [:], source: some VideoSource
    ) throws -> Harness {
        let element = try #require(Element(factory: "videosource"))
        for (name, value) in settings { try element.setProperty(name, parsing: value) }
        try NodeVTable.attach(source, to: element)
        let harness = Harness(element, sink: nil, source: "src")
        harness.play()
        return harness
    }

    private func error(_ body: () throws -> Void) -> MediaGraphError? {
        do {
            try body()
            return nil
        } catch { return error as? MediaGraphError }
    }

    // MARK: VS-3

    @Test("VS-3 a source that sends nothing hears of new caps downstream by propertyChange, while PLAYING")
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
        "VS-3 a sender waiting in the queue, and a look at the node's properties, are no deadlock with propertyChange")
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

    // MARK: VS-7

    @Test("VS-7 a change of rotation reaches every pipe behind a tee on the very frame that has it")
    func rotation() async throws {
        let graph = try Graph(
            """
            videosource name=src pace=fast ! tee name=t ! queue ! rawdatapipe name=a
            t. ! queue ! videoconvert ! video/x-raw,format=NV12 ! rawdatapipe name=b
            """)
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let (a, b) = (Log<Rotation>(), Log<Rotation>())
        try graph.rawDataPipe("a").receive { a.add($0.rotation) }
        try graph.rawDataPipe("b").receive { b.add($0.rotation) }
        try await graph.start()
        let rotations: [Rotation] = (0..<40).map {
            [.none, .clockwise90, .clockwise90, .clockwise270, .clockwise180][$0 % 5]
        }
        for (index, rotation) in rotations.enumerated() {
            var frame = Self.frame
            frame.rotation = rotation
            frame.timestamp = .milliseconds(UInt64(index))
            try sendNow(source.sender, Self.bytes, frame)
        }
        await graph.finish()
        #expect(a.all == rotations && b.all == rotations)
    }

    @Test(
        "VS-7 a stock videoflip before a pipe doesn't turn a frame: its rotation is reported, and is still to be done")
    func videoflip() async throws {
        let graph = try Graph("videosource name=src pace=fast ! videoflip video-direction=auto ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let seen = Log<String>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add(
                "\(frame.width)×\(frame.height) \(frame.rotation.rawValue) \(frame.packedBytes == patternedFrame(width: 16, height: 8))"
            )
        }
        try await graph.start()
        try sendNow(
            source.sender, patternedFrame(width: 16, height: 8),
            FrameDescription(width: 16, height: 8, rotation: .clockwise90))
        await graph.finish()
        #expect(seen.all == ["16×8 90 true"])
    }

    @Test("VS-7 the image-orientation tag goes out with rotation-tag=true only, ahead of the frame it is for")
    func rotationTag() throws {
        for isOn in [true, false] {
            let source = RecordingSource()
            let harness = try harness(["pace": "fast", "rotation-tag": "\(isOn)"], source: source)
            var tags: [String] = []
            for rotation in [Rotation.none, .clockwise90, .clockwise90, .clockwise180, .none] {
                var frame = Self.frame
                frame.rotation = rotation
                try sendNow(source.sender, Self.bytes, frame)
                #expect(harness.pulledTimestamp() != nil)
                tags.append(harness.pulledTags("image-orientation").joined())
            }
            #expect(tags == (isOn ? ["", "rotate-90", "", "rotate-180", "rotate-0"] : ["", "", "", "", ""]))
        }
    }

    // MARK: VS-8

    @Test("VS-8 a frame whose size the source hasn't declared is refused, with the sizes that it has")
    func undeclaredSize() throws {
        let source = RecordingSource(capabilities: [
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(30, 1)),
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(15, 1)),
            VideoCapability(width: 32, height: 16, framesPerSecond: Fraction(30, 1)),
        ])
        let harness = try harness(["pace": "fast"], source: source)
        try sendNow(source.sender, Self.bytes, Self.frame)
        let refusal = error {
            try sendNow(source.sender, patternedFrame(width: 8, height: 8), FrameDescription(width: 8, height: 8))
        }
        #expect(refusal?.code == .invalidParameter)
        #expect(
            "\(refusal!)" == "frame size: expected one that the source declared: 16×16, 32×16, got 8×8")
        #expect(NodeCounts(harness.element)?.refused == 1)
    }

    @Test("VS-8 frames faster than the declared rate, by their timestamps, are refused and counted")
    func policedRate() throws {
        let source = RecordingSource(capabilities: [
            VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))
        ])
        let harness = try harness(["backpressure": "drop-old", "max-frames": "200"], source: source)
        var refused = 0
        for index in 0..<100 {
            var frame = Self.frame
            frame.timestamp = .milliseconds(UInt64(index) * 50)
            if let error = error({ try sendNow(source.sender, Self.bytes, frame) }) {
                #expect(
                    "\(error.code) \(error)"
                        == "tooFrequent sending a frame: the timestamps exceed the rate, at most 10/1 frames/s, as declared"
                )
                refused += 1
            }
        }
        // Five seconds of 10.5 frames each, and up to three that may come early.
        #expect((44...48).contains(refused))
        #expect(NodeCounts(harness.element)?.refused == UInt64(refused))
    }

    @Test("VS-8 no timestamp and no rate, however large or small, is more than a refusal")
    func extremeTimes() throws {
        let fast = VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))
        let slow = VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(1, Int32.max))
        for capability in [fast, slow] {
            let source = RecordingSource(capabilities: [capability])
            let harness = try harness(["backpressure": "drop-old", "max-frames": "200"], source: source)
            var sent: UInt64 = 0
            for time in [0, 1, UInt64.max - 1, 5, UInt64(Int64.max), 100_000_000] {
                var frame = Self.frame
                frame.timestamp = ClockTime(nanoseconds: time)
                frame.framesPerSecond = capability.framesPerSecond
                if error({ try sendNow(source.sender, Self.bytes, frame) }) == nil { sent += 1 }
            }
            #expect(sent > 0 && NodeCounts(harness.element)?.refused == 6 - sent)
        }
    }

    @Test(
        "VS-8 drop-old, drop-new and block do to a full queue what they say, and count it",
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
            if error({ try sendNow(source.sender, Self.bytes, frame) })?.code == .timeOut { refused.append(index) }
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

    @Test("VS-8 auto drops the oldest when live and blocks when fast; max-frames is 2, block-timeout 100 ms when live")
    func defaults() throws {
        let element = try #require(Element(factory: "videosource"))
        #expect(try element.property("backpressure", as: BackPressure.self) == .auto)
        #expect(try element.property("max-frames", as: Int32.self) == 2)
        #expect(VideoSourceElement.Settings(pace: .live).gate.blockTimeout == .milliseconds(100))
        #expect(VideoSourceElement.Settings(pace: .fast).gate.blockTimeout == nil)
        #expect(
            VideoSourceElement.Settings(pace: .fast, blockTimeout: 7).gate.blockTimeout == ClockTime(nanoseconds: 7))
        #expect(BackPressure.auto.resolved(isLive: true) == .dropOldest)
        #expect(BackPressure.auto.resolved(isLive: false) == .block)
    }

    @Test("VS-8 a fast source waits for a reader that takes longer than any time-out, and loses nothing")
    func slowReader() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe max-frames=1")
        let times = Log<UInt64>()
        let isHeld = BlockingMonitor(true)
        try graph.rawDataPipe("pipe").receive { frame in
            times.add(frame.presentationTimestamp!.nanoseconds)
            _ = isHeld.wait(timeout: 300_000) { $0 ? nil : true }
            isHeld.withLock { $0 = false }
        }
        let frames = (0..<20).map { _ in TestFrame(.i420, width: 16, height: 16, filledWith: 7) }
        try graph.videoSource("src").attach(FrameListSource(frames))
        try await graph.run()
        let expected: [UInt64] = (0..<20).map { (index: UInt64) in index * 40_000_000 }
        #expect(times.all == expected)
    }

    // MARK: VS-9

    @Test(
        "VS-9 a pump that jitters by ±20 ms, on a test clock, gives buffers within 1 ms of even; given timestamps stay")
    func evenTimestamps() throws {
        let source = RecordingSource()
        let harness = try harness(["backpressure": "block"], source: source)
        var frame = Self.frame
        frame.framesPerSecond = Fraction(30, 1)
        var stamps: [Double] = []
        var clock = 0.0
        for index in 0..<300 {
            let jitter = Double((index * 7919) % 41 - 20)
            let arrival = max(clock, 100 + Double(index) * 1000 / 30 + jitter)
            clock = arrival
            harness.setTime(ClockTime(nanoseconds: UInt64(arrival * 1e6)))
            try sendNow(source.sender, Self.bytes, frame)
            stamps.append(Double(try #require(harness.pulledTimestamp()).nanoseconds) / 1e6)
        }
        let worst = stamps.enumerated().map { abs($1 - stamps[0] - Double($0) * 1000 / 30) }.max()!
        #expect(worst < 1, "\(worst) ms off")
        frame.timestamp = .milliseconds(77_777)
        try sendNow(source.sender, Self.bytes, frame)
        #expect(harness.pulledTimestamp() == .milliseconds(77_777))
    }

    @Test("VS-9 a source without a rate has its frames stamped as they arrive")
    func arrivalTimestamps() throws {
        let source = RecordingSource()
        let harness = try harness(source: source)
        for time in [5, 130, 131] as [UInt64] {
            harness.setTime(.milliseconds(time))
            try sendNow(source.sender, Self.bytes, Self.frame)
            #expect(harness.pulledTimestamp() == .milliseconds(time))
        }
    }

    // MARK: VS-11

    @Test(
        "VS-11 the pointer that the source filled is the pointer that the pipe reads: owned memory, and a frame of the pool"
    )
    func zeroCopy() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let seen = Log<[UInt]>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add(
                try [VideoFormat.Plane.y, .u, .v].map { try address(of: frame.plane($0).bytes) } + [
                    UInt(frame.plane(.y).bytes[5])
                ])
        }
        try await graph.start()
        var expected: [[UInt]] = []
        // A frame of the pool, at a size that GStreamer pads.
        for width in [16, 404] {
            var made = try source.sender.makeFrame(FrameDescription(width: width, height: 16))
            try made.withFrame { frame in
                var addresses: [UInt] = []
                for plane in [VideoFormat.Plane.y, .u, .v] {
                    var plane = try frame.mutablePlane(plane)
                    plane.fill(rows: 0..<16, with: UInt8(width / 4))
                    addresses.append(address(of: plane.bytes.span))
                }
                expected.append(addresses + [UInt(width / 4)])
            }
            try sendMade(source.sender, made)
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 384, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 9)
        let start = UInt(bitPattern: memory.baseAddress!)
        expected.append([start, start + 256, start + 320, 9])
        try sendOwning(source.sender, memory, Self.frame)
        await graph.finish()
        #expect(seen.all == expected)
    }

    @Test("VS-11 a frame of the pool that isn't sent, or is refused, goes back to the pool")
    func unsentFrames() async throws {
        let source = RecordingSource()
        let harness = try harness(["pace": "fast"], source: source)
        for _ in 0..<100 {
            let made = try source.sender.makeFrame(Self.frame)
            _ = consume made
        }
        let made = try source.sender.makeFrame(Self.frame)
        harness.element.setState(.null)
        var refusal: MediaGraphError?
        do { try sendMade(source.sender, made) } catch { refusal = error as? MediaGraphError }
        #expect(refusal?.code == .wrongUsage)
        #expect(
            error { _ = try source.sender.makeFrame(FrameDescription(width: 0, height: 1)) }?.code == .invalidParameter)
    }

    @Test(
        "VS-8 a stream that downstream has ended refuses frames, where it drops and where it blocks",
        arguments: ["backpressure=drop-old", "backpressure=block block-timeout=3600000000000", "pace=fast"])
    func endedStream(settings: String) async throws {
        let source = RecordingSource()
        let graph = try Graph("videosource name=src \(settings) ! identity eos-after=2 ! fakesink")
        try graph.videoSource("src").attach(source)
        try await graph.start()
        // The node's queue fills behind the end, and then it is known.
        let refused = waitUntil {
            guard case .wrongUsage(let detail)? = error({ try sendNow(source.sender, Self.bytes, Self.frame) }) else {
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

private func address(of span: Span<UInt8>) -> UInt {
    span.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress!) }
}

private func sendMade(_ sender: VideoSender, _ frame: consuming OutgoingFrame) throws { try sender.send(frame) }

/// The memory is freed when it comes back.
private func sendOwning(_ sender: VideoSender, _ memory: UnsafeMutableRawBufferPointer, _ frame: FrameDescription)
    throws
{
    try sender.send(owning: memory, frame, release: { $0!.deallocate() }, context: memory.baseAddress)
}
