import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests that one user, pad or callback doesn't affect the others.
@Suite struct SpeakerOthersTests {
    init() throws { try Nodes.register() }

    private static let twoUsers = """
        virtualspeaker name=s backpressure=block max-frames=10
        audiotestsrc samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
        audiotestsrc samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_bob
        """

    @Test("EL-1 EL-2 a speaker whose streams change their formats can be flushed and stopped at any moment")
    func formatsDuringFlushAndStop() throws {
        let pipeline = try Pipeline(
            parsing: """
                virtualspeaker name=s
                audiotestsrc samplesperbuffer=480 ! capsfilter name=a ! s.user_anna
                audiotestsrc samplesperbuffer=480 ! capsfilter name=b ! s.user_bob  s. ! fakesink sync=false
                """)
        pipeline.onMessage { _ in }
        let filters = ["a", "b"].compactMap { pipeline.element(named: $0) }
        @Sendable func filter(_ element: Element, _ format: String) throws {
            try element.setProperty("caps", parsing: "audio/x-raw,channels=1,\(format)")
        }
        for round in 0..<40 {
            for element in filters { try filter(element, "format=S16LE,rate=48000") }
            #expect(pipeline.setState(.playing) != .failure)
            let threads =
                filters.map { element in
                    // Each needs more elements than the one before.
                    NativeThread("formats") {
                        for format in ["format=F32LE,rate=48000", "format=S16LE,rate=44100"] {
                            do { try filter(element, format) } catch { Issue.record(error) }
                            sleepBriefly()
                        }
                    }
                } + [
                    NativeThread("flush") {
                        for _ in 0..<3 {
                            // Fails while the pipeline is being stopped.
                            _ = gst_element_seek_simple(pipeline.element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0)
                        }
                    }
                ]
            for _ in 0..<round % 8 { sleepBriefly() }
            pipeline.setState(.null)
            for thread in threads { thread.join() }
            #expect(pipeline.state == .null)
        }
    }

    @Test("SP-3 a user who leaves during a flush doesn't change the back-pressure")
    func goneWhileFlushing() async throws {
        let graph = try Graph(Self.twoUsers)
        // Nobody reads `audio`: the queue fills up, and then the users' threads block.
        let audio = try graph.virtualSpeaker("s").audio
        try await graph.start()
        let speaker = try graph.element("s")
        let frames: @Sendable () -> UInt64 = { NodeCounts(speaker)!.frames }
        #expect(waitUntil { frames() >= 5 })
        let pad = try #require(speaker.staticPad("user_bob"))
        pad.sendFlushStart()
        // Otherwise, bob's thread might find the pad unlinked, which is an error.
        let outlet = try #require(pad.peer)
        #expect(waitUntil { outlet.isFlushing })
        speaker.releasePad(pad)
        // Anna keeps sending, but only as fast as the blocks are read, and none is left out.
        let read = Log<(time: ClockTime, end: ClockTime)>()
        let reader = Task {
            var count = 0
            for try await block in audio {
                count += 1
                guard block.stream == .mixed, let time = block.frame.runningTime else { continue }
                read.add((time, ClockTime(nanoseconds: time.nanoseconds + block.frame.duration.nanoseconds)))
                if read.all.count == 300 { break }
            }
            return count
        }
        #expect(try await eventually { read.all.count == 300 })
        let delivered = frames()
        let count = try await reader.value
        #expect(delivered <= count + 100, "\(delivered) delivered, \(count) read")
        let blocks = read.all
        #expect(zip(blocks, blocks.dropFirst()).allSatisfy { abs($0.end.seconds - $1.time.seconds) < 0.0001 })
        await graph.stop()
    }

    private struct Leaver: VirtualSpeaker {
        let leave: @Sendable () -> Void
        func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) { if user.name == "bob" { leave() } }
    }

    @Test("SP-3 a callback may release another user's pad whose thread waits for this callback")
    func releasesAnother() throws {
        let pipeline = try Pipeline(parsing: Self.twoUsers)
        let speaker = try #require(pipeline.element(named: "s"))
        let calls = Atomic<Int>(0)
        let hasReturned = Mutex(false)
        let anna = Mutex<ObservedThread?>(nil)
        speaker.staticPad("user_anna")?.observeBuffers { _ in anna.withLock { $0 = $0 ?? .current } }
        let handler = Leaver {
            guard calls.add(1, ordering: .relaxed).newValue == 20 else { return }
            // Anna's next block has arrived and waits for this callback.
            _ = waitUntil { anna.withLock { $0 }?.isWaiting == true }
            speaker.releasePad(speaker.staticPad("user_anna")!)
            hasReturned.withLock { $0 = true }
        }
        try NodeVTable.attach(MGAudioConsumer(handler, name: "leaver"), to: speaker)
        pipeline.setState(.playing)
        #expect(waitUntil { hasReturned.withLock { $0 } })
        let before = calls.load(ordering: .relaxed)
        #expect(waitUntil { calls.load(ordering: .relaxed) > before + 100 }, "bob goes on")
        pipeline.setState(.null)
    }

    @Test("VM-6 audio that a processor writes into a device's silence reaches the mix", arguments: ["silence", "sine"])
    func editedSilence(wave: String) async throws {
        let graph = try Graph(
            """
            audiotestsrc wave=\(wave) num-buffers=50 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1 \
            ! virtualmic name=mic pace=fast ! s.user_anna virtualspeaker name=s
            """)
        try graph.virtualMic("mic").process { frame in
            var samples = frame.mutableSamples
            for index in samples.indices { samples[index] = 1000 }
            return .pass
        }
        let heard = try await Heard(graph)
        #expect(Set(heard.user("anna")) == [1000] && Set(heard.mixed) == [1000])
        #expect(try graph.virtualMic("mic").statistics.silence == .zero)
    }

    @Test(
        "SP-3 a sine near the top of its band has less than -80 dB of distortion and noise",
        arguments: [(8000, 3400.0), (16_000, 7000), (32_000, 14_000), (44_100, 18_000)])
    func highSine(rate: Int, frequency: Double) async throws {
        let heard = try await Heard(
            """
            virtualspeaker name=s
            audiotestsrc samplesperbuffer=\(rate / 100) num-buffers=100 freq=\(frequency) volume=0.9 ! audio/x-raw,format=S16LE,rate=\(rate),channels=1 ! s.user_anna
            """)
        #expect(distortion(heard.mixed[4800..<43_200], frequency: frequency, rate: 48_000) < -80)
    }

    @Test("SP-1 samples outside of a stream's segment are neither mixed nor delivered")
    func clipped() throws {
        let room = try SpeakerRoom(live: false)
        room.push("anna", .segmentBetween(.milliseconds(25), .milliseconds(75)))
        let voice = noiseSamples(480 * 10, seed: 3)
        for block in 0..<10 { room.say("anna", voice[block * 480..<(block + 1) * 480], block: block) }
        room.push("anna", .endOfStream)
        #expect(waitUntil { room.notes.log.all.last == "finish" })
        #expect(room.notes.samples(user: "anna") == Array(voice[1200..<3600]))
        #expect(room.notes.mixed == Array(voice[1200..<3600]))
    }

    @Test("SP-1 a user's block has a stream time, and a block of the mix has none")
    func streamTime() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s audiotestsrc samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=1
            ! s.user_anna
            """)
        try graph.setMediaRange(from: ClockTime(nanoseconds: 2_000_000_000), to: ClockTime(nanoseconds: 2_050_000_000))
        let positions = Log<Double?>()
        let mixed = Log<Double?>()
        try graph.virtualSpeaker("s").receive { frame, stream in
            let position = frame.streamTime?.seconds
            if case .mixed = stream { mixed.add(position) } else { positions.add(position) }
            if case .mixed = stream { return }
            let owned = try frame.retain()
            #expect(owned.streamTime == frame.streamTime)
            try owned.withFrame { #expect($0.streamTime == frame.streamTime) }
        }
        try await graph.run()
        #expect(positions.all == [2, 2.01, 2.02, 2.03, 2.04])
        #expect(!mixed.all.isEmpty && mixed.all.allSatisfy { $0 == nil })
    }

    @Test("SP-3 unmixed blocks of a user who has left don't block a later run")
    func unmixed() throws {
        let room = try SpeakerRoom(live: false)
        let voice = noiseSamples(480 * 10, seed: 5)
        room.join("bob", live: false)
        // Anna sends nothing, so the mix waits and holds bob's block.
        room.say("bob", voice[0..<480], block: 0)
        room.leave("bob")
        room.speaker.setState(.ready)
        room.leave("anna")
        room.join("cem", live: false)
        for block in 0..<10 { room.say("cem", voice[block * 480..<(block + 1) * 480], block: block) }
        room.push("cem", .endOfStream)
        #expect(waitUntil { room.notes.mixed.count >= voice.count })
        let isHeard = room.notes.mixed == voice
        #expect(isHeard)
    }

    @Test("VM-6 a file's bytes at a microphone's sink cause an error that names the missing time format")
    func bytes() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("sound.pcm", [UInt8](repeating: 1, count: 9600))
        let graph = try Graph(
            """
            filesrc location=\(path) ! audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved \
            ! virtualmic pace=fast ! fakesink
            """)
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("time format"))
    }

    @Test("EL-1 pads requested from several threads get distinct names")
    func racingPads() throws {
        let speaker = try #require(Element(factory: "virtualspeaker"))
        let names = Mutex<[String]>([])
        let threads = (0..<4).map { index in
            NativeThread("pads \(index)") {
                for _ in 0..<50 {
                    guard let pad = speaker.requestPad("user_%s") else { continue }
                    names.withLock { $0.append(pad.name) }
                }
            }
        }
        for thread in threads { thread.join() }
        let all = names.withLock { $0 }
        #expect(all.count == 200 && Set(all).count == 200)
    }
}
