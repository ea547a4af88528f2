import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests the numbers of a session's streams.
@Suite(.timeLimit(.minutes(10))) struct StreamStatisticsTests {
    init() throws { try Nodes.register() }

    /// A graph and the statistics that it reports.
    private struct Member {
        let graph: Graph
        let reported = Log<[StreamStatistics]>()

        init(_ description: String) throws {
            graph = try Graph(description)
            let (statistics, reported) = (graph.streamStatistics, reported)
            Task { for await next in statistics where next.node == "call" { reported.add(next.streams) } }
        }
    }

    private static func push(_ count: Int, bytes: Int, into graph: Graph) throws {
        let source = try #require(AppSource(wrapping: graph.element("source")))
        for _ in 0..<count {
            guard let frame = Buffer(filledWith: 7, count: bytes) else { return }
            source.push(frame)
        }
    }

    /// The number of frames that the graph's session has sent.
    private static func sent(_ graph: Graph) -> Int? {
        let frames: UInt64? = (try? graph.element("call").property("stats", as: Structure.self))?["frames"]
        return frames.map(Int.init)
    }

    private static func source(_ caps: String) -> String {
        "appsrc name=source is-live=true format=time do-timestamp=true caps=\(caps)"
    }

    @Test("SE-12 a session counts what it sends and reads, and computes rates once a second")
    func exactNumbers() async throws {
        let clock = VirtualClock()
        RoomTransportKind.registerProcesses("numbers", clock: clock)
        let caps = "video/x-raw,format=I420,width=320,height=240,framerate=25/1"
        let session = "mediasession name=call room=numbers transport=numbers"
        let alice = try Member("\(Self.source(caps)) ! call.camera  \(session) user=alice  call.preview ! fakesink")
        let bob = try Member("\(session) user=bob  call.video_alice ! rawdatapipe name=pipe max-frames=100")
        let seen = Log<String>()
        try bob.graph.rawDataPipe("pipe").attach(StreamRecorder(log: seen))
        /// Pushes a frame, and waits until both sides have counted it.
        func sendFrame(_ number: Int) throws {
            try Self.push(1, bytes: 115_200, into: alice.graph)
            #expect(waitUntil { seen.all.count { $0 == "frame" } == number && Self.sent(alice.graph) == number })
        }
        try await bob.graph.start()
        try await alice.graph.start()
        // One frame at a time, so that none is dropped.
        for number in 1...25 { try sendFrame(number) }
        // The two meters.
        #expect(try await eventually { clock.deadlines.filter { $0 == .seconds(1) }.count == 2 }, "\(clock.deadlines)")
        clock.advance(by: .seconds(1))
        #expect(try await eventually { alice.reported.all.count == 1 && bob.reported.all.count == 1 })
        var expected = StreamStatistics(
            user: "alice", stream: .video, direction: .sent, framesPerSecond: 25, bitsPerSecond: 25 * 115_200 * 8,
            width: 320, height: 240, frames: 25, bytes: 25 * 115_200)
        #expect(alice.reported.all == [[expected]])
        expected.direction = .received
        #expect(bob.reported.all == [[expected]])
        let property = try alice.graph.element("call").property("streams", as: Structure.self)
        expected.direction = .sent
        #expect(property.fieldNames == ["camera"] && StreamStatistics.all(in: property) == [expected])
        // Two seconds without frames.
        #expect(try await eventually { clock.deadlines.filter { $0 == .seconds(1) }.count == 2 })
        clock.advance(by: .seconds(2))
        #expect(try await eventually { alice.reported.all.count == 2 })
        (expected.framesPerSecond, expected.bitsPerSecond) = (0, 0)
        #expect(alice.reported.all[1] == [expected])
        // Rates are per second, however long the interval was.
        #expect(try await eventually { clock.deadlines.filter { $0 == .seconds(1) }.count == 2 })
        try sendFrame(26)
        clock.advance(by: .seconds(4))
        #expect(try await eventually { alice.reported.all.count == 3 })
        #expect(alice.reported.all[2].first?.framesPerSecond == 0.25 && alice.reported.all[2].first?.frames == 26)
        await alice.graph.stop()
        #expect(
            try alice.graph.element("call").property("streams", as: Structure.self).fieldNames.isEmpty)
        await bob.graph.stop()
        #expect(try await eventually { clock.deadlines.isEmpty })
    }

    @Test("SE-12 encoded streams count their real bytes, and sound has no size")
    func encodedStreams() async throws {
        let clock = VirtualClock()
        RoomTransportKind.registerProcesses("encoded-numbers", clock: clock)
        let alice = try Member(
            """
            \(Self.source("video/x-vp8,width=64,height=48,framerate=25/1")) ! call.camera
            audiotestsrc is-live=true num-buffers=3 samplesperbuffer=480 ! audio/x-raw,format=S16LE,rate=48000,channels=2
            ! call.mic
            mediasession name=call room=encoded transport=encoded-numbers user=alice
            """)
        try await alice.graph.start()
        for size in [100, 20, 3] { try Self.push(1, bytes: size, into: alice.graph) }
        #expect(waitUntil { Self.sent(alice.graph) == 6 })
        #expect(try await clock.pass(.seconds(1)))
        #expect(try await eventually { alice.reported.all.count == 1 })
        let video = StreamStatistics(
            user: "alice", stream: .video, direction: .sent, framesPerSecond: 3, bitsPerSecond: 123 * 8, width: 64,
            height: 48, frames: 3, bytes: 123)
        let sound = StreamStatistics(
            user: "alice", stream: .audio, direction: .sent, framesPerSecond: 3, bitsPerSecond: 3 * 1920 * 8, frames: 3,
            bytes: 3 * 1920)
        #expect(alice.reported.all == [[video, sound]])
        await alice.graph.stop()
    }

    @Test("SE-12 what a slow reader loses is counted once, at the reader")
    func losses() throws {
        let statistics = StreamReader(bound: 2)
        statistics.play()
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: #function)
        stream.add(statistics)
        stream.begin()
        for _ in 0..<5 {
            guard let frame = Buffer(filledWith: 1, count: 10) else { return }
            stream.send(frame.access)
        }
        stream.countLoss()
        let numbers = StreamStatistics(
            stream.key, .received, statistics.statistics,
            lost: statistics.statistics.dropped.load(ordering: .relaxed), nil)
        #expect(numbers == StreamStatistics(user: "bob", stream: .video, direction: .received, lost: 4))
        stream.remove(statistics)
    }

    @Test("SE-12 in Swift, a session has its streams' numbers as a sequence and by user")
    func statisticsOfSessions() async throws {
        let clock = VirtualClock()
        RoomTransportKind.registerProcesses("session-numbers", clock: clock)
        let alice = try session("alice", "numbers-in-swift") {
            ($0.camera, $0.transport) = (
                "videotestsrc is-live=true ! video/x-raw,width=64,height=48", "session-numbers"
            )
        }
        let bob = try session("bob", "numbers-in-swift") { $0.transport = "session-numbers" }
        try await alice.join()
        try await bob.join()
        var numbers = bob.statistics.makeAsyncIterator()
        let pipe = PipeLog()
        try bob.user("alice").videoPipe.subscribe(pipe, resolution: .p90)
        #expect(waitUntil { pipe.count > 2 })
        #expect(try bob.user("alice").statistics(of: .video) == nil)
        #expect(try await eventually { clock.deadlines.filter { $0 == .seconds(1) }.count == 2 })
        clock.advance(by: .seconds(1))
        let first = try #require(await numbers.next()?.first)
        #expect(first.user == "alice" && first.direction == .received && first.width == 64 && first.frames > 2)
        #expect(first.framesPerSecond == Double(first.frames) && first.bitsPerSecond == Double(first.bytes * 8))
        #expect(try bob.user("alice").statistics(of: .video) == first)
        #expect(try bob.user("alice").statistics(of: .audio) == nil)
        #expect(try await eventually { alice.localUser.statistics(of: .video)?.direction == .sent })
        await bob.leave()
        #expect(alice.localUser.statistics(of: .video) != nil)
        await alice.leave()
        #expect(alice.localUser.statistics(of: .video) == nil)
    }
}
