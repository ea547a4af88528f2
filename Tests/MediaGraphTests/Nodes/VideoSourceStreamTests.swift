import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a `videosource` as a GStreamer source: its events, its end and its refusals.
@Suite struct VideoSourceStreamTests {
    init() throws { try Nodes.register() }

    private static let frame = FrameDescription(width: 16, height: 16, timestamp: .zero)
    private static let bytes = patternedFrame(width: 16, height: 16)

    private func send(_ source: RecordingSource, at milliseconds: UInt64 = 0) throws {
        var frame = Self.frame
        frame.timestamp = .milliseconds(milliseconds)
        try sendNow(source.sender, Self.bytes, frame)
    }

    /// Logs frames and status changes in their order.
    private struct Recorder: VideoConsumer {
        let log: Log<String>
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) { log.add("frame") }
    }

    @Test("EL-1 each start from READY begins a new stream with caps, frames and an end")
    func throughReady() throws {
        let pipeline = try Pipeline(
            parsing: """
                videosource handler=counter pace=fast options="frames=5,width=16,height=16" ! videoconvert !
                video/x-raw,format=BGRA ! fakesink name=sink signal-handoffs=false
                """)
        let ends = Log<String>()
        pipeline.onMessage { message in
            switch message.kind {
            case .endOfStream: ends.add("end")
            case .error(let report): ends.add(report.error.message)
            default: break
            }
        }
        for cycle in 1...3 {
            pipeline.setState(.playing)
            #expect(waitUntil { ends.all.count == cycle })
            pipeline.setState(.ready)
        }
        #expect(ends.all == ["end", "end", "end"])
        pipeline.setState(.null)
    }

    @Test(
        "RP-4 the status off has reached the pipe when the source's change to PAUSED returns",
        arguments: ["live", "fast"])
    func offBeforePaused(pace: String) throws {
        let graph = try Graph("videosource name=src pace=\(pace) ! rawdatapipe name=pipe backpressure=block sync=false")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        // Changes only the source's state: a pipeline stops its sinks first, and a sink in PAUSED holds its next frame.
        graph.pipeline.setState(.playing)
        let element = try graph.element("src")
        for cycle in 1...50 {
            try send(source, at: UInt64(cycle))
            #expect(element.setState(.paused) != .failure)
            #expect(
                log.all.suffix(3) == ["on", "frame", "off"] && log.all.count == cycle * 3, "cycle \(cycle): \(log.all)")
            element.setState(.playing)
        }
        graph.pipeline.setState(.null)
        #expect(log.all.count == 150)
    }

    @Test("RP-4 the status off has reached the pipe when the pipeline's change to PAUSED returns")
    func offBeforePipelinePaused() throws {
        let graph = try Graph("videosource name=src ! rawdatapipe name=pipe backpressure=block sync=false")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        graph.pipeline.setState(.playing)
        for cycle in 1...20 {
            try send(source, at: UInt64(cycle))
            #expect(waitUntil { log.all.count == cycle * 3 - 1 })
            graph.pipeline.setState(.paused)
            #expect(log.all.last == "off" && log.all.count == cycle * 3, "cycle \(cycle): \(log.all)")
            graph.pipeline.setState(.playing)
        }
        graph.pipeline.setState(.null)
    }

    @Test(
        "RP-4 a sink that holds a frame doesn't block the change to PAUSED, and off precedes later frames")
    func offBehindHeldFrame() throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe backpressure=block sync=false")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        graph.pipeline.setState(.playing)
        try send(source)
        #expect(waitUntil { log.all == ["on", "frame"] })
        // A sink in PAUSED doesn't take these frames.
        try #require(graph.pipeline.elements.last?.factoryName == "rawdatapipe")
        graph.pipeline.elements.last?.setState(.paused)
        try send(source, at: 1)
        try send(source, at: 2)
        let sink = try #require(graph.pipeline.elements.last?.staticPad("sink"))
        #expect(waitUntil { sink.isReceiving })
        graph.pipeline.setState(.paused)
        #expect(log.all == ["on", "frame"])
        graph.pipeline.setState(.playing)
        #expect(waitUntil { log.all.count == 6 })
        #expect(log.all == ["on", "frame", "frame", "off", "on", "frame"])
        graph.pipeline.setState(.null)
    }

    @Test(
        "EL-2 an EOS event sent to the element ends the stream after the queued frames")
    func endOfStreamEvent() async throws {
        let graph = try Graph("videosource name=src pace=fast max-frames=8 ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        try await graph.start()
        for index in 0..<5 { try send(source, at: UInt64(index)) }
        #expect(try graph.element("src").sendEndOfStream())
        #expect(throws: MediaGraphError.self) { try send(source, at: 9) }
        _ = try await graph.waitUntilEnd()
        #expect(log.all == ["on", "frame", "frame", "frame", "frame", "frame", "off"])
        await graph.stop()
    }

    @Test("EL-2 an EOS event sent to the element ends a stream without frames")
    func endOfStreamWithoutSource() async throws {
        let graph = try Graph("videosource name=src ! fakesink")
        try await graph.start()
        #expect(try graph.element("src").sendEndOfStream())
        guard case .endOfStream = try await graph.waitUntilEnd() else {
            Issue.record("no end of stream")
            return
        }
        await graph.stop()
    }

    @Test("EL-2 num-buffers ends the stream after that number of frames, and the sender gets an error")
    func numBuffers() async throws {
        let graph = try Graph("videosource name=src pace=fast num-buffers=2 ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        try await graph.start()
        try send(source)
        try send(source, at: 1)
        _ = try await graph.waitUntilEnd()
        #expect(log.all.filter { $0 == "frame" }.count == 2)
        var refusal: MediaGraphError?
        for index in 2..<10 where refusal == nil {
            do throws(MediaGraphError) { try sendNow(source.sender, Self.bytes, Self.frame) } catch { refusal = error }
            _ = index
        }
        #expect(refusal?.code == .timeOut || refusal?.code == .wrongUsage, "\(String(describing: refusal))")
        await graph.stop()
    }

    @Test("RP-4 the status goes off before the end that num-buffers causes, in each cycle")
    func statusBeforeLimit() throws {
        let element = try #require(Element(factory: "videosource"))
        try element.setProperty("num-buffers", to: Int32(2))
        let source = RecordingSource()
        try NodeVTable.attach(source, to: element)
        let harness = Harness(element, sink: nil, source: "src")
        harness.play()
        for cycle in 1...2 {
            for index in 0..<2 { try send(source, at: UInt64(index)) }
            var events: [String] = []
            #expect(
                waitUntil {
                    events += harness.pulledEvents()
                    return events.contains("eos")
                })
            // The status is on before the first frame and off after the last.
            #expect(events.filter { $0 == "custom-downstream-sticky" }.count == 2, "cycle \(cycle)")
            #expect(events.suffix(2) == ["custom-downstream-sticky", "eos"])
            #expect(harness.pull() != nil && harness.pull() != nil)
            element.setState(.ready)
            element.setState(.playing)
        }
    }

    @Test("EL-2 a flush drops and counts queued frames, and later frames come in a new segment")
    func flush() throws {
        let element = try #require(Element(factory: "videosource"))
        try element.setProperty("pace", parsing: "fast")
        let source = RecordingSource()
        try NodeVTable.attach(source, to: element)
        let harness = Harness(element, sink: nil, source: "src")
        harness.play()
        try send(source)
        #expect(harness.pulledTimestamp() == .zero)
        _ = harness.pulledEvents()
        element.sendFlush()
        try send(source, at: 7)
        #expect(harness.pulledTimestamp() == .milliseconds(7))
        #expect(harness.pulledEvents() == ["flush-start", "flush-stop", "segment"])
        element.setState(.null)
    }

    @Test("EL-2 seeks are refused, because the source is live")
    func seek() throws {
        let element = try #require(Element(factory: "videosource"))
        try NodeVTable.attach(RecordingSource(), to: element)
        let harness = Harness(element, sink: nil, source: "src")
        harness.play()
        #expect(!harness.seekUpstream(to: .zero))
        element.setState(.null)
    }

    @Test("EL-3 caps that downstream refuses end the graph with an error that names both sides")
    func refusedCaps() async throws {
        let graph = try Graph("videosource name=src ! video/x-raw,format=I420,width=32,height=32 ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        try await graph.start()
        try send(source)
        let error = await #expect(throws: GraphError.self) { try await graph.waitUntilEnd() }
        guard case .failed(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(
            failure.element == "src" && failure.error.message == "src: downstream doesn't accept the source's format")
        #expect(failure.debug.contains("not-negotiated"))
        #expect(
            failure.debug.contains("the source sends video/x-raw, format=(string)I420, width=(int)16, height=(int)16"))
        #expect(
            failure.debug.contains("downstream accepts video/x-raw, format=(string)I420, width=(int)32, height=(int)32")
        )
        #expect(throws: MediaGraphError.self) { try send(source) }
        await graph.stop()
    }

    @Test("VS-1 attaching a source beside `handler=` is a typed error, in any order and state")
    func twoSources() throws {
        for state in [State.null, .ready] {
            let graph = try Graph("videosource name=src handler=counter ! fakesink")
            graph.pipeline.setState(state)
            #expect(throws: MediaGraphError.self) { try graph.videoSource("src").attach(RecordingSource()) }
            graph.pipeline.setState(.null)
        }
        let graph = try Graph("videosource name=src ! fakesink")
        try graph.videoSource("src").attach(RecordingSource())
        #expect(throws: PropertyError.self) { try graph.videoSource("src").set("handler", to: "counter") }
        #expect(try graph.element("src").property("handler", as: String.self) == "")
    }

    @Test("VS-1 a node without a source posts a warning at its start")
    func nobodySends() throws {
        let graph = try Graph("videosource name=src ! fakesink")
        let warnings = Log<String>()
        graph.pipeline.onMessage { if case .warning(let report) = $0.kind { warnings.add(report.error.message) } }
        graph.pipeline.setState(.playing)
        #expect(
            warnings.all == ["src: there is no source, so nothing will be sent; set handler=… or attach a source"])
        graph.pipeline.setState(.null)
    }

    @Test("EL-2 a flush restarts the stream after downstream has ended it", arguments: ["drop-old", "block"])
    func flushAfterEnd(policy: String) throws {
        let pipeline = try Pipeline(
            parsing: """
                videosource name=src pace=fast backpressure=\(policy) block-timeout=1000000 !
                identity name=i eos-after=1 ! fakesink name=s async=false
                """)
        let element = try #require(pipeline.element(named: "src"))
        let source = RecordingSource()
        try NodeVTable.attach(source, to: element)
        pipeline.setState(.playing)
        let isRefused = waitUntil {
            do {
                try send(source)
                return false
            } catch { return true }
        }
        #expect(isRefused)
        let identity = try #require(pipeline.element(named: "i"))
        try identity.setProperty("eos-after", to: Int32(-1))
        element.sendFlush()
        // The streaming thread runs again.
        let isTaken = waitUntil { (try? send(source)) != nil }
        #expect(isTaken)
        pipeline.setState(.null)
    }

    @Test("VS-1 a failing `initialize` is called once for each start")
    func failingInitialize() async throws {
        let graph = try Graph("videosource name=src ! fakesink")
        let source = RecordingSource(onInitialize: { _ in
            throw MediaGraphError.wrongUsage(.init("a camera", actual: "none"))
        })
        try graph.videoSource("src").attach(source)
        await #expect(throws: GraphError.self) { try await graph.start() }
        #expect(source.calls.all.filter { $0 == "initialize" }.count == 1)
    }

    @Test("VS-2 the caps have the rate that the source declared for the size, if there is one")
    func declaredRate() async throws {
        let graph = try Graph(
            "videosource name=src ! video/x-raw,width=16,height=16,framerate=25/1 ! rawdatapipe name=pipe")
        let source = RecordingSource(
            capabilities: [VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(25, 1))],
            onStart: { sender in
                try sendNow(sender, Self.bytes, FrameDescription(width: 16, height: 16))
                sender.endOfStream()
            })
        try graph.videoSource("src").attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("pipe").attach(Recorder(log: log))
        try await graph.run()
        #expect(log.all == ["on", "frame", "off"])
    }
}
