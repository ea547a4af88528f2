import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the effect of the properties of a stock `appsink` or `appsrc` that is looked up as a node.
@Suite struct StockPropertyTests {
    private static func bytes(_ seed: Int) -> [UInt8] { patternedFrame(width: 16, height: 4, seed: seed) }
    private static let frame = FrameDescription(width: 16, height: 4, framesPerSecond: Fraction(25, 1))

    // MARK: appsrc

    @Test("GR-8 an appsrc can send another format in each run, and never announces an old one")
    func secondFormat() async throws {
        let graph = try Graph("appsrc name=s ! rawdatapipe name=p")
        let widths = Atomic<Int>(16)
        try graph.videoSource("s").attach(
            RecordingSource(onStart: { sender in
                let width = widths.load(ordering: .relaxed)
                try sendNow(sender, patternedFrame(width: width, height: 4), FrameDescription(width: width, height: 4))
                sender.endOfStream()
            }))
        let seen = Log<Int>()
        try graph.rawDataPipe("p").receive { seen.add($0.width) }
        let announced = try #require(graph.element("s").staticPad("src")).observeCaps()
        for width in [16, 32, 16] {
            widths.store(width, ordering: .relaxed)
            try await graph.run()
        }
        #expect(seen.all == [16, 32, 16])
        #expect(announced.all.compactMap { $0[0]["width", as: Int32.self] } == [16, 32, 16])
    }

    @Test("GR-8 an appsrc's own caps apply to each run")
    func describedCaps() async throws {
        let graph = try Graph(
            "appsrc name=s caps=\"video/x-raw, format=I420, width=16, height=4, framerate=25/1\" ! rawdatapipe name=p")
        let source = RecordingSource(onStart: { sender in
            try sendNow(sender, Self.bytes(0), Self.frame)
            sender.endOfStream()
        })
        try graph.videoSource("s").attach(source)
        let seen = Log<Int>()
        try graph.rawDataPipe("p").receive { seen.add($0.width) }
        let described = try #require(
            Caps("video/x-raw, format=I420, width=16, height=4, framerate=25/1"))
        for _ in 0..<2 {
            try await graph.run()
            let caps = try #require(AppSource(wrapping: graph.element("s"))?.caps)
            #expect(caps == described, "\(caps)")
        }
        #expect(seen.all == [16, 16])
    }

    @Test(
        "GR-8 an appsrc that claims to seek is an error, because a source sends each frame once",
        arguments: ["seekable", "random-access"])
    func streamType(type: String) throws {
        let graph = try Graph("appsrc name=s stream-type=\(type) ! fakesink")
        let error = try #require(throws: GraphError.self) { try graph.videoSource("s") }
        #expect("\(error)".contains("stream-type=\(type)") && "\(error)".contains("stream-type=stream"), "\(error)")
    }

    @Test(
        "GR-8 `leaky-type` decides whether a full appsrc drops new frames or old ones",
        arguments: [("upstream", [0, 1, 2]), ("downstream", [5, 6, 7])])
    func leakyType(type: String, kept: [UInt64]) async throws {
        let graph = try Graph(
            "appsrc name=s is-live=true leaky-type=\(type) max-buffers=3 ! fakesink name=e sync=false")
        let source = RecordingSource()
        let node = try graph.videoSource("s")
        try node.attach(source)
        // The first frame is held at the pad, so all others wait in the source.
        let hold = FrameHold(at: try graph.element("s").staticPad("src")!)
        try await graph.start()
        func send(_ milliseconds: UInt64) throws {
            var frame = Self.frame
            frame.timestamp = .milliseconds(milliseconds)
            try sendNow(source.sender, Self.bytes(0), frame)
        }
        try send(0)
        #expect(waitUntil { hold.seen.all.count == 1 })
        for number in 0..<8 as Range<UInt64> { try send(1000 + number) }
        #expect(waitUntil { node.statistics.frames == 9 })
        hold.release()
        await graph.finish()
        #expect(Array(hold.seen.all.dropFirst()) == kept.map { $0 + 1000 })
        #expect(node.statistics.dropped == 5)
    }

    @Test(
        "GR-8 `block=true` makes a live appsrc's senders wait, and a frame without room in time is refused"
    )
    func block() async throws {
        let graph = try Graph("appsrc name=s is-live=true block=true max-buffers=3 ! fakesink sync=false")
        let source = RecordingSource()
        let node = try graph.videoSource("s")
        try node.attach(source)
        let hold = FrameHold(at: try graph.element("s").staticPad("src")!)
        try await graph.start()
        try sendNow(source.sender, Self.bytes(0), Self.frame)
        #expect(waitUntil { hold.seen.all.count == 1 })
        for seed in 1...3 { try sendNow(source.sender, Self.bytes(seed), Self.frame) }
        let error = #expect(throws: MediaGraphError.self) { try sendNow(source.sender, Self.bytes(4), Self.frame) }
        #expect(error?.code == .timeOut)
        hold.release()
        await graph.finish()
        #expect(hold.seen.all.count == 4)
        #expect(node.statistics.dropped == 0 && node.statistics.refused == 1)
    }

    private final class SlowStarter: VideoSource {
        let hasStarted = Log<Bool>()
        func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {}
        func startSend() {
            // A slow source: a start that doesn't wait for it would return meanwhile.
            for _ in 0..<300 { sleepBriefly() }
            hasStarted.add(true)
        }
        func stopSend() {}
    }

    @Test("GR-8 a graph's start waits until its sources have started")
    func slowStart() async throws {
        let graph = try Graph("appsrc name=s is-live=true ! capsfilter caps=video/x-raw ! rawdatapipe")
        let source = SlowStarter()
        try graph.videoSource("s").attach(source)
        try await graph.start()
        #expect(source.hasStarted.all == [true])
        await graph.stop()
    }

    @Test("GR-8 when downstream renegotiates, an appsrc's source gets the new capabilities while sending")
    func reconfigure() async throws {
        let sizes = [(160, 90), (320, 180)].map {
            VideoCapability(width: $0, height: $1, framesPerSecond: Fraction(30, 1))
        }
        let source = RecordingSource(capabilities: sizes)
        let graph = try Graph("appsrc name=s is-live=true ! capsfilter name=f caps=video/x-raw ! rawdatapipe name=p")
        try graph.videoSource("s").attach(source)
        let seen = Log<Int>()
        try graph.rawDataPipe("p").receive { seen.add($0.width) }
        func send(_ size: VideoCapability) throws {
            try sendNow(
                source.sender, patternedFrame(width: size.width, height: size.height),
                FrameDescription(width: size.width, height: size.height))
        }
        try await graph.start()
        #expect(source.supported == sizes && source.suggested == sizes[1])
        try send(sizes[1])
        #expect(waitUntil { seen.all == [320] })
        try graph.element("f").setProperty("caps", parsing: "video/x-raw, width=(int)160")
        #expect(waitUntil { source.calls.all.contains("propertyChange") })
        #expect(source.supported == [sizes[0]] && source.suggested == sizes[0])
        try send(sizes[0])
        #expect(waitUntil { seen.all == [320, 160] })
        await graph.stop()
        #expect(source.calls.all == ["initialize", "startSend", "propertyChange", "stopSend", "uninitialize"])
    }

    // MARK: appsink

    @Test("GR-8 `max-buffers` alone makes a live stream wait for a slow handler, and no frame is lost")
    func pipeBlocks() async throws {
        let graph = try Graph("appsrc name=s is-live=true block=true ! appsink name=p sync=false max-buffers=2")
        let pipe = try graph.rawDataPipe("p")
        let isStuck = BlockingMonitor(true)
        let seen = Log<[UInt8]>()
        try pipe.receive { frame in
            seen.add(frame.packedBytes)
            _ = isStuck.wait { $0 ? nil : true }
        }
        let source = RecordingSource()
        try graph.videoSource("s").attach(source)
        try await graph.start()
        try sendNow(source.sender, Self.bytes(0), Self.frame)
        #expect(waitUntil { seen.all.count == 1 })
        // Two frames wait in the pipe or on their way to it, and two in the source. The next one has no room.
        var sent = 1
        let error = #expect(throws: MediaGraphError.self) {
            while sent < 20 {
                try sendNow(source.sender, Self.bytes(sent), Self.frame)
                sent += 1
            }
        }
        #expect(error?.code == .timeOut)
        isStuck.withLock { $0 = false }
        await graph.finish()
        #expect(seen.all == (0..<sent).map(Self.bytes))
        #expect(pipe.statistics.dropped == 0)
    }

    @Test("GR-8 without `max-buffers` and `drop`, a live stream keeps only the two newest frames")
    func pipeDrops() async throws {
        let graph = try Graph("appsrc name=s is-live=true ! appsink name=p sync=false")
        let pipe = try graph.rawDataPipe("p")
        let isStuck = BlockingMonitor(true)
        let seen = Log<[UInt8]>()
        try pipe.receive { frame in
            seen.add(frame.packedBytes)
            _ = isStuck.wait { $0 ? nil : true }
        }
        let source = RecordingSource()
        try graph.videoSource("s").attach(source)
        try await graph.start()
        let passed = Atomic<Int>(0)
        pipe.element.staticPad("sink")!.observeBuffers { _ in passed.wrappingAdd(1, ordering: .relaxed) }
        for seed in 0..<8 {
            try sendNow(source.sender, Self.bytes(seed), Self.frame)
            // Each frame has reached the pipe before the next is sent, and the first one is in the handler.
            #expect(waitUntil { passed.load(ordering: .relaxed) == seed + 1 && !seen.all.isEmpty })
        }
        #expect(waitUntil { pipe.statistics.dropped == 5 })
        isStuck.withLock { $0 = false }
        await graph.finish()
        #expect(seen.all == [0, 6, 7].map(Self.bytes))
    }

    @Test("GR-8 an appsrc's caps may still be set after it was looked up")
    func laterCaps() async throws {
        let graph = try Graph(
            "appsrc name=s caps=\"video/x-raw, format=I420, width=32, height=8, framerate=25/1\" ! rawdatapipe name=p")
        let node = try graph.videoSource("s")
        let text = "video/x-raw, format=I420, width=16, height=4, framerate=25/1"
        try node.element.setProperty("caps", parsing: text)
        try node.attach(
            RecordingSource(onStart: { sender in
                try sendNow(sender, Self.bytes(0), Self.frame)
                sender.endOfStream()
            }))
        let seen = Log<Int>()
        try graph.rawDataPipe("p").receive { seen.add($0.width) }
        for _ in 0..<2 {
            try await graph.run()
            #expect(AppSource(wrapping: node.element)?.caps == Caps(text))
        }
        #expect(seen.all == [16, 16])
    }

    @Test("GR-8 a listener of an appsrc's properties may look up nodes during the appsrc's own lookup")
    func lookedUpFromNotify() throws {
        let graph = try Graph("appsrc name=s ! fakesink")
        let found = Log<Bool>()
        // The element keeps its listener, so the graph is held weakly.
        try graph.element("s").listen(to: "notify::format") { [weak graph] in
            found.add((try? graph?.videoSource("s")) != nil)
        }
        _ = try graph.videoSource("s")
        #expect(found.all == [true])
    }
}
