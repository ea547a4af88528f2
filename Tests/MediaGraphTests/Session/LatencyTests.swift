import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphSession

/// Tests that no frame is lost while it waits for the graph's latency.
@Suite struct LatencyTests {
    init() throws { try Nodes.register() }

    /// How frames reach the pipe whose frames are counted.
    enum Way: String, CaseIterable, Sendable {
        case room, preview, source

        var text: String {
            switch self {
            case .room:
                """
                mediasession name=carol room=latency user=carol  videosource name=camera ! carol.camera
                mediasession room=latency user=alice name=alice  alice.video_carol ! rawdatapipe name=pipe max-frames=200
                """
            case .preview:
                """
                mediasession name=carol room=latency user=carol  videosource name=camera ! carol.camera
                carol.preview ! rawdatapipe name=pipe max-frames=200
                """
            case .source: "videosource name=camera ! rawdatapipe name=pipe max-frames=200"
            }
        }
    }

    /// A live graph on a test clock. A sink in another branch requests a latency that all sinks wait for.
    private final class LatencyScene {
        let graph: Graph
        let clock = TestClock()
        let source = RecordingSource()
        let received = Log<UInt64>()
        private var sent: UInt64 = 0
        private let way: Way

        init(_ way: Way, latency milliseconds: UInt64) async throws {
            self.way = way
            let text = way.text.replacing("latency", with: "latency-\(way)-\(milliseconds)")
            graph = try Graph(
                """
                \(text)
                videosource name=other ! fakesink name=delay sync=true processing-deadline=\(milliseconds)000000
                """)
            let received = received
            try graph.videoSource("camera").attach(source)
            // A sink reports its latency only after its first frame.
            try graph.videoSource("other").attach(
                RecordingSource(onStart: {
                    try sendNow($0, patternedFrame(width: 16, height: 16), Self.frame(at: .zero))
                }))
            try graph.rawDataPipe("pipe").receive { frame in
                received.add(frame.presentationTimestamp?.nanoseconds ?? .max)
            }
            graph.useClock(clock.clock)
            try await graph.start()
            #expect(waitUntil { latency >= milliseconds * 1_000_000 })
            recalculateLatency()
        }

        /// Returns when each element knows the latency. The recalculation runs on the graph's control queue, which
        /// distributes the latency; in parallel to it, an older, lower latency could arrive later, and readers would
        /// drop frames.
        private func recalculateLatency() { graph.control.sync { graph.pipeline.recalculateLatency() } }

        private var latency: UInt64 { graph.pipeline.latency?.minimum.nanoseconds ?? 0 }

        private static func frame(at time: ClockTime) -> FrameDescription {
            FrameDescription(width: 16, height: 16, framesPerSecond: Fraction(30, 1), timestamp: time)
        }

        func setLatency(_ milliseconds: UInt64) throws {
            try graph.element("delay").setProperty("processing-deadline", to: milliseconds * 1_000_000)
            recalculateLatency()
        }

        /// Sends frames at 30 a second, each when its time has come.
        func send(_ count: UInt64) throws {
            for _ in 0..<count {
                let time = ClockTime(nanoseconds: sent * 33_333_333)
                clock.advance(to: max(time, clock.time))
                try sendNow(source.sender, patternedFrame(width: 16, height: 16), Self.frame(at: time))
                sent += 1
                let sent = sent
                // Waits until the frame has left the source. Then it depends on the sinks.
                if way != .source {
                    #expect(waitUntil { NodeCounts(try! graph.element("carol"))?.frames == sent })
                }
                let latency = latency
                let now = clock.time.nanoseconds
                let due = now < latency ? 0 : min((now - latency) / 33_333_333 + 1, sent)
                #expect(waitUntil { received.all.count >= due }, "\(received.all.count) of \(due)")
            }
        }

        /// Advances the clock until all frames are due, checks them, and stops the graph.
        func finish() async throws {
            // No more frames arrive that could be late.
            #expect(received.all.count <= max(1, Int(sent) - Int(latency / 33_333_334) + 1))
            clock.advance(by: .nanoseconds(latency + 1_000_000_000))
            #expect(waitUntil { received.all.count == sent }, "\(received.all.count) of \(sent)")
            #expect(received.all == (0..<sent).map { $0 * 33_333_333 })
            for name in ["carol", "alice", "camera", "pipe"] {
                if let counts = (try? graph.element(name)).flatMap({ NodeCounts($0) }) { #expect(counts.dropped == 0) }
            }
            await graph.stop()
        }
    }

    @Test(
        "SE-4 RP-5 CR-6 each frame arrives in order, whatever latency another branch has",
        arguments: Way.allCases, [0, 50, 100, 200, 500, 1000, 3000] as [UInt64])
    func complete(way: Way, milliseconds: UInt64) async throws {
        let scene = try await LatencyScene(way, latency: milliseconds)
        try scene.send(milliseconds * 30 / 1000 + 30)
        try await scene.finish()
    }

    @Test("SE-4 RP-5 no frame is lost when the latency grows while the graph runs", arguments: Way.allCases)
    func growing(way: Way) async throws {
        let scene = try await LatencyScene(way, latency: 20)
        try scene.send(10)
        for milliseconds in [200, 1500] as [UInt64] {
            try scene.setLatency(milliseconds)
            try scene.send(milliseconds * 30 / 1000 + 10)
        }
        try await scene.finish()
    }

    @Test("SE-4 a reader keeps the frames that wait for the latency, and drops late ones beyond its bound")
    func readerBound() {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.add(reader)
        reader.setGraphLatency(.milliseconds(1000))
        send(1...40, to: stream)
        // The frames up to 4.0 − 1.0 s are late: two of them stay, and the ten after them.
        #expect(taken(from: reader) == Array(29...40))
        #expect(NodeCounts(reader.statistics.structure).dropped == 28)
        reader.setGraphLatency(.zero)
        send(41...50, to: stream)
        #expect(taken(from: reader) == [49, 50])
    }

    @Test("SE-4 waiting frames aren't lost when timestamps restart")
    func rewound() {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.add(reader)
        reader.setGraphLatency(.milliseconds(3000))
        send(41...60, to: stream)
        send(1...5, to: stream)
        #expect(taken(from: reader) == Array(41...60) + Array(1...5))
    }

    @Test("SE-4 no frame of an encoded stream is lost while it waits for the latency")
    func encoded() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.add(reader)
        reader.setGraphLatency(.milliseconds(3000))
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-vp8,width=16,height=16")))
        send(1...1, to: stream)
        send(2...36, to: stream, isPredicted: true)
        #expect(taken(from: reader) == Array(1...36))
    }

    @Test("SE-4 a reader in another process keeps the frames that wait for its graph's latency")
    func otherProcess() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        let reader = StreamReader(bound: 2)
        reader.play()
        reader.setGraphLatency(.milliseconds(3000))
        second.bobs.add(reader)
        late.setDemand(second.bobs.demand.map { StreamDemand(resolution: $0) }, for: second.bobs.key)
        first.bobs.begin()
        first.bobs.setCaps(try #require(Caps("video/x-raw,format=I420,width=16,height=16,framerate=10/1")))
        first.bobs.setTiming(.machine(latency: .zero))
        #expect(waitUntil { first.bobs.demand != nil })
        for index in 1...30 {
            // Each frame has arrived before the next one is sent. A frame that is lost on the way, because the memory
            // of the one before isn't back yet, isn't the reader's loss.
            var lost: UInt64?
            #expect(
                waitUntil {
                    let dropped = NodeCounts(first.bobs.remoteStatistics.structure).dropped
                    if dropped != lost { send(index...index, to: first.bobs) }
                    lost = dropped
                    return second.bobs.bufferCount == UInt64(index)
                })
        }
        #expect(taken(from: reader) == Array(1...30))
        for link in [late, early] { link.stop() }
    }

    /// Sends frames with these numbers, at ten a second.
    private func send(_ numbers: ClosedRange<Int>, to stream: RoomStream, isPredicted: Bool = false) {
        for number in numbers {
            guard let buffer = Buffer(size: 384) else { return }
            if isPredicted { buffer.access.contentFlags = .max }
            buffer.access.presentationTimestamp = .milliseconds(UInt64(number) * 100)
            stream.send(buffer.access)
        }
    }

    private func taken(from reader: StreamReader) -> [Int] {
        var numbers: [Int] = []
        // More than a queue holds.
        for _ in 0..<1000 {
            switch reader.next(timeoutNanoseconds: 0) {
            case .buffer(let frame):
                let buffer = frame.buffer.take()
                numbers.append(Int((buffer.access.presentationTimestamp?.nanoseconds ?? 0) / 100_000_000))
            case .idle, .flush, .end: return numbers
            default: continue
            }
        }
        Issue.record("the queue doesn't end")
        return numbers
    }

    /// A frame of 1080p60 without its memory.
    private struct LargeFrame: TimedMedia {
        let number: UInt64
        var timestamp: ClockTime? { ClockTime(nanoseconds: number * 16_666_667) }
        var byteCount: Int { 3_110_400 }
    }

    @Test("SE-4 memory limits the frames that wait for the latency")
    func memory() {
        var queue = BoundedQueue<LargeFrame, Never>(bound: 2, policy: .dropOldest)
        var count = 0
        while !queue.isFull(
            for: LargeFrame(number: UInt64(count)).timestamp, bound: 2, latencyNanoseconds: 10_000_000_000),
            count < 1000
        {
            queue.appendBeyondBound(LargeFrame(number: UInt64(count)))
            count += 1
        }
        #expect(count == LatencyAllowance.memory / 3_110_400)
        #expect(queue.isMemoryFull)
    }

    @Test("VS-8 a live source's queue accepts frames beyond its bound that wait for the latency")
    func sendQueue() {
        var queue = SendQueue<Int>()
        queue.initialize(bound: 2, policy: .block)
        queue.open()
        queue.opened()
        queue.latencyNanoseconds = 500_000_000
        var accepted = 0
        while case .accepted = queue.offer(accepted + 1) { accepted += 1 }
        // With a timestamp of 0.8 s, the first three frames are late.
        #expect(accepted == 7)
        queue.latencyNanoseconds = 0
        guard case .full = queue.offer(8) else {
            Issue.record("the queue has room")
            return
        }
    }
}
