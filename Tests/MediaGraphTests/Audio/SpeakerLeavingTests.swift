import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests users who leave at inconvenient moments.
@Suite(.timeLimit(.minutes(10))) struct SpeakerLeavingTests {
    init() throws { try Nodes.register() }

    @Test(
        "SP-3 leaving users' last blocks are mixed, even if another user is flushed",
        arguments: [1, 2])
    func lastBlocks(leavers: Int) throws {
        let users = ["anna", "bob", "cem"]
        let samples = (0..<3).map { noiseSamples(480 * 4, seed: UInt64($0 + 1)) }
        let room = try SpeakerRoom()
        for user in ["bob", "cem", "dave", "eve"] { room.join(user) }
        // Dave and Eve send only two blocks, so the mixer waits for their third.
        for index in 0..<2 {
            for user in ["dave", "eve"] { room.say(user, [Int16](repeating: 0, count: 480)[...], block: index) }
        }
        for index in 0..<3 {
            for (number, user) in users.enumerated() {
                room.say(user, samples[number][index * 480..<(index + 1) * 480], block: index)
            }
            if index < 2 { room.clock.advance(by: .milliseconds(10)) }
        }
        #expect(waitUntil { room.notes.mixed.count >= 960 })
        for user in users.prefix(leavers) { room.leave(user) }
        room.push("eve", .flushStart)
        room.push("eve", .flushStop)
        room.say("cem", samples[2][3 * 480..<4 * 480], block: 3)
        room.clock.advance(by: .milliseconds(100))
        #expect(waitUntil { room.notes.mixed.count >= 480 * 4 })
        let expected = (0..<3 * 480).map { index in Int16(clamping: samples.reduce(0) { $0 + Int($1[index]) }) }
        let isSum = Array(room.notes.mixed.prefix(3 * 480)) == expected
        #expect(isSum)
    }

    @Test("SP-3 a user whose stream is being flushed may leave, and the others go on")
    func flushed() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s backpressure=block handler=count
            audiotestsrc samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_anna
            audiotestsrc samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! s.user_bob
            """)
        try await graph.start()
        let speaker = try graph.element("s")
        #expect(waitUntil { NodeCounts(speaker)!.frames > 100 })
        let pad = try #require(speaker.staticPad("user_bob"))
        pad.sendFlushStart()
        speaker.releasePad(pad)
        let before = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > before + 1000 })
        await graph.stop()
    }

    @Test("SP-3 a user who leaves before sending anything doesn't decide whether the mix is live")
    func unheard() throws {
        let pipeline = try Pipeline(parsing: "virtualspeaker name=s handler=count appsrc ! s.user_anna")
        let speaker = try #require(pipeline.element(named: "s"))
        let node = ElementClass.implementation(of: speaker.element, as: VirtualSpeakerElement.self)
        pipeline.setState(.playing)
        #expect(waitUntil { pipeline.isPlaying })
        speaker.releasePad(try #require(speaker.staticPad("user_anna")))
        #expect(node.delivery.liveness == nil)
        pipeline.setState(.null)
    }

    @Test("SP-3 users may leave at any moment while the mix runs without a pause")
    func busy() throws {
        let pipeline = try Pipeline(
            parsing: """
                audiotestsrc samplesperbuffer=1920 ! audio/x-raw,rate=192000,channels=8 !
                virtualspeaker name=s channels=2 rate=192000 backpressure=block handler=count
                """)
        let speaker = try #require(pipeline.element(named: "s"))
        pipeline.setState(.playing)
        // A pipeline that is still changing state might restart a source that has just been stopped.
        #expect(waitUntil { pipeline.isPlaying })
        for number in 0..<Soak.count(150, soak: 500) {
            let user = try Element(
                parsing: """
                    audiotestsrc wave=white-noise samplesperbuffer=9600 !
                    capsfilter caps=audio/x-raw,rate=192000,channels=8
                    """)
            pipeline.add(user)
            let pad = try #require(speaker.requestPad("user_u\(number)"))
            #expect(user.staticPad("src")!.link(to: pad))
            user.syncState()
            let before = NodeCounts(speaker)!.frames
            #expect(waitUntil { NodeCounts(speaker)!.frames > before + 5 + UInt64(number % 7) })
            speaker.releasePad(pad)
            pipeline.stopAndRemove(user)
        }
        let before = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > before + 1000 })
        pipeline.setState(.null)
    }

    private final class FlushCounter: PadTap, @unchecked Sendable {
        let count = Atomic<Int>(0)
        override func received(_ event: Event) -> Bool {
            if case .flushStop = event { count.add(1, ordering: .relaxed) }
            return true
        }
    }

    @Test("EL-2 a seek succeeds right after users have left", arguments: [State.paused, .playing], [0, 1, 500])
    func seek(state: State, extraFrames: UInt64) throws {
        let pipeline = try Pipeline(
            parsing: """
                virtualspeaker name=s backpressure=block handler=count ! fakesink name=sink
                audiotestsrc samplesperbuffer=480 ! s.user_anna
                audiotestsrc samplesperbuffer=480 name=bob ! s.user_bob
                audiotestsrc samplesperbuffer=480 num-buffers=3 name=cem ! s.user_cem
                """)
        let (flushes, speaker) = (FlushCounter(), try #require(pipeline.element(named: "s")))
        try #require(pipeline.element(named: "sink")?.staticPad("sink")).setTap(flushes)
        pipeline.setState(state)
        #expect(pipeline.waitForState(timeout: .seconds(60)).state == state)
        if state == .playing { #expect(waitUntil { NodeCounts(speaker)!.frames > 100 + extraFrames }) }
        // Bob's stream is still running, Cem's has ended.
        for name in ["bob", "cem"] {
            speaker.releasePad(try #require(speaker.staticPad("user_\(name)")))
            let source = try #require(pipeline.element(named: name))
            pipeline.stopAndRemove(source)
        }
        #expect(pipeline.seek(to: .milliseconds(100)))
        #expect(waitUntil { flushes.count.load(ordering: .relaxed) == 1 })
        pipeline.setState(.playing)
        let sought = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > sought + 1000 })
        pipeline.setState(.null)
    }

    @Test("SP-3 the only user of a mix that isn't live may leave, and the mix goes on with the next user")
    func onlyOne() throws {
        let pipeline = try Pipeline(
            parsing: "audiotestsrc name=anna ! virtualspeaker name=s backpressure=block handler=count")
        let speaker = try #require(pipeline.element(named: "s"))
        pipeline.setState(.playing)
        #expect(waitUntil { pipeline.isPlaying && NodeCounts(speaker)!.frames > 500 })
        speaker.releasePad(try #require(speaker.staticPad("user_0")))
        let anna = try #require(pipeline.element(named: "anna"))
        pipeline.stopAndRemove(anna)
        let bob = try Element(parsing: "audiotestsrc ! identity")
        pipeline.add(bob)
        #expect(bob.staticPad("src")!.link(to: try #require(speaker.requestPad("user_bob"))))
        bob.syncState()
        let before = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > before + 500 })
        pipeline.setState(.null)
    }

    @Test("EL-1 a user who leaves while the graph stops doesn't block a later run")
    func leavesInStop() throws {
        let pipeline = try Pipeline(
            parsing: """
                virtualspeaker name=s backpressure=block handler=count
                audiotestsrc samplesperbuffer=480 ! s.user_anna
                """)
        let speaker = try #require(pipeline.element(named: "s"))
        for round in 0..<50 {
            let bob = try Element(
                parsing: "audiotestsrc samplesperbuffer=480 ! capsfilter caps=audio/x-raw,format=S24LE")
            pipeline.add(bob)
            let pad = try #require(speaker.requestPad("user_bob"))
            #expect(bob.staticPad("src")!.link(to: pad))
            pipeline.setState(.playing)
            #expect(waitUntil { pipeline.isPlaying && NodeCounts(speaker)!.frames > 50 }, "\(round)")
            let leaver = NativeThread("leaver") {
                g_usleep(UInt(round * 20))
                speaker.releasePad(pad)
            }
            pipeline.setState(.ready)
            leaver.join()
            pipeline.stopAndRemove(bob)
        }
        pipeline.setState(.null)
    }

    @Test("SP-3 removing a user while their stream begins doesn't end the graph")
    func beginning() async throws {
        let graph = try Graph(
            """
            virtualspeaker name=s backpressure=block handler=count
            audiotestsrc samplesperbuffer=480 ! s.user_anna
            audiotestsrc samplesperbuffer=480 ! capsfilter caps=audio/x-raw,format=S24LE ! tee name=t allow-not-linked=true
            """)
        try await graph.start()
        let (speaker, tee) = (try graph.element("s"), try graph.element("t"))
        for round in 0..<400 {
            let (outlet, pad) = (tee.requestPad("src_%u"), speaker.requestPad("user_bob"))
            let (source, sink) = (try #require(outlet), try #require(pad))
            #expect(source.link(to: sink))
            g_usleep(UInt(round % 40 * 50))
            source.unlink(from: sink)
            speaker.releasePad(sink)
            tee.releasePad(source)
        }
        let before = NodeCounts(speaker)!.frames
        #expect(waitUntil { NodeCounts(speaker)!.frames > before + 100 }, "the graph has ended")
        await graph.stop()
    }

    private struct Callback: VirtualSpeaker {
        let shared: @Sendable () -> Void
        let log: Log<String>
        func sharedAudioReceived(_ frame: borrowing AudioFrame) {
            log.add("shared")
            shared()
        }
        func finish() { log.add("finish") }
    }

    @Test("SP-3 the last pad may be released in its own callback, and `finish` follows once")
    func fromCallback() throws {
        let speaker = try #require(Element(factory: "virtualspeaker"))
        try speaker.setProperty("backpressure", parsing: "block")
        let pad = Mutex<Pad?>(nil)
        let log = Log<String>()
        let handler = Callback(
            shared: { if let pad = pad.withLock({ $0.take() }) { speaker.releasePad(pad) } }, log: log)
        try NodeVTable.attach(MGAudioConsumer(handler, name: "callback"), to: speaker)
        let caps = "audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"
        let anna = Harness(speaker, sink: "user_anna", source: nil)
        let shared = Harness(speaker, sink: "shared", source: nil)
        for harness in [anna, shared] {
            harness.setLive(false)
            harness.setSourceCaps(caps)
        }
        anna.push([UInt8](repeating: 0, count: 960))
        anna.push(.endOfStream)
        #expect(waitUntil { NodeCounts(speaker)!.frames >= 2 })
        pad.withLock { $0 = speaker.staticPad("shared") }
        shared.push([UInt8](repeating: 0, count: 960))
        #expect(waitUntil { log.all == ["shared", "finish"] }, "\(log.all)")
    }
}
