import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests that a reader that is absent, blocked or unsuitable doesn't affect its graph or other readers.
@Suite struct SessionReaderTests {
    init() throws { try Nodes.register() }

    @Test("VS-1 an absent user doesn't block the graph's other sinks, and is shown when they join")
    func blocksNoBranch() async throws {
        let graph = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice
            call.video_bob ! videoconvert ! fakesink  call.video_carol ! videoconvert ! fakesink name=carol
            videotestsrc is-live=true ! fakesink name=other
            """)
        let frames = Log<ClockTime>()
        try graph.element("other").staticPad("sink")?.observeBuffers { frames.add($0.presentationTimestamp ?? .zero) }
        try await graph.start()
        #expect(waitUntil { frames.all.count >= 10 })
        let seen = Log<ClockTime>()
        try graph.element("carol").staticPad("sink")?.observeBuffers { seen.add($0.presentationTimestamp ?? .zero) }
        let (carol, source) = try publisherGraph("carol", room: "\"\(#function)\"")
        try await carol.start()
        #expect(
            waitUntil {
                // A frame that is sent before the session reads is lost.
                try? source.sendFrame()
                return !seen.all.isEmpty
            })
        guard case .endOfStream = await graph.finish() else {
            Issue.record("the graph didn't end with an end of stream")
            return
        }
        await carol.stop()
    }

    @Test("SE-4 a blocked reader neither costs the others a frame nor slows down the sender")
    func stuckReader() async throws {
        let room = "\"\(#function)\""
        let isHeld = BlockingMonitor(true)
        let stuck = try Graph("mediasession name=call room=\(room) user=alice  call.video_bob ! rawdatapipe name=bob")
        try stuck.rawDataPipe("bob").receive { _ in _ = isHeld.wait { $0 ? nil : true } }
        let reader = try Graph("mediasession name=call room=\(room) user=carol  call.video_bob ! rawdatapipe name=bob")
        let log = Log<String>()
        try reader.rawDataPipe("bob").attach(StreamRecorder(log: log))
        let (bob, source) = try publisherGraph("bob", room: room)
        for graph in [stuck, reader, bob] { try await graph.start() }
        for count in 1...50 {
            try source.sendFrame()
            #expect(waitUntil { log.all.count == count + 1 })
        }
        #expect(try reader.rawDataPipe("bob").statistics.dropped == 0)
        #expect(try reader.counts("call").dropped == 0)
        #expect(waitUntil { (try? bob.counts("call").frames) == 50 })
        // The blocked reader loses frames in its session or its pipe, except for a few in queues.
        let lost = try stuck.counts("call").dropped + stuck.rawDataPipe("bob").statistics.dropped
        #expect((30...50).contains(lost))
        isHeld.withLock { $0 = false }
        for graph in [stuck, reader, bob] { await graph.stop() }
    }

    @Test(
        "SE-4 frames from before a reader's start are dropped and counted, and its compositor goes on",
        .timeLimit(.minutes(10)))
    func fromBeforeTheStart() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisherGraph("bob", room: room)
        try await bob.start()
        let sender = source.sender
        let before = try #require(sender.runningTime)
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! tee name=t ! queue ! rawdatapipe name=bob
            t. ! queue ! compositor ! rawdatapipe name=composed
            """)
        let (log, composed) = (Log<String>(), Log<String>())
        try reader.rawDataPipe("bob").attach(StreamRecorder(log: log))
        try reader.rawDataPipe("composed").attach(StreamRecorder(log: composed))
        try await reader.start()
        // A reader that isn't PLAYING yet drops nothing.
        var sent: UInt64 = 0
        let isLost = waitUntil {
            let timestamp = ClockTime(nanoseconds: before.nanoseconds + sent)
            sent += 1
            try? sendNow(
                sender, patternedFrame(width: 16, height: 16, seed: 0),
                FrameDescription(width: 16, height: 16, framesPerSecond: Fraction(30, 1), timestamp: timestamp))
            return (try? reader.counts("call").dropped) ?? 0 >= 2
        }
        #expect(isLost && log.all.filter { $0 == "frame" }.isEmpty)
        #expect(
            waitUntil {
                try? source.sendFrame()
                return log.all.count > 2 && composed.all.count > 2
            })
        await reader.stop()
        await bob.stop()
    }

    /// Logs the graph's warnings as they are posted.
    private func warnings(of graph: Graph) -> Log<String> {
        let log = Log<String>()
        Task { [events = graph.events] in
            for await event in events { if case .warning(let problem) = event { log.add("\(problem)") } }
        }
        return log
    }

    @Test(
        "SE-4 an element that can't take a user's stream causes a warning, and other readers go on"
    )
    func unsuitableReader() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! video/x-raw,format=GRAY8 ! matroskamux ! fakesink  call.video_carol ! rawdatapipe name=carol
            """)
        let log = Log<String>()
        try reader.rawDataPipe("carol").attach(StreamRecorder(log: log))
        let warnings = warnings(of: reader)
        try await reader.start()
        let (bob, bobs) = try publisherGraph("bob", room: room)
        let (carol, carols) = try publisherGraph("carol", room: room)
        try await bob.start()
        try await carol.start()
        for count in 1...3 {
            try bobs.sendFrame()
            try carols.sendFrame()
            #expect(waitUntil { log.all.count == count + 1 })
        }
        let isWarned = try await eventually {
            warnings.all.contains {
                $0.contains("call.video_bob can't deliver bob's stream: bob sends format=")
                    && $0.hasSuffix(
                        "the linked element accepts format=GRAY8. To fix it, insert videoconvert ! videoscale between them"
                    )
            }
        }
        #expect(isWarned, "\(warnings.all)")
        for graph in [reader, bob, carol] { await graph.stop() }
    }

    @Test("SE-4 an encoded stream for a pipe of raw video is dropped with one warning, and others go on")
    func encodedForRaw() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! rawdatapipe handler=count  call.video_carol ! rawdatapipe name=carol
            """)
        let log = Log<String>()
        try reader.rawDataPipe("carol").attach(StreamRecorder(log: log))
        let warnings = warnings(of: reader)
        try await reader.start()
        let bob = try Graph(
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! vp8enc deadline=1 ! call.camera
            mediasession name=call room=\(room) user=bob
            """)
        try await bob.start()
        #expect(waitUntil { NodeCounts(try! reader.element("call"))!.dropped > 3 })
        let (carol, carols) = try publisherGraph("carol", room: room)
        try await carol.start()
        for count in 1...3 {
            try carols.sendFrame()
            #expect(waitUntil { log.all.count == count + 1 })
        }
        let expected =
            "call.video_bob can't deliver bob's stream: bob sends video/x-vp8; the linked element accepts video/x-raw. To fix it, insert decodebin between them, or in Swift set SessionContext.videoDecoder"
        let isWarned = try await eventually { warnings.all.contains { $0.contains(expected) } }
        #expect(isWarned, "\(warnings.all)")
        for graph in [reader, bob, carol] { await graph.stop() }
        #expect(warnings.all.count { $0.contains(expected) } == 1, "\(warnings.all)")
    }

    /// A delegate that uses its pipe when it is released.
    private final class Leaver: RawDataDelegate {
        let pipe: PipeReader
        init(_ pipe: PipeReader) { self.pipe = pipe }
        deinit { pipe.removeIfUnread() }
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {}
    }

    @Test("SE-2 a delegate may use its pipe in its deinitializer, even while the pipe looks the delegate up")
    func releasedWhileLookedUp() async throws {
        let alice = try session("alice", #function)
        let pipe = PipeReader(alice.sessionGraph, PipeIdentity(name: "preview"), [])
        let isDone = Atomic<Bool>(false)
        let looking = NativeThread("looking") { while !isDone.load(ordering: .relaxed) { pipe.removeIfUnread() } }
        for _ in 0..<300 { try pipe.subscribe(Leaver(pipe), .p90, .auto) }
        isDone.store(true, ordering: .relaxed)
        looking.join()
        await alice.settle()
    }
}

extension Graph {
    fileprivate func counts(_ node: String) throws -> NodeCounts { try #require(NodeCounts(element(node))) }
}
