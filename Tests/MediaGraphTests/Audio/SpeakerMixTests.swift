import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

/// Tests that the mix is the sum of the one-way streams.
@Suite struct SpeakerMixTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("SP-3 the mix is the exact sum of the one-way streams, clipped once at the end")
    func sum() async throws {
        let heard = try await Heard(
            """
            virtualspeaker name=s
            audiotestsrc num-buffers=40 samplesperbuffer=480 volume=0.9 freq=440 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            audiotestsrc num-buffers=33 samplesperbuffer=480 volume=0.8 wave=saw freq=331 ! audio/x-raw,rate=48000,channels=1 ! s.user_bob
            audiotestsrc num-buffers=50 samplesperbuffer=301 volume=0.7 wave=white-noise ! audio/x-raw,rate=48000,channels=1 ! s.user_cem
            """)
        #expect(heard.users == ["anna", "bob", "cem"])
        #expect(heard.mixed.count == 40 * 480)
        #expect(heard.mixed == heard.expectedMix(count: heard.mixed.count))
        #expect(
            heard.mixed.contains(.max) && heard.mixed.contains(.min),
            "the sum never clipped, so this test shows nothing")
        #expect(heard.jumps.isEmpty)
    }

    @Test("SP-3 the mix clips the sum, not each step: 30000 + 30000 - 30000 is 30000")
    func clippedOnce() async throws {
        let loud = [Int16](repeating: 30_000, count: 4800)
        let heard = try await Heard(
            """
            virtualspeaker name=s
            \(folder.source("a", loud)) ! s.user_anna
            \(folder.source("b", loud)) ! s.user_bob
            \(folder.source("c", loud.map { -$0 })) ! s.user_cem
            """)
        #expect(heard.mixed == loud)
    }

    @Test("SP-6 a device, a virtual microphone and a device behind a virtual microphone sound the same")
    func microphones() async throws {
        let voice = noiseSamples(48_000, seed: 6)
        let path = try folder.write("voice.raw", voice.withUnsafeBytes { Array($0) })
        let heard = try await Heard(
            """
            virtualspeaker name=s
            \(folder.source("device", voice)) ! s.user_device
            \(folder.source("edited", voice)) ! virtualmic pace=fast ! s.user_edited
            virtualmic pace=fast handler=raw options="location=\(path),rate=48000,channels=1" ! s.user_virtual
            """)
        for user in ["device", "edited", "virtual"] {
            let isSame = heard.user(user) == voice
            #expect(isSame, "\(user)")
        }
    }

    @Test(
        "SP-1 a user's samples are delivered unchanged whatever the block length",
        arguments: [1, 7, 160, 441, 480, 1024, 4096])
    func exact(block: Int) async throws {
        let (anna, bob) = (noiseSamples(9600, seed: 1), noiseSamples(9600, seed: 2))
        let heard = try await Heard(
            """
            virtualspeaker name=s
            \(folder.source("a", anna, block: block)) ! s.user_anna
            \(folder.source("b", bob, block: 480)) ! s.user_bob
            """)
        #expect(heard.user("anna") == anna)
        #expect(heard.user("bob") == bob)
        #expect(heard.mixed == heard.expectedMix(count: 9600))
    }

    @Test("SP-1 the mix ends only when all users' streams have ended")
    func ends() async throws {
        let (short, long) = (noiseSamples(480, seed: 3), noiseSamples(24_000, seed: 4))
        let heard = try await Heard(
            """
            virtualspeaker name=s
            \(folder.source("a", short)) ! s.user_anna
            \(folder.source("b", long)) ! s.user_bob
            """)
        #expect(heard.mixed.count == 24_000)
        #expect(heard.mixed == heard.expectedMix(count: 24_000))
    }

    @Test("SP-1 a share's audio is a separate stream and not part of the mix")
    func shared() async throws {
        let (anna, share) = (noiseSamples(4800, seed: 5), noiseSamples(9600, seed: 6))
        let heard = try await Heard(
            """
            virtualspeaker name=s
            \(folder.source("a", anna)) ! s.user_anna
            \(folder.source("b", share)) ! s.shared
            """)
        #expect(heard.shared == share)
        #expect(heard.mixed == anna)
        let alone = try await Heard("virtualspeaker name=s \(folder.source("c", share)) ! s.shared")
        #expect(alone.shared == share)
        #expect(alone.mixed.isEmpty)
    }

    @Test(
        "SP-1 every input rate, format and channel count is converted to the node's own format",
        arguments: [(48_000, 1), (16_000, 2), (44_100, 2)])
    func formats(rate: Int, channels: Int) async throws {
        let heard = try await Heard(
            """
            virtualspeaker name=s rate=\(rate) channels=\(channels)
            audiotestsrc samplesperbuffer=80 num-buffers=100 freq=500 ! audio/x-raw,format=U8,rate=8000,channels=1 ! s.user_a
            audiotestsrc samplesperbuffer=441 num-buffers=100 freq=500 ! audio/x-raw,format=S16LE,rate=44100,channels=2 ! s.user_b
            audiotestsrc samplesperbuffer=960 num-buffers=100 freq=500 ! audio/x-raw,format=F32LE,rate=96000,channels=2 ! s.user_c
            audiotestsrc samplesperbuffer=480 num-buffers=100 freq=500 ! audio/x-raw,format=S24LE,rate=48000,channels=1 ! audioconvert ! audio/x-raw,layout=non-interleaved ! s.user_d
            """)
        #expect(heard.formats == ["\(rate) \(channels)"])
        #expect(heard.users == ["a", "b", "c", "d"])
        for user in heard.users {
            // Each user sends one second. A resampler may keep back one sample at 8 kHz.
            #expect(abs(heard.user(user).count / channels - rate) <= rate / 8000, "\(user)")
            #expect(heard.user(user).max()! > 25_000, "\(user)")
        }
        #expect(heard.jumps.isEmpty, "\(heard.jumps)")
        #expect(heard.mixed.prefix(rate / 2) == heard.expectedMix(count: heard.mixed.count).prefix(rate / 2))
    }

    @Test(
        "SP-3 a sine at each rate comes out with less than -80 dB of distortion and noise",
        arguments: [8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000])
    func sine(rate: Int) async throws {
        let heard = try await Heard(
            """
            virtualspeaker name=s
            audiotestsrc samplesperbuffer=\(rate / 100) num-buffers=100 freq=997 volume=0.9 ! audio/x-raw,format=S16LE,rate=\(rate),channels=1 ! s.user_anna
            """)
        // The resampler's filter fills at the beginning and runs empty at the end.
        let steady = heard.mixed[4800..<43_200]
        #expect(distortion(steady, frequency: 997, rate: 48_000) < -80)
    }

    @Test("SP-3 minutes of resampled audio have no gap, drift or click")
    func minutes() async throws {
        let seconds = Soak.count(120, soak: 600)
        let graph = try Graph(
            """
            virtualspeaker name=s
            audiotestsrc samplesperbuffer=441 num-buffers=\(seconds * 100) freq=997 volume=0.9 ! audio/x-raw,format=S16LE,rate=44100,channels=1 ! s.user_anna
            """)
        let seen = Log<(count: Int, jump: Int64, step: Int)>()
        let state = BlockingMonitor((next: Int64(0), count: 0, last: Int16(0), jump: Int64(0), step: 0))
        try graph.virtualSpeaker("s").receive { frame, stream in
            guard stream == .mixed else { return }
            state.withLock { state in
                let time = Int64(frame.runningTime!.nanoseconds)
                state.jump = max(state.jump, abs(time - state.next))
                // The resampler's filter fills at the beginning and runs empty at the end.
                let isSteady = (480..<(seconds - 1) * 48_000).contains(state.count)
                state.count += frame.frameCount
                state.next = Int64(frame.info.duration(ofFrames: state.count).nanoseconds)
                let samples = frame.samples
                if isSteady { state.step = max(state.step, largestStep(in: samples, after: state.last)) }
                if !samples.isEmpty { state.last = samples[samples.count - 1] }
            }
        }
        try await graph.run()
        seen.add(state.withLock { ($0.count, $0.jump, $0.step) })
        let result = seen.all[0]
        #expect(abs(result.count - seconds * 48_000) <= 2)
        #expect(result.jump <= 1, "blocks are stamped by their samples")
        // A sine of 997 Hz at 0.9 changes by at most 3850 from one sample to the next.
        #expect(result.step < 3900)
    }
}
