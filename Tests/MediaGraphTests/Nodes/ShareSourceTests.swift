import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests `sharesource` on its own: when its sources are called, and what leaves its pads.
@Suite struct ShareSourceTests {

    // MARK: SH-1

    @Test("SH-1 shareSendStarted and shareSendStopped are called once for each PLAYING, per stream")
    func lifecycle() throws {
        let share = try ShareHarness()
        try share.attach()
        let cycle = ["shareSendStarted", "startSendAudio", "shareSendStopped", "stopSendAudio"]
        for state in [State.ready, .paused] {
            #expect(share.graph.pipeline.setState(state) != .failure)
            #expect(share.source.calls.all == [])
        }
        for state in [State.playing, .paused, .playing, .paused, .ready, .null] {
            #expect(share.graph.pipeline.setState(state) != .failure)
        }
        #expect(share.source.calls.all == cycle + cycle)
    }

    @Test("SH-1 data sent before the start or after the stop is refused with a typed error and counted")
    func gate() throws {
        let share = try ShareHarness()
        try share.attach()
        share.graph.pipeline.setState(.playing)
        try share.send()
        #expect(waitUntil { share.videoTimes.all.count == 1 && share.audioTimes.all.count == 1 })
        share.graph.pipeline.setState(.paused)
        for send in [
            { try sendNow(share.source.sender, ShareHarness.frameBytes, ShareHarness.frame) },
            { try sendNow(share.source.audioSender, ShareHarness.block) },
        ] { #expect(errorCode(send) == .wrongUsage) }
        #expect(try share.node.statistics.refused == 1)
        #expect(try share.node.audioStatistics.refused == 1)
        share.graph.pipeline.setState(.null)
        #expect(share.videoTimes.all.count == 1 && share.audioTimes.all.count == 1)
    }

    @Test("SH-1 a source added to a running graph starts at once, and stopSharing waits for its stop")
    func whileRunning() async throws {
        let share = try ShareHarness()
        try await share.graph.start()
        #expect(errorCode { try share.attach() } == .lockedWhileRunning)
        for round in 1...3 {
            try await share.node.startSharing(share.source, audioSource: share.source)
            #expect(share.source.calls.all == ["shareSendStarted", "startSendAudio"])
            let second = await #expect(throws: MediaGraphError.self) {
                try await share.node.startSharing(RecordingShare(), audioSource: RecordingShare())
            }
            #expect(second?.code == .alreadyInUse)
            try share.send()
            try await share.node.stopSharing()
            #expect(share.videoTimes.all.count == round && share.audioTimes.all.count == round)
            #expect(
                share.source.calls.all == ["shareSendStarted", "startSendAudio", "shareSendStopped", "stopSendAudio"])
            #expect(errorCode { try share.send() } == .wrongUsage)
            share.source.calls.removeAll()
        }
        await share.graph.stop()
        #expect(share.source.calls.all == [])
    }

    private final class Pump: AsyncShareSource, AsyncShareAudioSource {
        let ended = Log<String>()

        func run(sender: VideoSender) async throws {
            defer { ended.add("video") }
            while true { try await sender.send(ShareHarness.frameBytes, ShareHarness.frame) }
        }

        func run(sender: AudioSender) async throws {
            defer { ended.add("audio") }
            while true { try await sender.send(ShareHarness.block, sampleRate: 48000) }
        }
    }

    @Test("SH-1 the node starts, cancels and awaits sources that are tasks, also at each pause")
    func tasks() async throws {
        let share = try ShareHarness("pace=fast")
        // The tasks end on a thread that other tests may block for seconds.
        for stream in ["share_video", "share_audio"] {
            try share.graph.element(stream).setProperty("stop-timeout", parsing: "60000000000")
        }
        let pump = Pump()
        try share.node.attach(pump)
        try share.node.attach(audioSource: pump)
        try await share.graph.start()
        for count in [2, 4] {
            let before = (share.videoTimes.all.count, share.audioTimes.all.count)
            // Suspends, because the tasks need this thread.
            #expect(
                try await eventually { share.videoTimes.all.count > before.0 && share.audioTimes.all.count > before.1 })
            try await share.node.pause()
            #expect(pump.ended.all.count == count)
            let (frames, blocks) = (share.videoTimes.all.count, share.audioTimes.all.count)
            try await share.node.resume()
            #expect(share.videoTimes.all.count >= frames && share.audioTimes.all.count >= blocks)
        }
        await share.graph.stop()
        #expect(
            pump.ended.all.sorted() == [String](repeating: "audio", count: 3) + [String](repeating: "video", count: 3)
        )
    }

    @Test("SH-1 a source whose start throws fails the state change and stops the other stream again")
    func failingStart() throws {
        struct NoScreen: Error {}
        let share = try ShareHarness()
        let source = RecordingShare(onStart: { _ in throw NoScreen() })
        try share.node.attach(source)
        try share.node.attach(audioSource: share.source)
        let pipeline = share.graph.pipeline
        let errors = Log<String>()
        pipeline.onMessage { message in
            if case .error(let report) = message.kind { errors.add("\(message.sourceName): \(report.error.message)") }
        }
        #expect(pipeline.setState(.playing) == .failure)
        #expect(errors.all == ["s: share_video: the source: NoScreen()"])
        #expect(share.source.calls.all == ["startSendAudio", "stopSendAudio"])
        pipeline.setState(.null)
        #expect(share.source.calls.all == ["startSendAudio", "stopSendAudio"])
    }

    @Test("SH-1 a source that fails to start in a running graph is an error for its caller, and isn't kept")
    func failingStartWhileRunning() async throws {
        struct NoScreen: Error {}
        let share = try ShareHarness()
        let pipeline = share.graph.pipeline
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add(report.error.message) } }
        pipeline.setState(.playing)
        weak var released: RecordingShare?
        do {
            let failing = RecordingShare(onStart: { _ in throw NoScreen() })
            released = failing
            let error = await #expect(throws: MediaGraphError.self) { try await share.node.startSharing(failing) }
            #expect(error?.code == .processingFailed)
            #expect(failing.calls.all == ["shareSendStarted"])
        }
        #expect(errors.all == ["share_video: the source: NoScreen()"])
        try await share.node.startSharing(share.source)
        // The control queue has released the first call before it makes this one.
        #expect(released == nil)
        #expect(share.source.calls.all == ["shareSendStarted"])
        try await share.node.stopSharing()
        pipeline.setState(.null)
    }

    /// A share whose task ignores its cancellation until the test lets it end, for a minute at most.
    private final class Stubborn: AsyncShareSource {
        let calls = Log<String>()
        let mayEnd = Atomic<Bool>(false)

        func shareSendStarted(sender: VideoSender) { calls.add("started") }
        func shareSendStopped() { calls.add("stopped") }

        func run(sender: VideoSender) async throws {
            calls.add("run")
            defer { calls.add("end") }
            let end = ContinuousClock.now + .seconds(60)
            while !mayEnd.load(ordering: .acquiring), ContinuousClock.now < end {
                try? await Task.sleep(for: .milliseconds(1))
                await Task.yield()
            }
        }
    }

    @Test("SH-1 a source whose task outlasts stop-timeout isn't shared again before the task has ended")
    func stubborn() async throws {
        let share = try ShareHarness()
        try share.graph.element("share_video").setProperty("stop-timeout", parsing: "1000000")
        let pipeline = share.graph.pipeline
        pipeline.onMessage { _ in }
        pipeline.setState(.playing)
        let source = Stubborn()
        try await share.node.startSharing(source)
        #expect(try await eventually { source.calls.all == ["started", "run"] })
        try await share.node.stopSharing()
        #expect(source.calls.all == ["started", "run", "stopped"])
        let refusal = await #expect(throws: MediaGraphError.self) { try await share.node.startSharing(source) }
        #expect(refusal?.code == .processingFailed)
        // Another source may be shared meanwhile.
        try await share.node.startSharing(share.source)
        try await share.node.stopSharing()
        #expect(source.calls.all == ["started", "run", "stopped"])
        source.mayEnd.store(true, ordering: .releasing)
        #expect(try await eventually { source.calls.all.last == "end" })
        // The task has ended when the node may start the source again.
        #expect(try await eventually { (try? await share.node.startSharing(source)) != nil })
        pipeline.setState(.null)
        for call in ["started", "stopped"] { #expect(source.calls.all.count { $0 == call } == 2) }
    }

    // MARK: Descriptions and states

    @Test("SH-1 a share's handlers can be named: a video source's and a microphone's")
    func byName() async throws {
        let graph = try Graph(
            """
            sharesource name=s pace=fast handler=counter options="frames=30,width=64,height=36"
                audio-handler=tone audio-options="seconds=0.5,rate=48000"
            s. ! rawdatapipe name=p handler=count  s.audio ! fakesink name=f sync=false
            """)
        let audioBytes = Mutex(0)
        try graph.element("s").staticPad("audio")?.observeBuffers { buffer in audioBytes.withLock { $0 += buffer.size }
        }
        try await graph.run()
        #expect(try graph.shareSource("s").statistics.frames == 30)
        #expect(try graph.rawDataPipe("p").statistics.frames == 30)
        #expect(audioBytes.withLock { $0 } == 24000 * 2)
    }

    @Test(
        "SH-1 wrong handlers are found before the run, and a share without both is a warning",
        arguments: [
            ("handler=tone", "sharesource has no handler \"tone\""),
            ("audio-handler=counter", "sharesource has no audio-handler \"counter\""),
            ("audio-handler=tone audio-options=pitch=3", "sharesource audio-handler tone has no option \"pitch\""),
            ("audio-options=seconds=3", "options are set, but no handler"),
            ("", "sharesource sends nothing without a handler"),
        ])
    func mistakes(properties: String, message: String) throws {
        let diagnostics = try Graph.diagnose(Description("sharesource \(properties) ! fakesink"))
        #expect(diagnostics.map(\.message).contains { $0 == message }, "\(diagnostics)")
    }

    @Test("EL-1 state changes and pauses in any order start and stop each source equally often")
    func states() throws {
        let share = try ShareHarness()
        try share.attach()
        let element = try share.graph.element("s")
        for round in 0..<50 {
            for state in [State.playing, .paused, .ready, .playing, .null].shuffled() {
                #expect(share.graph.pipeline.setState(state) != .failure)
                if round % 3 == 0 { try element.setProperty("paused", to: Bool.random()) }
            }
        }
        share.graph.pipeline.setState(.null)
        func count(_ call: String) -> Int { share.source.calls.all.count { $0 == call } }
        #expect(count("shareSendStarted") > 20)
        #expect(count("shareSendStarted") == count("shareSendStopped"))
        #expect(count("startSendAudio") == count("stopSendAudio"))
    }

    @Test("EL-1 READY to PAUSED is NO_PREROLL, and the audio pad can't be requested while running")
    func live() throws {
        try Nodes.register()
        let pipeline = Pipeline()
        let element = try #require(Element(factory: "sharesource"))
        pipeline.add(element)
        element.setState(.ready)
        #expect(element.setState(.paused) == .noPreroll)
        #expect(element.requestPad("audio") == nil)
        element.setState(.null)
        let pad = try #require(element.requestPad("audio"))
        element.releasePad(pad)
        #expect(element.requestPad("audio") != nil)
    }
}
