import CMediaGraphABI
import Foundation
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// How a speaker behaves: users come and go, handlers are slow, edits, ends.
@Suite struct SpeakerTests {
    private let folder: TemporaryFolder

    init() throws {
        try Nodes.register()
        folder = try TemporaryFolder()
    }

    private func block(_ samples: [Int16], _ index: Int) -> ArraySlice<Int16> {
        samples[index * 480..<(index + 1) * 480]
    }

    @Test("SP-3 a user who joins and leaves changes nothing for the others, and the mix is the sum throughout")
    func joinAndLeave() throws {
        let (anna, bob) = (noiseSamples(480 * 30, seed: 1), noiseSamples(480 * 30, seed: 2))
        let room = try SpeakerRoom()
        for index in 0..<30 {
            if index == 10 { room.join("bob") }
            if index == 20 { room.leave("bob") }
            #expect(room.say("anna", block(anna, index), block: index) == .ok)
            if (10..<20).contains(index) { #expect(room.say("bob", block(bob, index), block: index) == .ok) }
            room.clock.advance(by: .milliseconds(10))
            // Whoever joins while a block is still to be mixed is waited for once, and from then on not before he speaks.
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

    @Test("SP-3 when everybody has left, a live mix goes on in silence for whoever comes next")
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
        // The first of his blocks may have come too late.
        let heard = room.notes.mixed
        try #require(heard.count >= 480 * 25)
        #expect(heard[480 * 22..<480 * 24] == samples[480 * 22..<480 * 24])
    }

    @Test("SP-3 when the last has left, a live mix goes on in silence")
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

    @Test("SP-3 a user who is linked and never says a word holds nobody up, nor does one who has fallen silent")
    func absent() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s max-frames=100000
            audiotestsrc is-live=true samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            appsrc name=absent is-live=true format=time caps=audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved ! s.user_bob
            audiotestsrc is-live=true samplesperbuffer=480 num-buffers=5 ! audio/x-raw,rate=48000,channels=1 ! identity drop-probability=0 ! s.user_cem
            """)
        let clock = TestClock()
        graph.useClock(clock.clock)
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try await graph.start()
        while notes.mixed.count < 480 * 50, clock.time < .seconds(5) { try await clock.step() }
        #expect(notes.mixed.count >= 480 * 50)
        #expect(clock.time < .seconds(1))
        #expect(notes.samples(user: "bob").isEmpty)
        #expect(notes.samples(user: "cem").count == 480 * 5)
        await graph.stop()
    }

    @Test("SP-1 users are told apart by their streams' IDs, whatever the pads are called")
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
        // The pad stays, and somebody else is heard in it.
        room.push("x", .streamStart("lobby/erin/mic"))
        room.push("x", .segment)
        room.say("x", samples[...], block: 1)
        #expect(waitUntil { room.notes.samples(.oneWay(SpeakerUser(name: "erin", room: "lobby"))) == samples })
        #expect(waitUntil { room.notes.log.all.contains("carol off") })
        #expect(room.notes.samples(carol) == samples)
    }

    @Test("SP-1 pads that nobody named have users of their own")
    func anonymous() async throws {
        let heard = try await Heard(
            "virtualspeaker name=s \(folder.source("a", noiseSamples(480, seed: 1))) ! s. \(folder.source("b", noiseSamples(480, seed: 2))) ! s."
        )
        #expect(heard.users == ["0", "1"])
    }

    @Test("SP-4 blocks that are kept stay what they were, when the graph is long gone")
    func kept() async throws {
        let samples = noiseSamples(48_000)
        var graph: Graph? = try Graph(
            "virtualspeaker name=s memory-mode=heap \(folder.source("a", samples)) ! s.user_anna")
        var kept: [OwnedAudioFrame] = []
        let audio = try graph!.virtualSpeaker("s").audio
        try await graph!.start()
        for try await block in audio where block.stream.user != nil { kept.append(block.frame) }
        await graph!.stop()
        graph = nil
        #expect(try kept.flatMap { try $0.samples() } == samples)
    }

    @Test("SP-4 a handler that borrows contradicts memory-mode=heap, and so does one that keeps nothing")
    func contradiction() async throws {
        let graph = try Graph("audiotestsrc num-buffers=1 ! virtualspeaker name=s memory-mode=heap")
        #expect(throws: MediaGraphError.self) { try graph.virtualSpeaker("s").receive { _, _ in } }
    }

    @Test("SP-4 memory-mode=heap that is set after a handler which borrows ends the run with the reason")
    func laterContradiction() async throws {
        let graph = try Graph("audiotestsrc num-buffers=1 ! virtualspeaker name=s")
        let node = try graph.virtualSpeaker("s")
        try node.receive { _, _ in }
        try node.element.setProperty("memory-mode", parsing: "heap")
        await #expect(throws: GraphError.self) { try await graph.run() }
    }

    @Test("SP-4 a borrowed block can be retained; what is retained is the stream's own buffer")
    func retain() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(4800))) ! s.user_anna")
        let kept = Log<OwnedAudioFrame>()
        try graph.virtualSpeaker("s").receive { frame, stream in
            guard stream != .mixed else { return }
            let canRetain = frame.canRetain
            #expect(canRetain)
            kept.add(try frame.retain())
        }
        try await graph.run()
        #expect(try kept.all.flatMap { try $0.samples() } == noiseSamples(4800))
    }

    @Test("SP-3 a handler that blocks holds up no stream where blocks may be dropped, and every loss is counted")
    func blocked() async throws {
        let gate = BlockingMonitor(false)
        let graph = try Graph(
            """
            virtualspeaker name=s backpressure=drop-old max-frames=4 ! fakesink name=f async=false
            audiotestsrc num-buffers=200 samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            """)
        let node = try graph.virtualSpeaker("s")
        let calls = Atomic<Int>(0)
        try node.receive { _, _ in
            calls.add(1, ordering: .relaxed)
            _ = gate.wait { $0 ? true : nil }
        }
        let sink = try graph.element("f")
        try await graph.start()
        // All of the mix but what is under way at the end, which waits until the handler has heard of it.
        #expect(
            waitUntil {
                let stats = try? sink.property("stats", as: Structure.self)
                return (stats?["rendered", as: UInt64.self] ?? 0) >= 199
            })
        #expect(calls.load(ordering: .relaxed) == 1)
        gate.withLock { $0 = true }
        _ = try await graph.waitUntilEnd()
        let counts = node.statistics
        #expect(counts.dropped > 0)
        #expect(counts.frames + counts.dropped == 400)
        #expect(counts.frames == UInt64(calls.load(ordering: .relaxed)))
        await graph.stop()
    }

    @Test("SP-5 an editor's mix is what the handler gets and what leaves src; the one-way streams are as they were")
    func editing() async throws {
        let samples = noiseSamples(4800)
        let graph = try Graph(
            "virtualspeaker name=s ! virtualspeaker name=t \(folder.source("a", samples)) ! s.user_anna")
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try graph.virtualSpeaker("s").edit { frame in
            var samples = frame.mutableSamples
            for index in samples.indices { samples[index] = -samples[index] }
            return .pass
        }
        let heard = try await Heard(graph, speaker: "t")
        let edited = samples.map { -$0 }
        #expect(notes.mixed == edited)
        #expect(notes.samples(user: "anna") == samples)
        #expect(heard.mixed == edited)
    }

    @Test("SP-5 what an editor drops is silence in the mix, not a hole, and is counted; one that throws ends the graph")
    func dropping() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(4800))) ! s.user_anna")
        try graph.virtualSpeaker("s").edit { _ in .drop }
        let heard = try await Heard(graph)
        #expect(heard.mixed == [Int16](repeating: 0, count: 4800))
        #expect(try graph.virtualSpeaker("s").statistics.dropped == 10)

        let failing = try Graph("virtualspeaker name=s \(folder.source("b", noiseSamples(4800))) ! s.user_anna")
        try failing.virtualSpeaker("s").edit { _ in throw MediaGraphError.noAudio(.init("nothing to edit")) }
        await #expect(throws: GraphError.self) { try await failing.run() }
    }

    @Test("SP-3 a handler that throws ends the graph with its name and the reason, once")
    func failing() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(48_000))) ! s.user_anna")
        try graph.virtualSpeaker("s").receive { _, _ in throw MediaGraphError.noAudio(.init("not my cup of tea")) }
        do {
            try await graph.run()
            Issue.record("it ended well")
        } catch {
            #expect("\(error)".contains("not my cup of tea"), "\(error)")
            #expect("\(error)".contains("closure"), "\(error)")
        }
    }

    @Test("SP-1 status: on before a stream's first block, off after its last, then the end")
    func status() async throws {
        let graph = try Graph("virtualspeaker name=s \(folder.source("a", noiseSamples(960))) ! s.user_anna")
        let notes = Notes()
        try graph.virtualSpeaker("s").attach(NoteTaker(notes: notes))
        try await graph.run()
        let log = notes.log.all
        #expect(Set(log) == ["anna on", "anna off", "mixed on", "mixed off", "finish"])
        #expect(log.last == "finish")
        #expect(log.firstIndex(of: "anna on")! < log.firstIndex(of: "anna off")!)
    }

    @Test("EL-2 a flush of one user's stream leaves the others' alone, and his goes on")
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
            // What the flush took of bob's, the mixer waits for no longer than the clock says.
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.samples(user: "anna").count == anna.count })
        #expect(room.notes.samples(user: "anna") == anna)
        #expect(waitUntil { room.notes.samples(user: "bob").suffix(4800) == bob.suffix(4800) })
    }

    @Test("EL-2 a stream whose format changes goes on in the node's own")
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

    @Test("SP-3 what comes too late for a live mix is counted")
    func late() throws {
        let room = try SpeakerRoom()
        let samples = noiseSamples(480 * 10)
        room.join("bob")
        for index in 0..<10 {
            room.say("anna", block(samples, index), block: index)
            room.say("bob", block(samples, index), block: index)
        }
        #expect(waitUntil { room.notes.mixed.count >= 480 * 9 })
        // Somebody whose clock is behind by 100 ms.
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
        // Handed over all the same: it is the mix that had no time.
        #expect(waitUntil { room.notes.samples(user: "cem").count == 960 })
    }

    @Test(
        "EL-1 users who come and go at any moment, from another thread, leave no stuck stream",
        arguments: ["", "! capsfilter caps=audio/x-raw,format=S24LE", "! capsfilter caps=audio/x-raw,rate=44100"])
    func stress(format: String) throws {
        let pipeline = try Pipeline(
            parsing: "audiotestsrc is-live=true samplesperbuffer=48 ! virtualspeaker name=s handler=count")
        let speaker = try #require(pipeline.element(named: "s"))
        pipeline.setState(.playing)
        let rounds = Atomic<Int>(0)
        let thread = NativeThread("users") {
            var random = SplitMix64(state: 5)
            var present: (source: Element, pad: Pad)?
            func leave() {
                guard let user = present.take() else { return }
                // In either order.
                if Bool.random(using: &random) { user.source.setState(.null) }
                speaker.releasePad(user.pad)
                user.source.setState(.null)
                pipeline.remove(user.source)
            }
            for round in 0..<150 {
                let (isLive, samples) = (Bool.random(using: &random), Int.random(in: 1...500, using: &random))
                let source = try! Element(
                    parsing: "audiotestsrc is-live=\(isLive) samplesperbuffer=\(samples) \(format)")
                pipeline.add(source)
                // Who was there leaves as this one comes, or a moment later.
                if Bool.random(using: &random) { leave() }
                let pad = speaker.requestPad("user_r\(round)")!
                _ = source.staticPad("src")!.link(to: pad)
                source.syncState()
                Thread.sleep(forTimeInterval: Double.random(in: 0...0.004, using: &random))
                leave()
                present = (source, pad)
                // Or this one alone.
                if Bool.random(using: &random) { leave() }
                // Whoever comes next would wake a mixer that sleeps: each departure has to leave one that goes on.
                let before = NodeCounts(speaker)!.frames
                guard waitUntil({ NodeCounts(speaker)!.frames > before + 20 }) else { return }
                rounds.add(1, ordering: .relaxed)
            }
        }
        thread.join()
        #expect(rounds.load(ordering: .relaxed) == 150)
        pipeline.setState(.null)
    }

    @Test("EL-1 starting and stopping fifty times at any moment never hangs", arguments: ["", "is-live=true"])
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
        #expect(waitUntil { cycles.load(ordering: .relaxed) == 50 })
        thread.join()
    }
}
