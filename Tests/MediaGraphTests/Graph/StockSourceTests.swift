import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests a stock `appsrc` that is looked up as a video source.
@Suite struct StockSourceTests {
    private static let frame = FrameDescription(width: 16, height: 4, framesPerSecond: Fraction(25, 1))

    private static func bytes(_ seed: Int) -> [UInt8] { patternedFrame(width: 16, height: 4, seed: seed) }

    /// Returns a source that sends `count` frames from `startSend` on, on its own thread, and then ends.
    private static func pump(_ count: Int) -> RecordingSource {
        RecordingSource(onStart: { sender in
            NativeThread("pump") {
                for seed in 0..<count { try? sendRepeatedlyNow(sender, bytes(seed), frame) }
                sender.endOfStream()
            }.detach()
        })
    }

    @Test("GR-8 an appsrc's source gets each call once a cycle, and its frames arrive byte for byte")
    func lifecycle() async throws {
        let graph = try Graph("appsrc name=s ! rawdatapipe name=p")
        let source = Self.pump(20)
        try graph.videoSource("s").attach(source)
        let frames = Log<[UInt8]>()
        let times = Log<UInt64>()
        try graph.rawDataPipe("p").receive { frame in
            frames.add(frame.packedBytes)
            times.add(frame.presentationTimestamp!.nanoseconds / 1_000_000)
        }
        let events = graph.events
        for _ in 0..<2 { try await graph.run() }
        #expect(frames.all == (0..<40).map { Self.bytes($0 % 20) })
        let cycle = ["initialize", "startSend", "stopSend", "uninitialize"]
        #expect(source.calls.all == cycle + cycle)
        #expect(try graph.videoSource("s").statistics.frames == 20)
        #expect(zip(times.all, times.all.dropFirst()).allSatisfy { $1 == $0 + 40 || $1 < $0 }, "\(times.all)")
        var statuses: [Bool] = []
        for await event in events { if case .streamStatus("p", let isOn) = event { statuses.append(isOn) } }
        #expect(statuses == [true, false])
    }

    @Test("GR-8 before PLAYING an appsrc's frames have time zero, whatever its clock shows")
    func timeBeforePlaying() throws {
        let element = try #require(Element(factory: "appsrc"))
        let owner = WeakElement(ElementInstance(element.raw))
        // The harness gives the element a clock at once, but starts it later.
        let harness = Harness(element, sink: nil, source: "src")
        harness.setTime(.seconds(5))
        let gate = VideoGate(owner: owner, marks: FrameMarks(), startsEarly: true)
        #expect(element.currentRunningTime == .seconds(5) && gate.runningTime == nil)
        harness.play()
        #expect(gate.runningTime == .seconds(5))
    }

    @Test("GR-8 frames before startSend and after stopSend are refused, counted and never delivered")
    func gate() async throws {
        let refusals = Log<MediaGraphError.Code>()
        let trying: @Sendable (VideoSender) -> Void = { sender in
            do throws(MediaGraphError) { try sendNow(sender, Self.bytes(9), Self.frame) } catch {
                refusals.add(error.code)
            }
        }
        let source = RecordingSource(
            onInitialize: trying,
            onStart: { sender in
                // A frame is accepted inside `startSend`.
                try sendNow(sender, Self.bytes(0), Self.frame)
                sender.endOfStream()
            })
        let graph = try Graph("appsrc name=s is-live=true ! appsink name=p sync=false")
        let node = try graph.videoSource("s")
        try node.attach(source)
        let frames = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { frames.add($0.packedBytes) }
        try await graph.run()
        trying(source.sender)
        #expect(refusals.all == [.wrongUsage, .wrongUsage])
        #expect(frames.all == [Self.bytes(0)])
        #expect(node.statistics.frames == 1 && node.statistics.refused == 2)
    }

    @Test("GR-8 a graph with a live appsrc that sends nothing reaches PLAYING and stops")
    func silent() async throws {
        let graph = try Graph("appsrc name=s is-live=true ! appsink name=p")
        let source = RecordingSource()
        try graph.videoSource("s").attach(source)
        try await graph.start()
        #expect(source.calls.all == ["initialize", "startSend"])
        await graph.stop()
        #expect(source.calls.all == ["initialize", "startSend", "stopSend", "uninitialize"])
    }

    @Test("GR-8 a source's capabilities follow the description's caps, which must be fixed")
    func capabilities() async throws {
        let sizes = [(160, 90), (320, 180), (640, 360)].map {
            VideoCapability(width: $0, height: $1, framesPerSecond: Fraction(30, 1))
        }
        let source = RecordingSource(capabilities: sizes)
        let graph = try Graph(
            """
            appsrc name=s is-live=true caps="video/x-raw, format=I420, width=320, height=180, framerate=30/1" ! appsink
            """)
        try graph.videoSource("s").attach(source)
        try await graph.start()
        #expect(source.supported == [sizes[1]] && source.suggested == sizes[1])
        await graph.stop()
        let range = try Graph("appsrc name=s caps=\"video/x-raw, width=[1,320]\" ! appsink")
        let error = #expect(throws: GraphError.self) { try range.videoSource("s") }
        #expect("\(error!)".contains("must be fixed"), "\(error!)")
    }

    @Test("GR-8 frames that the description's caps exclude are an error with both sides")
    func wrongCaps() async throws {
        let graph = try Graph(
            "appsrc name=s caps=\"video/x-raw, format=I420, width=32, height=4, framerate=25/1\" ! appsink")
        try graph.videoSource("s").attach(Self.pump(1))
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("the source sends video/x-raw") && "\(error!)".contains("32"), "\(error!)")
    }

    @Test("GR-8 memory that a source hands over reaches the consumer without a copy")
    func zeroCopy() async throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 96, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 7)
        let address = UInt(bitPattern: memory.baseAddress)
        let seen = Log<UInt>()
        let graph = try Graph("appsrc name=s ! appsink name=p sync=false")
        let source = RecordingSource(onStart: { sender in
            try sendOwning(UnsafeMutableRawPointer(bitPattern: address)!, sender)
            sender.endOfStream()
        })
        try graph.videoSource("s").attach(source)
        try graph.rawDataPipe("p").receive { frame in
            let received = try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            seen.add(received)
        }
        try await graph.run()
        #expect(seen.all == [address])
    }

    @Test("GR-8 an appsrc's properties control back-pressure, and drops are counted")
    func backPressure() async throws {
        let graph = try Graph(
            "appsrc name=s is-live=true leaky-type=upstream max-buffers=3 ! fakesink")
        let results = Log<Bool>()
        let source = RecordingSource(onStart: { sender in
            // Sending doesn't block inside `startSend`: three frames fit, and newer ones are dropped.
            for seed in 0..<5 {
                try sendNow(sender, Self.bytes(seed), Self.frame)
                results.add(true)
            }
        })
        let node = try graph.videoSource("s")
        try node.attach(source)
        let hold = FrameHold(at: try graph.element("s").staticPad("src")!)
        try await graph.start()
        #expect(results.all.count == 5)
        #expect(waitUntil { !hold.seen.all.isEmpty })
        hold.release()
        await graph.finish()
        // The first frame may have left before the others were sent.
        #expect((1...2).contains(node.statistics.dropped), "\(node.statistics)")
        #expect(node.statistics.frames == 5)
    }

    @Test("GR-8 a graph that is asked to finish ends after the frames that an appsrc was sent")
    func finish() async throws {
        let graph = try Graph("( appsrc name=s ) ! rawdatapipe name=p  videotestsrc is-live=true ! fakesink")
        let source = RecordingSource(onStart: { sender in
            for seed in 0..<2 { try sendNow(sender, Self.bytes(seed), Self.frame) }
        })
        try graph.videoSource("s").attach(source)
        let frames = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { frames.add($0.packedBytes) }
        try await graph.start()
        guard case .endOfStream = await graph.finish(within: .seconds(60)) else {
            Issue.record("the graph was stopped")
            return
        }
        #expect(frames.all == [Self.bytes(0), Self.bytes(1)])
    }

    @Test("GR-8 a source that can't start ends the graph with its error, and is uninitialized")
    func failingStart() async throws {
        struct Broken: Error {}
        for fails in ["initialize", "startSend"] {
            let source = RecordingSource(
                onInitialize: { _ in if fails == "initialize" { throw Broken() } },
                onStart: { _ in if fails == "startSend" { throw Broken() } })
            let graph = try Graph("appsrc name=s is-live=true ! appsink")
            try graph.videoSource("s").attach(source)
            let error = await #expect(throws: GraphError.self) { try await graph.start() }
            #expect("\(error!)".contains("Broken()"), "\(error!)")
            #expect(source.calls.all == (fails == "initialize" ? [fails] : ["initialize", fails]) + ["uninitialize"])
        }
    }

    @Test("GR-8 attaching a second source, detaching it too late and a late lookup are typed errors")
    func typedErrors() async throws {
        let graph = try Graph("appsrc name=s is-live=true ! appsink  appsrc name=t is-live=true ! appsink")
        let node = try graph.videoSource("s")
        try node.attach(RecordingSource())
        let second = #expect(throws: MediaGraphError.self) { try node.attach(RecordingSource()) }
        #expect(second?.code == .alreadyInUse)
        try node.detach()
        let source = RecordingSource()
        try node.attach(source)
        try await graph.start()
        let locked = #expect(throws: MediaGraphError.self) { try node.detach() }
        #expect(locked?.code == .lockedWhileRunning)
        let late = #expect(throws: GraphError.self) { try graph.videoSource("t") }
        #expect("\(late!)".contains("look it up before the graph starts"), "\(late!)")
        await graph.stop()
        #expect(throws: GraphError.self) { try graph.rawDataPipe("s") }
    }

    @Test(
        "GR-8 a flush of a waiting source returns at once, and no later frame is lost",
        .timeLimit(.minutes(10)), arguments: ["appsrc is-live=true", "appsrc", "videosource"])
    func flush(factory: String) async throws {
        let graph = try Graph("\(factory) name=s ! rawdatapipe name=p sync=false")
        let source = RecordingSource(onStart: { try sendNow($0, Self.bytes(0), Self.frame) })
        try graph.videoSource("s").attach(source)
        let frames = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { frames.add($0.packedBytes) }
        try await graph.start()
        #expect(waitUntil { frames.all.count == 1 })
        try graph.element("s").sendFlush()
        for seed in 1..<5 {
            try sendNow(source.sender, Self.bytes(seed), Self.frame)
            #expect(waitUntil { frames.all.count == seed + 1 })
        }
        #expect(frames.all == (0..<5).map(Self.bytes))
        await graph.stop()
    }

    @Test(
        "VS-1 a source can't be detached during `initialize`, and completes its cycle of calls",
        arguments: ["videosource", "appsrc is-live=true"])
    func detachedInside(factory: String) async throws {
        let graph = try Graph("\(factory) name=s ! fakesink")
        let node = try graph.videoSource("s")
        let refusals = Log<MediaGraphError.Code>()
        let source = RecordingSource(onInitialize: { [element = node.element] _ in
            do throws(MediaGraphError) { try NodeVTable.detach(MGVideoSource.self, from: element) } catch {
                refusals.add(error.code)
            }
        })
        try node.attach(source)
        try await graph.start()
        await graph.stop()
        #expect(refusals.all == [.lockedWhileRunning])
        #expect(source.calls.all == ["initialize", "startSend", "stopSend", "uninitialize"])
    }
}

private func sendOwning(_ memory: UnsafeMutableRawPointer, _ sender: VideoSender) throws {
    try sender.send(
        owning: UnsafeMutableRawBufferPointer(start: memory, count: 96), FrameDescription(width: 16, height: 4),
        release: { $0?.deallocate() }, context: memory)
}
