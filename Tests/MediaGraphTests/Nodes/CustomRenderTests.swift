import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphHandlers

/// Tests custom rendering: the frames that the program gets, and those that leave `src`.
@Suite struct CustomRenderTests {
    init() throws { try Nodes.register() }

    /// Returns the digests of the frames that two pipes get: the program's pipe, and one behind its `src`.
    private func digests(_ properties: String, frames: Int) async throws -> (app: [String], engine: [String]) {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options=\"frames=\(frames),width=64,height=32\" !
            rawdatapipe name=app \(properties) ! rawdatapipe name=engine
            """)
        let (app, engine) = (Log<String>(), Log<String>())
        for (name, log) in [("app", app), ("engine", engine)] {
            try graph.rawDataPipe(name).receive { frame in
                let checksum = Checksum(.md5)
                try frame.withPackedRows { checksum.update($0) }
                log.add(checksum.finish())
            }
        }
        try await graph.run()
        return (app.all, engine.all)
    }

    @Test("CR-1 without engine-render only the program gets frames, and the branch at `src` still ends")
    func appOnly() async throws {
        let (app, engine) = try await digests("", frames: 5)
        #expect(app.count == 5)
        #expect(engine.isEmpty)
    }

    @Test("CR-1 with engine-render the program gets each frame, and `src` gets the same")
    func both() async throws {
        let (app, engine) = try await digests("engine-render=true", frames: 5)
        #expect(Set(app).count == 5)
        #expect(app == engine)
    }

    @Test("CR-1 the program gets its frames even if `src` is unlinked")
    func unlinked() async throws {
        for isRequested in [false, true] {
            let graph = try Graph(
                """
                videosource handler=counter pace=fast options=\"frames=5,width=64,height=32\" !
                rawdatapipe name=app engine-render=true
                """)
            let numbers = Log<UInt32>()
            try graph.rawDataPipe("app").receive { numbers.add(try FrameNumber.read($0)) }
            let pad = isRequested ? try graph.element("app").requestPad("src") : nil
            #expect((pad != nil) == isRequested)
            try await graph.run()
            #expect(numbers.all == Array(0..<5))
            if let pad { try graph.element("app").releasePad(pad) }
        }
    }

    @Test("CR-1 `src` may be requested only while the pipe is stopped; later it is refused with a warning")
    func requested() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=p engine-render=true")
        let warnings = Log<String>()
        pipeline.onMessage { if case .warning(let report) = $0.kind { warnings.add(report.error.message) } }
        let pipe = try #require(pipeline.element(named: "p"))
        for _ in 0..<3 {
            let pad = try #require(pipe.requestPad("src"))
            pipeline.setState(.playing)
            #expect(waitUntil { NodeCounts(pipe)!.frames > 2 })
            pipeline.setState(.ready)
            pipe.releasePad(pad)
        }
        pipeline.setState(.playing)
        #expect(pipe.requestPad("src") == nil)
        #expect(warnings.all == ["p: src can't be added while the graph runs; link it before the graph starts"])
        #expect(waitUntil { NodeCounts(pipe)!.frames > 2 })
        pipeline.setState(.null)
    }

    @Test("CR-1 without engine-render, each frame of a buffer list leaves `src` as a gap")
    func lists() throws {
        let harness = Harness(try #require(Element(factory: "rawdatapipe")), sink: "sink", source: "src")
        // The frames of a live stream would wait for the clock, which stands still.
        harness.setLive(false)
        harness.setSourceCaps("video/x-raw,format=BGRA,width=2,height=1,framerate=30/1")
        let frames = [[UInt8]](repeating: [1, 2, 3, 4, 5, 6, 7, 8], count: 3)
        #expect(harness.push(list: frames, lasting: .milliseconds(33)) == .ok)
        #expect(harness.pulledEvents().filter { $0 == "gap" }.count == 3)
        #expect(harness.bufferCount == 0)
    }

    @Test("CR-1 a `src` that can't be linked is refused, and no part of it stays in the pipe")
    func failedRequest() throws {
        let pipeline = try Pipeline(parsing: "rawdatapipe name=p engine-render=true")
        let pipe = try #require(pipeline.element(named: "p"))
        let node = ElementClass.implementation(of: pipe.element, as: RawDataPipeElement.self)
        let children = pipeline.allElements
        // Nothing can be linked to an element of another bin.
        let appSink = try #require(children.first { $0.factoryName == "appsink" })
        node.remove(appSink, stops: false)
        #expect(pipe.requestPad("src") == nil)
        node.add(appSink)
        #expect(Set(pipeline.allElements) == Set(children))
        let pad = try #require(pipe.requestPad("src"))
        pipe.releasePad(pad)
        #expect(Set(pipeline.allElements) == Set(children))
    }

    @Test("CR-2 published frames are the same byte for byte, whatever the program asks for")
    func published() async throws {
        let alone = try await digests("engine-render=true", frames: 1000).engine
        let customized = try await digests(
            "engine-render=true format=BGRA resolution=90p apply-mirror=true", frames: 1000)
        #expect(Set(alone).count == 1000)
        #expect(customized.engine == alone)
        #expect(customized.app.count == 1000 && customized.app != alone)
    }

    private struct Receiver: VideoConsumer {
        var onFrame: @Sendable (borrowing VideoFrame) throws -> Void
        func receive(_ frame: borrowing VideoFrame) throws { try onFrame(frame) }
    }

    @Test("CR-3 frames have their flip and stream ID, kept ones too, and the pipe flips nothing")
    func flipAndStream() throws {
        let seen = Log<String>()
        let kept = Log<OwnedVideoFrame>()
        let element = try #require(Element(factory: "rawdatapipe"))
        try element.setProperty("format", parsing: "BGRA")
        try NodeVTable.attach(
            Receiver(onFrame: { frame in
                seen.add("\(frame.flip) \(frame.streamID ?? "-") \(try frame.plane(.packed).row(0)[0])")
                kept.add(try frame.retain())
            }), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        for (stream, flips) in [("demo/bob/video", [Flip.none, .x]), ("demo/eve/video", [.y, .xy])] {
            harness.push(.streamStart(stream))
            harness.setSourceCaps("video/x-raw,format=BGRA,width=2,height=1,framerate=30/1")
            for flip in flips {
                let buffer = Buffer([1, 2, 3, 4, 5, 6, 7, 8])
                Flip.meta.set(flip.rawValue, on: buffer.access)
                harness.push(buffer)
            }
        }
        #expect(
            seen.all == ["none demo/bob/video 1", "x demo/bob/video 1", "y demo/eve/video 1", "xy demo/eve/video 1"])
        #expect(kept.all.map(\.flip) == [.none, .x, .y, .xy])
        #expect(kept.all.map(\.streamID) == ["demo/bob/video", "demo/bob/video", "demo/eve/video", "demo/eve/video"])
    }

    @Test(
        "CR-5 changing the configuration while running is an error, and the old value stays",
        arguments: [
            ("buffer-type", "encoded"), ("format", "rgb"), ("engine-render", "true"), ("apply-rotation", "true"),
            ("apply-mirror", "true"), ("resolution", "90p"), ("memory-mode", "heap"),
        ])
    func locked(property: String, value: String) throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=p")
        let pipe = try #require(pipeline.element(named: "p"))
        let before = try pipe.propertyText(property)
        pipeline.setState(.playing)
        #expect(throws: PropertyError.self) { try pipe.setProperty(property, parsing: value) }
        #expect(try pipe.propertyText(property) == before)
        pipeline.setState(.null)
        try pipe.setProperty(property, parsing: value)
        #expect(try pipe.propertyText(property) == value)
    }

    @Test("CR-6 frames have the configured size and rate, and a lower rate behind flow control")
    func captureSizeAndRate() async throws {
        for (drop, step) in [("", 40), (" ! videorate drop-only=true max-rate=5", 200)] {
            let graph = try Graph(
                """
                videotestsrc num-buffers=50 ! video/x-raw,width=320,height=240,framerate=25/1\(drop) !
                rawdatapipe name=p
                """)
            let sizes = Log<[Int]>()
            let times = Log<Int>()
            try graph.rawDataPipe("p").receive { frame in
                sizes.add([frame.width, frame.height])
                times.add(Int(frame.runningTime!.nanoseconds / 1_000_000))
            }
            try await graph.run()
            #expect(Set(sizes.all) == [[320, 240]])
            #expect(times.all == (0..<(2000 / step)).map { $0 * step })
        }
    }

    @Test("CR-3 captured frames have the flip that their source's node had when they were sent")
    func sourceFlip() async throws {
        let graph = try Graph("videosource name=s pace=fast flip=x ! rawdatapipe name=p")
        let node = try graph.videoSource("s")
        let source = RecordingSource(onStart: { sender in
            // Inside `startSend`, sending neither blocks nor drops a frame.
            for flip in [Flip.x, .xy, .none, .y] {
                try node.set("flip", to: flip)
                try sendNow(sender, patternedFrame(width: 16, height: 4), FrameDescription(width: 16, height: 4))
            }
            sender.endOfStream()
        })
        try node.attach(source)
        let seen = Log<Flip>()
        let kept = Log<OwnedVideoFrame>()
        try graph.rawDataPipe("p").receive { frame in
            seen.add(frame.flip)
            kept.add(try frame.retain())
        }
        try await graph.run()
        #expect(seen.all == [.x, .xy, .none, .y])
        #expect(kept.all.map(\.flip) == seen.all)
        try node.detach()
    }

    @Test(
        "CR-1 both branches run behind a delayed link, with and without engine-render",
        arguments: [true, false])
    func linkedLater(rendersEngine: Bool) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=5 ! jpegenc ! decodebin ! videoconvert !
            rawdatapipe name=p engine-render=\(rendersEngine) ! fakesink
            """)
        try await graph.run()
        #expect(try NodeCounts(graph.element("p"))?.frames == 5)
    }

    @Test("CR-1 `src` may be released while frames flow, and the program's frames go on")
    func releasedWhileRunning() throws {
        for _ in 0..<20 {
            let pipeline = try Pipeline(
                parsing: """
                    videotestsrc is-live=true ! video/x-raw,width=16,height=16,framerate=1000/1 !
                    rawdatapipe name=p engine-render=true ! fakesink name=s sync=false
                    """)
            let pipe = try #require(pipeline.element(named: "p"))
            pipeline.setState(.playing)
            #expect(waitUntil { NodeCounts(pipe)!.frames > 2 })
            let source = try #require(pipe.staticPad("src"))
            pipe.releasePad(source)
            let count = NodeCounts(pipe)!.frames
            #expect(waitUntil { NodeCounts(pipe)!.frames > count + 10 })
            pipeline.setState(.null)
        }
    }
}
