import CGStreamer
import CMediaGraphABI
import GStreamer
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests how a pipe's run begins and pauses, and which settings are refused.
@Suite struct PipeRunTests {
    init() throws { try Nodes.register() }

    private struct Receiver: VideoConsumer {
        var onFrame: @Sendable (borrowing VideoFrame) -> Void = { _ in }
        func receive(_ frame: borrowing VideoFrame) throws { onFrame(frame) }
    }

    private struct Recorder: VideoConsumer {
        let log = Log<String>()
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) { log.add("frame") }
    }

    @Test("RP-5 if upstream's liveness is unknown, a pipe queries it again at the first frame")
    func livenessAskedAgain() throws {
        let element = try #require(Element(factory: "rawdatapipe"))
        let thread = Mutex<UInt>(0)
        try NodeVTable.attach(
            Receiver(onFrame: { _ in thread.withLock { $0 = currentThreadID() } }), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        let isKnown = Atomic<Bool>(false)
        harness.answerLatency { isKnown.load(ordering: .acquiring) }
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        isKnown.store(true, ordering: .releasing)
        // The stream is live, so the frame arrives on the pipe's own thread.
        harness.push([UInt8](repeating: 0, count: 96))
        #expect(waitUntil { thread.withLock { $0 } != 0 })
        #expect(thread.withLock { $0 } != currentThreadID())
    }

    @Test(
        "RP-5 pausing a blocking pipe that nobody reads loses no frame and adds at most one each time",
        arguments: [1, 2, 5])
    func pauseHoldsTheBound(maxFrames: Int) throws {
        let pipeline = try Pipeline(
            parsing: """
                videotestsrc ! video/x-raw,width=16,height=16 !
                rawdatapipe name=p backpressure=block max-frames=\(maxFrames)
                """)
        let pipe = try #require(pipeline.element(named: "p"))
        let channel = FrameChannel<OwnedVideoFrame>()
        try NodeVTable.attach(MGVideoConsumer(channel), to: pipe)
        pipeline.setState(.playing)
        #expect(waitUntil { channel.count == maxFrames })
        for _ in 0..<5 {
            #expect(pipeline.setState(.paused) != .failure)
            #expect(pipeline.waitForState(timeout: .seconds(60)).state == .paused)
            pipeline.setState(.playing)
        }
        #expect((maxFrames...maxFrames + 5).contains(channel.count))
        #expect(NodeCounts(pipe)?.dropped == 0)
        pipeline.setState(.null)
    }

    @Test("RP-1 attaching a handler beside `handler=` is refused in READY as in NULL")
    func attachBesideNamed() throws {
        for state in [State.null, .ready] {
            let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=p handler=count")
            pipeline.setState(state)
            #expect(
                throws: MediaGraphError.alreadyInUse(.init("p", actual: "already has a handler; remove it first"))
            ) {
                try NodeVTable.attach(Receiver(), to: try #require(pipeline.element(named: "p")))
            }
            pipeline.setState(.null)
        }
    }

    @Test(
        "EL-1 a pipe behind a delayed link prerolls like any sink; otherwise a graph doesn't wait for it",
        arguments: [
            ("videotestsrc num-buffers=3 ! jpegenc ! decodebin ! videoconvert ! rawdatapipe name=p", true),
            (
                "videotestsrc num-buffers=3 ! jpegenc ! decodebin ! tee name=t ! rawdatapipe name=p  t. ! rawdatapipe",
                false
            ),
            (
                """
                videotestsrc num-buffers=3 ! jpegenc ! decodebin ! tee name=t ! queue ! rawdatapipe name=p
                t. ! queue ! rawdatapipe
                """, true
            ),
            ("videotestsrc num-buffers=3 ! queue ! rawdatapipe name=p", false),
        ])
    func prerolls(text: String, isExpected: Bool) throws {
        let pipeline = try Pipeline(parsing: text)
        let pipe = try #require(pipeline.element(named: "p"))
        let recorder = Recorder()
        try NodeVTable.attach(recorder, to: pipe)
        let hasEnded = Atomic<Bool>(false)
        pipeline.onMessage { if case .endOfStream = $0.kind { hasEnded.store(true, ordering: .relaxed) } }
        #expect(pipe.setState(.ready) == .success)
        #expect((pipe.setState(.paused) == .async) == isExpected)
        pipeline.setState(.paused)
        #expect(pipeline.waitForState(timeout: .seconds(60)).state == .paused)
        pipeline.setState(.playing)
        #expect(waitUntil { hasEnded.load(ordering: .relaxed) })
        #expect(recorder.log.all == ["on", "frame", "frame", "frame", "off"])
        pipeline.setState(.null)
    }

    @Test("EL-1 PLAYING doesn't wait for the handler's first frame", .timeLimit(.minutes(10)))
    func firstFrame() throws {
        for text in [
            "videotestsrc num-buffers=3 ! rawdatapipe name=p",
            "videotestsrc num-buffers=3 ! jpegenc ! decodebin ! videoconvert ! rawdatapipe name=p",
        ] {
            for _ in 0..<20 {
                let pipeline = try Pipeline(parsing: text)
                let isHeld = BlockingMonitor(true)
                try NodeVTable.attach(
                    Receiver(onFrame: { _ in _ = isHeld.wait { $0 ? nil : true } }),
                    to: try #require(pipeline.element(named: "p")))
                pipeline.setState(.paused)
                #expect(pipeline.waitForState(timeout: .seconds(60)).state == .paused)
                // The call returns while the handler holds its first frame, or before the frame arrives.
                #expect(pipeline.setState(.playing) != .failure)
                isHeld.withLock { $0 = false }
                pipeline.setState(.null)
            }
        }
    }

    @Test(
        "EL-1 the change to PLAYING doesn't wait for a frame that is already on its way to the sink",
        arguments: [false, true])
    func frameUnderWay(seeks: Bool) throws {
        for _ in 0..<10 {
            let pipeline = try Pipeline(parsing: "videotestsrc num-buffers=3 ! rawdatapipe name=p")
            let pipe = try #require(pipeline.element(named: "p"))
            let appSink = try #require(pipeline.allElements.first { $0.factoryName == "appsink" })
            let (isHeld, isUnderWay, mayContinue) = (
                BlockingMonitor(true), BlockingMonitor(false), BlockingMonitor(false)
            )
            let seen = Atomic<Int>(0)
            let streaming = Mutex<ObservedThread?>(nil)
            let changing = Mutex<ObservedThread?>(nil)
            let frames = Log<Bool>()
            try NodeVTable.attach(
                Receiver(onFrame: { _ in
                    _ = isHeld.wait { $0 ? nil : true }
                    frames.add(true)
                }), to: pipe)
            // Holds a frame that is on its way to the sink when the change begins.
            try #require(pipe.staticPad("sink")).observeBuffers { _ in
                // Before a seek the first frame goes on into the sink.
                if seen.wrappingAdd(1, ordering: .relaxed).oldValue == 0, seeks { return }
                isUnderWay.withLock { $0 = true }
                _ = mayContinue.wait { $0 ? true : nil }
                streaming.withLock { $0 = .current }
            }
            let hasEnded = BlockingMonitor(false)
            pipeline.onMessage { if case .endOfStream = $0.kind { hasEnded.withLock { $0 = true } } }
            pipeline.setState(.paused)
            if seeks {
                #expect(waitUntil { seen.load(ordering: .relaxed) == 1 })
                let element = pipeline.raw.assumingMemoryBound(to: GstElement.self)
                #expect(gst_element_seek_simple(element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0) != 0)
            }
            _ = isUnderWay.wait { $0 ? true : nil }
            let isDone = Atomic<Bool>(false)
            var thread: NativeThread?
            appSink.withPrerollLock {
                mayContinue.withLock { $0 = true }
                // The frame waits for the lock before the change does.
                #expect(waitUntil { streaming.withLock { $0 }?.isWaiting == true })
                thread = NativeThread("change") {
                    changing.withLock { $0 = .current }
                    pipeline.setState(.playing)
                    isDone.store(true, ordering: .releasing)
                }
                #expect(waitUntil { appSink.isAboutToPlay && changing.withLock { $0 }?.isWaiting == true })
            }
            #expect(waitUntil { isDone.load(ordering: .acquiring) })
            isHeld.withLock { $0 = false }
            thread?.join()
            #expect(waitUntil { hasEnded.withLock { $0 } })
            // The frame before the seek is discarded.
            #expect(frames.all.count == (seeks ? 2 : 3))
            pipeline.setState(.null)
        }
    }

    @Test("EL-1 a pipe that is PAUSED while its sink plays can be paused and stopped")
    func pausesFromPaused() throws {
        let pipeline = try Pipeline(
            parsing: "videotestsrc ! video/x-raw,width=16,height=16 ! rawdatapipe name=p backpressure=block")
        let pipe = try #require(pipeline.element(named: "p"))
        let channel = FrameChannel<OwnedVideoFrame>()
        try NodeVTable.attach(MGVideoConsumer(channel), to: pipe)
        let streaming = Mutex<ObservedThread?>(nil)
        try #require(pipe.staticPad("sink")).observeBuffers { _ in streaming.withLock { $0 = $0 ?? .current } }
        pipeline.setState(.playing)
        // Nobody reads the frames, so the streaming thread waits for room.
        #expect(waitUntil { channel.count >= 2 && streaming.withLock { $0 }?.isWaiting == true })
        let isDone = Atomic<Bool>(false)
        let thread = NativeThread("change") {
            // GStreamer requests this change from a bin whose sink has completed the change to PLAYING by itself.
            _ = gst_element_change_state(
                pipe.raw.assumingMemoryBound(to: GstElement.self), GstStateChange(rawValue: 3 << 3 | 3))
            isDone.store(true, ordering: .releasing)
        }
        #expect(waitUntil { isDone.load(ordering: .acquiring) })
        if isDone.load(ordering: .acquiring) {
            thread.join()
            pipeline.setState(.null)
        }
    }

    @Test("CR-1 a listener of `pad-added` for `src` may query the pipe's caps")
    func padAdded() throws {
        let pipe = try #require(Element(factory: "rawdatapipe"))
        let sink = try #require(pipe.staticPad("sink"))
        let answers = Log<Bool>()
        pipe.listen(to: "pad-added") { answers.add(sink.queryCaps().canIntersect(.anyRawVideo)) }
        let pad = try #require(pipe.requestPad("src"))
        pipe.releasePad(pad)
        #expect(pipe.requestPad("src") != nil)
        #expect(answers.all == [true, true])
    }

    @Test(
        "EL-1 settings that are read when leaving NULL are locked from READY on, and documented as such",
        arguments: [
            ("rawdatapipe", "handler", "count"), ("rawdatapipe", "options", "x=1"),
            ("rawdatapipe", "memory-mode", "heap"),
            ("videosource", "handler", "counter"), ("videosource", "pace", "fast"), ("videosource", "max-frames", "3"),
            ("videosource", "backpressure", "block"), ("videosource", "rotation-tag", "true"),
            ("virtualmic", "handler", "tone"), ("virtualmic", "pace", "fast"), ("virtualmic", "stereo", "true"),
            ("virtualspeaker", "handler", "level"), ("virtualspeaker", "memory-mode", "heap"),
        ])
    func lockedInReady(factory: String, property: String, value: String) throws {
        let element = try #require(Element(factory: factory))
        let before = try element.propertyText(property)
        #expect(element.setState(.ready) == .success)
        let error = try #require(throws: PropertyError.self) {
            try element.setProperty(property, parsing: value)
        }
        #expect("\(error)".contains("set it in NULL"), "\(error)")
        #expect(try element.propertyText(property) == before)
        element.setState(.null)
        try element.setProperty(property, parsing: value)
        #expect(try element.propertyText(property) == value)
        let info = try #require(PropertyInfo.find(property, of: g_type_from_name(element.typeName)))
        #expect(info.blurb.hasSuffix("(changeable only in NULL state)"))
    }

    @Test("RP-4 a stream that goes off before its receiver's thread has started gives one on and one off")
    func shortStream() throws {
        for round in 0..<50 {
            let recorder = Recorder()
            let element = try #require(Element(factory: "rawdatapipe"))
            try element.setProperty("backpressure", parsing: "drop-old")
            // The harness's clock never advances.
            try element.setProperty("sync", parsing: "false")
            try NodeVTable.attach(recorder, to: element)
            let bus = gst_bus_new()!
            let raw = element.raw.assumingMemoryBound(to: GstElement.self)
            gst_element_set_bus(raw, bus)
            let harness = Harness(element, sink: "sink", source: nil)
            harness.setLive(true)
            harness.setSourceCaps("video/x-raw,format=I420,width=16,height=16,framerate=30/1")
            harness.push([UInt8](repeating: 9, count: 16 * 16 * 3 / 2))
            // In some rounds the status changes just as the thread starts.
            g_usleep(UInt(round % 10 * 20))
            harness.push(.custom(StreamStatus.event(on: false)))
            guard waitUntil({ recorder.log.all == ["on", "frame", "off"] }) else {
                Issue.record("\(recorder.log.all)")
                return
            }
            element.setState(.null)
            var statuses: [Bool?] = []
            while let message = gst_bus_pop(bus) {
                if case .element(let structure) = Message(message).kind, structure.name == StreamStatus.eventName {
                    statuses.append(structure["on", as: Bool.self])
                }
                gst_mini_object_unref(UnsafeMutableRawPointer(message).assumingMemoryBound(to: GstMiniObject.self))
            }
            gst_element_set_bus(raw, nil)
            gst_object_unref(bus)
            #expect(statuses == [true, false])
        }
    }
}
