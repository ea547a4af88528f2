import CMediaGraphABI
import Foundation
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests how a speaker mixes users who join, leave, pause and flush.
@Suite struct SpeakerTests {
    private let folder: TemporaryFolder

    init() throws {
        try Nodes.register()
        folder = try TemporaryFolder()
    }

    private func block(_ samples: [Int16], _ index: Int) -> ArraySlice<Int16> {
        samples[index * 480..<(index + 1) * 480]
    }

    @Test("SP-3 a user who joins and leaves doesn't disturb the others, and the mix stays the sum")
    func joinAndLeave() throws {
        let (anna, bob) = (noiseSamples(480 * 30, seed: 1), noiseSamples(480 * 30, seed: 2))
        let room = try SpeakerRoom()
        for index in 0..<30 {
            if index == 10 { room.join("bob") }
            if index == 20 { room.leave("bob") }
            #expect(room.say("anna", block(anna, index), block: index) == .ok)
            if (10..<20).contains(index) { #expect(room.say("bob", block(bob, index), block: index) == .ok) }
            room.clock.advance(by: .milliseconds(10))
            // If a user joins while a block is being mixed, the mixer waits for them once, and then not until they
            // send.
            #expect(waitUntil { room.notes.mixed.count >= (index + 1) * 480 })
        }
        #expect(waitUntil { room.notes.samples(user: "anna").count == anna.count })
        #expect(room.notes.samples(user: "anna") == anna)
        #expect(waitUntil { room.notes.samples(user: "bob").count == 4800 })
        #expect(room.notes.samples(user: "bob") == Array(bob[4800..<9600]))
        room.clock.advance(by: .milliseconds(100))
        #expect(waitUntil { room.notes.mixed.count >= anna.count })
        let mixed = room.notes.mixed
        for index in anna.indices {
            let sum = Int(anna[index]) + ((4800..<9600).contains(index) ? Int(bob[index]) : 0)
            guard mixed[index] == Int16(clamping: sum) else {
                Issue.record("sample \(index): \(mixed[index]), not \(sum); \(mixed.count) samples")
                break
            }
        }
        #expect(room.notes.log.all.filter { $0.hasPrefix("bob") } == ["bob on", "bob off"])
    }

    @Test("SP-3 after all users have left, a live mix goes on in silence and the next user is heard")
    func allLeave() throws {
        let samples = noiseSamples(480 * 30, seed: 11)
        let room = try SpeakerRoom()
        room.join("cem")
        for index in 0..<5 {
            room.say("anna", block(samples, index), block: index)
            room.clock.advance(by: .milliseconds(10))
        }
        room.leave("anna")
        for _ in 5..<20 { room.clock.advance(by: .milliseconds(10)) }
        #expect(waitUntil { room.notes.mixed.count >= 480 * 17 })
        room.join("bob")
        for index in 20..<25 {
            room.say("bob", block(samples, index), block: index)
            room.clock.advance(by: .milliseconds(10))
        }
        room.clock.advance(by: .milliseconds(100))
        #expect(waitUntil { room.notes.mixed.count >= 480 * 25 })
        #expect(!room.notes.log.all.contains("finish"))
        // The first of bob's blocks may have come too late.
        let heard = room.notes.mixed
        try #require(heard.count >= 480 * 25)
        #expect(heard[480 * 22..<480 * 24] == samples[480 * 22..<480 * 24])
    }

    @Test("SP-3 after the only user has left, a live mix goes on in silence")
    func lastLeaves() throws {
        let pipeline = try Pipeline(
            parsing:
                "audiotestsrc is-live=true name=a ! audio/x-raw,rate=48000,channels=1 ! virtualspeaker name=s handler=count"
        )
        let (speaker, source) = (try #require(pipeline.element(named: "s")), try #require(pipeline.element(named: "a")))
        pipeline.setState(.playing)
        #expect(waitUntil { NodeCounts(speaker)!.frames > 20 })
        source.setState(.null)
        let pad = try #require(speaker.staticPad("user_0"))
        speaker.releasePad(pad)
        let before = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > before + 50 })
        pipeline.setState(.null)
    }

    @Test("SP-3 a user who never sends, or has stopped sending, blocks no other user")
    func silentUser() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s max-frames=100000
            audiotestsrc is-live=true samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            appsrc is-live=true format=time caps=audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved ! s.user_bob
            audiotestsrc is-live=true samplesperbuffer=480 num-buffers=5 ! audio/x-raw,rate=48000,channels=1 ! identity drop-probability=0 ! s.user_cem
            """)
        let clock = TestClock()
        graph.useClock(clock.clock)
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try await graph.start()
        while notes.mixed.count < 480 * 50, clock.time < .seconds(5) { try await clock.step() }
        #expect(notes.mixed.count >= 480 * 50)
        #expect(clock.time < .seconds(2))
        #expect(notes.samples(user: "bob").isEmpty)
        #expect(try await eventually { notes.samples(user: "cem").count == 480 * 5 })
        await graph.stop()
    }

    @Test("SP-1 users are identified by their stream IDs, whatever their pads are called")
    func identities() throws {
        let room = try SpeakerRoom(first: "x")
        let samples = noiseSamples(480)
        room.push("x", .streamStart("lobby/carol/mic"))
        room.push("x", .segment)
        room.say("x", samples[...], block: 0)
        let carol = SpeakerStream.oneWay(SpeakerUser(name: "carol", room: "lobby"))
        #expect(waitUntil { room.notes.samples(carol) == samples })
        room.join("dave_40home")
        room.say("dave_40home", samples[...], block: 1)
        #expect(waitUntil { room.notes.samples(user: "dave@home") == samples })
        // The pad stays, and its next stream is another user's.
        room.push("x", .streamStart("lobby/erin/mic"))
        room.push("x", .segment)
        room.say("x", samples[...], block: 1)
        #expect(waitUntil { room.notes.samples(.oneWay(SpeakerUser(name: "erin", room: "lobby"))) == samples })
        #expect(waitUntil { room.notes.log.all.contains("carol off") })
        #expect(room.notes.samples(carol) == samples)
    }

    @Test("SP-1 pads without names get users of their own")
    func anonymous() async throws {
        let heard = try await Heard(
            "virtualspeaker name=s \(folder.source("a", noiseSamples(480, seed: 1))) ! s. \(folder.source("b", noiseSamples(480, seed: 2))) ! s."
        )
        #expect(heard.users == ["0", "1"])
    }

    @Test("EL-2 flushing one user's stream leaves the others alone, and the flushed stream goes on")
    func flush() throws {
        let (anna, bob) = (noiseSamples(480 * 20, seed: 7), noiseSamples(480 * 20, seed: 8))
        let room = try SpeakerRoom()
        room.join("bob")
        for index in 0..<20 {
            if index == 10 {
                room.push("bob", .flushStart)
                room.push("bob", .flushStop)
                room.push("bob", .segment)
            }
            room.say("anna", block(anna, index), block: index)
            #expect(room.say("bob", block(bob, index), block: index) == .ok)
            // The mixer waits for the blocks that the flush removed only until the clock says that they are late.
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.samples(user: "anna").count == anna.count })
        #expect(room.notes.samples(user: "anna") == anna)
        #expect(waitUntil { room.notes.samples(user: "bob").suffix(4800) == bob.suffix(4800) })
    }

    @Test("EL-2 a stream whose format changes is still converted to the node's own")
    func caps() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s concat name=c ! s.user_anna
            audiotestsrc num-buffers=50 samplesperbuffer=480 freq=500 ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! c.
            audiotestsrc num-buffers=50 samplesperbuffer=160 freq=500 ! audio/x-raw,format=F32LE,rate=16000,channels=2 ! c.
            """)
        let heard = try await Heard(graph)
        #expect(abs(heard.user("anna").count - 48_000) <= 2)
        #expect(heard.formats == ["48000 1"])
        #expect(heard.mixed.prefix(47_000) == heard.user("anna").prefix(47_000))
    }

    @Test("SP-3 samples that come too late for a live mix are counted")
    func late() throws {
        let room = try SpeakerRoom()
        let samples = noiseSamples(480 * 10)
        room.join("bob")
        for index in 0..<10 {
            room.say("anna", block(samples, index), block: index)
            room.say("bob", block(samples, index), block: index)
        }
        #expect(waitUntil { room.notes.mixed.count >= 480 * 9 })
        // The clock of cem's sender is 100 ms behind.
        room.join("cem")
        room.say("cem", block(samples, 0), block: 0)
        room.say("anna", samples[0..<480], block: 10)
        room.say("bob", samples[0..<480], block: 10)
        room.say("cem", samples[0..<480], block: 10)
        #expect(
            waitUntil {
                let stats = try? room.speaker.property("stats", as: Structure.self)
                return stats?["late-samples", as: UInt64.self] == 480
            })
        // The block is still delivered one-way; only the mix had no time for it.
        #expect(waitUntil { room.notes.samples(user: "cem").count == 960 })
    }

    @Test(
        "EL-1 users who join and leave at random moments never block a stream",
        arguments: ["", "! capsfilter caps=audio/x-raw,format=S24LE", "! capsfilter caps=audio/x-raw,rate=44100"])
    func stress(format: String) throws {
        let pipeline = try Pipeline(
            parsing: "audiotestsrc is-live=true samplesperbuffer=48 ! virtualspeaker name=s handler=count")
        let speaker = try #require(pipeline.element(named: "s"))
        pipeline.setState(.playing)
        let rounds = Atomic<Int>(0)
        let count = Soak.count(50, soak: 150)
        let thread = NativeThread("users") {
            var random = SplitMix64(state: 5)
            var present: (source: Element, pad: Pad)?
            func leave() {
                guard let user = present.take() else { return }
                // A user's source may be stopped before or after its pad is released.
                if Bool.random(using: &random) { user.source.setState(.null) }
                speaker.releasePad(user.pad)
                pipeline.stopAndRemove(user.source)
            }
            for round in 0..<count {
                let (isLive, samples) = (Bool.random(using: &random), Int.random(in: 1...500, using: &random))
                let source = try! Element(
                    parsing: "audiotestsrc is-live=\(isLive) samplesperbuffer=\(samples) \(format)")
                pipeline.add(source)
                // The previous user leaves as this one joins, or a moment later.
                if Bool.random(using: &random) { leave() }
                let pad = speaker.requestPad("user_r\(round)")!
                _ = source.staticPad("src")!.link(to: pad)
                source.syncState()
                Thread.sleep(forTimeInterval: Double.random(in: 0...0.004, using: &random))
                leave()
                present = (source, pad)
                // This user may also leave before the next one joins.
                if Bool.random(using: &random) { leave() }
                // The next user would wake a mixer that sleeps, so the mix has to go on before that.
                let before = NodeCounts(speaker)!.frames
                guard waitUntil({ NodeCounts(speaker)!.frames > before + 20 }) else { return }
                rounds.add(1, ordering: .relaxed)
            }
        }
        thread.join()
        #expect(rounds.load(ordering: .relaxed) == count)
        pipeline.setState(.null)
    }

    @Test("EL-1 starting and stopping fifty times at arbitrary moments never hangs", arguments: ["", "is-live=true"])
    func cycles(live: String) throws {
        let pipeline = try Pipeline(
            parsing: "virtualspeaker name=s handler=level audiotestsrc \(live) ! s. audiotestsrc \(live) ! s.shared")
        let cycles = Atomic<Int>(0)
        let thread = NativeThread("cycles") {
            for cycle in 0..<50 {
                pipeline.setState(cycle % 3 == 0 ? .paused : .playing)
                Thread.sleep(forTimeInterval: Double(cycle % 10) * 0.0005)
                pipeline.setState(cycle % 4 == 0 ? .ready : .null)
                cycles.add(1, ordering: .relaxed)
            }
            pipeline.setState(.null)
        }
        // The watchdog names a test that hangs.
        thread.join()
        #expect(cycles.load(ordering: .relaxed) == 50)
    }
}
