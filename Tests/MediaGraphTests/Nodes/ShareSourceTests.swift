import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// `sharesource` by itself: when its sources are called, and what leaves its pads.
@Suite struct ShareSourceTests {
    private static let frame = FrameDescription(width: 16, height: 16)
    private static let picture = patternedFrame(width: 16, height: 16)
    private static let block = [Int16](repeating: 1000, count: 480)

    /// A share whose streams end in sinks that take everything at once, and a log of when what leaves its pads is due.
    private struct Share {
        let graph: Graph
        let source = RecordingShare()
        let clock = TestClock()
        let pictures = Log<ClockTime>()
        let sounds = Log<ClockTime>()

        init(_ properties: String = "") throws {
            graph = try Graph(
                "sharesource name=s \(properties) ! fakesink sync=false  s.audio ! fakesink sync=false")
            graph.useClock(clock.clock)
            // The first sound leaves at once, rather than when it is known how it jitters: this clock stands still.
            try graph.element("share_audio").setProperty("jitter", parsing: "0")
            let element = try graph.element("s")
            for (pad, log) in [("src", pictures), ("audio", sounds)] {
                element.staticPad(pad)?.observeBuffers { log.add($0.presentationTimestamp ?? .zero) }
            }
        }

        var node: ShareSourceNode { get throws { try graph.shareSource("s") } }

        func attach() throws {
            try node.attach(source)
            try node.attach(audioSource: source)
        }

        func send() throws {
            try sendNow(source.sender, ShareSourceTests.picture, ShareSourceTests.frame)
            try sendNow(source.audioSender, ShareSourceTests.block)
        }
    }

    private func refusal(_ body: () throws -> Void) -> MediaGraphError.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? MediaGraphError)?.code }
    }

    // MARK: SH-1

    @Test("SH-1 shareSendStarted and shareSendStopped, once for each PLAYING, for picture and sound")
    func lifecycle() throws {
        let share = try Share()
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

    @Test("SH-1 what is sent outside of the two is refused with a typed error, counted, and none of it leaves")
    func gate() throws {
        let share = try Share()
        try share.attach()
        share.graph.pipeline.setState(.playing)
        try share.send()
        #expect(waitUntil { share.pictures.all.count == 1 && share.sounds.all.count == 1 })
        share.graph.pipeline.setState(.paused)
        for send in [
            { try sendNow(share.source.sender, Self.picture, Self.frame) },
            { try sendNow(share.source.audioSender, Self.block) },
        ] { #expect(refusal(send) == .wrongUsage) }
        #expect(try share.node.statistics.refused == 1)
        #expect(try share.node.audioStatistics.refused == 1)
        share.graph.pipeline.setState(.null)
        #expect(share.pictures.all.count == 1 && share.sounds.all.count == 1)
    }

    @Test("SH-1 a source that is given to a graph that runs begins at once, and has stopped when stopSharing returns")
    func whileRunning() async throws {
        let share = try Share()
        try await share.graph.start()
        #expect(refusal { try share.attach() } == .lockedWhileRunning)
        for round in 1...3 {
            try await share.node.startSharing(share.source, audioSource: share.source)
            #expect(share.source.calls.all == ["shareSendStarted", "startSendAudio"])
            let second = await #expect(throws: MediaGraphError.self) {
                try await share.node.startSharing(RecordingShare(), audioSource: RecordingShare())
            }
            #expect(second?.code == .alreadyInUse)
            try share.send()
            try await share.node.stopSharing()
            #expect(share.pictures.all.count == round && share.sounds.all.count == round)
            #expect(
                share.source.calls.all == ["shareSendStarted", "startSendAudio", "shareSendStopped", "stopSendAudio"])
            #expect(refusal { try share.send() } == .wrongUsage)
            share.source.calls.removeAll()
        }
        await share.graph.stop()
        #expect(share.source.calls.all == [])
    }

    private final class Pump: AsyncShareSource, AsyncShareAudioSource {
        let ended = Log<String>()

        func run(sender: VideoSender) async throws {
            defer { ended.add("picture") }
            while true { try await sender.send(ShareSourceTests.picture, ShareSourceTests.frame) }
        }

        func run(sender: AudioSender) async throws {
            defer { ended.add("sound") }
            while true { try await sender.send(ShareSourceTests.block, sampleRate: 48000) }
        }
    }

    @Test("SH-1 sources that are tasks are started, cancelled and awaited by the node, at each pause too")
    func tasks() async throws {
        let share = try Share("pace=fast")
        let pump = Pump()
        try share.node.attach(pump)
        try share.node.attach(audioSource: pump)
        try await share.graph.start()
        for count in [2, 4] {
            let before = (share.pictures.all.count, share.sounds.all.count)
            // The tasks need the threads that this one would hold up.
            #expect(try await eventually { share.pictures.all.count > before.0 && share.sounds.all.count > before.1 })
            try await share.node.pause()
            #expect(pump.ended.all.count == count)
            let (pictures, sounds) = (share.pictures.all.count, share.sounds.all.count)
            try await share.node.resume()
            #expect(share.pictures.all.count >= pictures && share.sounds.all.count >= sounds)
        }
        await share.graph.stop()
        #expect(
            pump.ended.all.sorted() == [String](repeating: "picture", count: 3) + [String](repeating: "sound", count: 3)
        )
    }

    @Test("SH-1 a start that throws is an error, and the change of state fails; the other stream is back where it was")
    func failingStart() throws {
        struct NoScreen: Error {}
        let share = try Share()
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

    // MARK: SH-2

    @Test(
        "SH-2 one call is one frame, in each format and size, up to 4096×2160, changing without a restart, byte for byte"
    )
    func formats() async throws {
        let formats = [FrameFormat.i420, .i420Limited, FrameFormat(.nv12), FrameFormat(.bgra), FrameFormat(.rgba)]
        let sizes = [(64, 36), (4096, 2160), (333, 77), (2, 2)]
        let graph = try Graph("sharesource name=s pace=fast ! appsink name=p sync=false max-buffers=2")
        let source = RecordingShare()
        try graph.shareSource("s").attach(source)
        let seen = Log<String>()
        let bytes = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { frame in
            seen.add("\(frame.width)×\(frame.height) \(frame.format) \(frame.colorRange)")
            bytes.add(frame.packedBytes)
        }
        try await graph.start()
        var count = 0
        for (width, height) in sizes {
            for format in formats {
                let sent = Self.spotted(format.pixelFormat, width: width, height: height, seed: count)
                try sendNow(source.sender, sent, FrameDescription(width: width, height: height, format: format))
                count += 1
                #expect(waitUntil { bytes.all.count == 1 })
                #expect(seen.all.last == "\(width)×\(height) \(format.pixelFormat) \(format.range)")
                let isSame = bytes.all.first == sent
                #expect(isSame, "\(width)×\(height) \(format)")
                bytes.removeAll()
            }
        }
        #expect(source.calls.all == ["shareSendStarted"])
        await graph.stop()
        #expect(seen.all.count == count)
    }

    /// Of one value but for spots at uneven places: large frames are made in no time.
    private static func spotted(_ format: VideoFormat, width: Int, height: Int, seed: Int) -> [UInt8] {
        var bytes = [UInt8](
            repeating: UInt8(truncatingIfNeeded: seed), count: format.packedLength(width: width, height: height))
        for place in stride(from: seed % 3, to: bytes.count, by: bytes.count / 5000 + 1) {
            bytes[place] = UInt8(truncatingIfNeeded: place)
        }
        return bytes
    }

    // MARK: SH-3

    @Test("SH-3 sound goes out mono or stereo, as it is sent", arguments: [1, 2])
    func channels(count: Int) async throws {
        let graph = try Graph(
            "sharesource name=s pace=fast  s.audio ! virtualspeaker name=v channels=\(count) rate=48000")
        let share = RecordingShare()
        try graph.shareSource("s").attach(audioSource: share)
        let samples = Log<Int16>()
        let formats = Log<Int>()
        try graph.virtualSpeaker("v").receive { frame, stream in
            guard stream != .mixed else { return }
            formats.add(frame.channelCount)
            for index in frame.samples.indices { samples.add(frame.samples[index]) }
        }
        try await graph.start()
        let sent: [Int16] = (0..<960).map { (index: Int16) in index % 2 == 0 ? index : -index }
        try sendNow(share.audioSender, sent, channels: count)
        share.audioSender.endOfStream()
        _ = try await graph.waitUntilEnd()
        await graph.stop()
        #expect(samples.all == sent && Set(formats.all) == [count])
    }

    @Test("SH-3 a share of sound alone: nothing else is linked, and a picture's source isn't started, with a warning")
    func soundAlone() async throws {
        for withPicture in [false, true] {
            let graph = try Graph("sharesource name=s  s.audio ! fakesink sync=false")
            let share = RecordingShare()
            if withPicture { try graph.shareSource("s").attach(share) }
            try graph.shareSource("s").attach(audioSource: share)
            let sounds = Log<Int>()
            try graph.element("s").staticPad("audio")?.observeBuffers { sounds.add($0.size) }
            let events = graph.events
            try await graph.start()
            try sendNow(share.audioSender, Self.block)
            #expect(waitUntil { sounds.all.count == 1 })
            await graph.stop()
            #expect(share.calls.all == ["startSendAudio", "stopSendAudio"])
            var warnings: [String] = []
            for await event in events { if case .warning(let failure) = event { warnings.append("\(failure)") } }
            #expect(warnings.contains { $0.contains("its src isn't linked") } == withPicture, "\(warnings)")
        }
    }

    @Test("SH-3 picture and sound that were taken at one moment leave with one time, before a pause and behind it")
    func oneClock() async throws {
        let share = try Share()
        try share.attach()
        try await share.graph.start()
        for moment in [ClockTime.seconds(2), .seconds(60)] {
            share.clock.advance(to: moment)
            let (pictures, sounds) = (share.pictures.all.count, share.sounds.all.count)
            // Without timestamps of their own: both are of now.
            try share.send()
            #expect(waitUntil { share.pictures.all.count == pictures + 1 && share.sounds.all.count == sounds + 1 })
            #expect(share.pictures.all.last == moment && share.sounds.all.last == moment)
            try await share.node.pause()
            try await share.node.resume()
        }
        await share.graph.stop()
    }

    @Test(
        "SH-3 paused, a share's sources are stopped, downstream is told off, and nothing leaves; resumed, on and frames"
    )
    func pause() async throws {
        struct Recorder: VideoConsumer {
            let log: Log<String>
            func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
            func receive(_ frame: borrowing VideoFrame) { log.add("frame") }
        }
        let graph = try Graph("sharesource name=s ! rawdatapipe name=p sync=false backpressure=block")
        let source = RecordingShare()
        let node = try graph.shareSource("s")
        try node.attach(source)
        let log = Log<String>()
        try graph.rawDataPipe("p").attach(Recorder(log: log))
        try await node.pause()
        try await graph.start()
        #expect(node.isPaused && source.calls.all == [])
        for _ in 1...3 {
            try await node.resume()
            try sendNow(source.sender, Self.picture, Self.frame)
            try await node.pause()
            // Off has left the node when pause returns.
            #expect(log.all == ["on", "frame", "off"])
            #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
            #expect(refusal { try sendNow(source.sender, Self.picture, Self.frame) } == .wrongUsage)
            source.calls.removeAll()
            log.removeAll()
        }
        await graph.stop()
        #expect(log.all == [])
    }

    @Test("SH-3 a source may pause its own share from inside its callbacks, on whatever thread")
    func pauseFromInside() async throws {
        let graph = try Graph("sharesource name=s ! fakesink sync=false")
        let node = try graph.shareSource("s")
        let element = node.element
        let source = RecordingShare(onStart: { _ in try element.setProperty("paused", to: true) })
        try node.attach(source)
        try await graph.start()
        #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
        await graph.stop()
        // The stop waits for a thread that wants to pause meanwhile.
        let joining = RecordingShare(onStop: {
            NativeThread("pauses") { try? element.setProperty("paused", to: true) }.join()
        })
        try node.detach()
        try element.setProperty("paused", to: false)
        try node.attach(joining)
        try await graph.start()
        await graph.stop()
        #expect(joining.calls.all == ["shareSendStarted", "shareSendStopped"])
        #expect(node.isPaused)
    }

    // MARK: From text

    @Test("SH-3 a share's linked half that nobody sends ends when the graph is asked to", arguments: [true, false])
    func idleHalf(sendsPicture: Bool) async throws {
        let handler = sendsPicture ? "handler=counter" : "audio-handler=tone"
        let graph = try Graph(
            "sharesource name=s \(handler)  s. ! fakesink async=false  s.audio ! fakesink async=false")
        try await graph.start()
        let end = await graph.finish(within: .seconds(60))
        #expect("\(end)" == "\(GraphEnd.endOfStream)")
    }

    @Test("SH-3 a paused share ends when the graph is asked to, played or not", arguments: [true, false])
    func pausedEnd(hasPlayed: Bool) async throws {
        let graph = try Graph(
            """
            sharesource name=s handler=counter audio-handler=tone paused=\(!hasPlayed)
            s. ! rawdatapipe name=p  s.audio ! fakesink async=false
            """)
        let pipe = try graph.rawDataPipe("p")
        try pipe.receive { _ in }
        try await graph.start()
        if hasPlayed {
            #expect(try await eventually { pipe.statistics.frames > 0 })
            try await graph.shareSource("s").pause()
        }
        let end = await graph.finish(within: .seconds(60))
        #expect("\(end)" == "\(GraphEnd.endOfStream)")
    }

    @Test("SH-1 handlers by name: a video source's for the picture and a microphone's for the sound")
    func byName() async throws {
        let graph = try Graph(
            """
            sharesource name=s pace=fast handler=counter options="frames=30,width=64,height=36"
                audio-handler=tone audio-options="seconds=0.5,rate=48000"
            s. ! rawdatapipe name=p handler=count  s.audio ! fakesink name=f sync=false
            """)
        let sound = Mutex(0)
        try graph.element("s").staticPad("audio")?.observeBuffers { buffer in sound.withLock { $0 += buffer.size } }
        try await graph.run()
        #expect(try graph.shareSource("s").statistics.frames == 30)
        #expect(try graph.rawDataPipe("p").statistics.frames == 30)
        #expect(sound.withLock { $0 } == 24000 * 2)
    }

    @Test(
        "SH-1 mistakes in either handler are found before anything runs, and an element without both is warned of",
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

    @Test("EL-1 fifty rounds of states in any order, paused and not, start and stop each source alike")
    func states() throws {
        let share = try Share()
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

    @Test("EL-1 READY to PAUSED is NO_PREROLL, also with nothing to send; its audio is refused while it runs")
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
