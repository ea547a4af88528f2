import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphSession

/// Tests a user's stream in a graph whose clock or base time differs from the publisher's.
@Suite struct SessionClockTests {
    init() throws { try Nodes.register() }

    @Test(
        "SE-1 with drifting clocks frames keep their time in the reader's graph within a millisecond"
    )
    func driftingClocks() throws {
        let (published, read) = (TestClock(), TestClock())
        let timing = StreamTiming(
            segment: Segment(), clock: published.clock, baseTime: .zero, latency: .zero)
        let segment = timing.segment(in: read.clock, baseTime: .zero)
        let times = try #require(
            ClockFollower(
                timing, clock: read.clock, baseTime: .zero, announced: timing.offset(to: read.clock, baseTime: .zero)))
        #expect(ClockFollower(timing, clock: published.clock, baseTime: .zero, announced: 0) == nil)
        var isMoved = false
        for tick in 1...1000 {
            // The clocks drift by 100 ppm, in steps of a second.
            let now = ClockTime(nanoseconds: UInt64(tick) * 1_000_000_000)
            let there = ClockTime(nanoseconds: now.nanoseconds + UInt64(tick) * 100_000)
            published.advance(to: now)
            read.advance(to: there)
            guard let buffer = Buffer(filledWith: 0, count: 8) else {
                Issue.record("no memory")
                return
            }
            buffer.access.presentationTimestamp = now
            buffer.access.decodingTimestamp = now
            let memory = buffer.access.withBytes { UInt(bitPattern: $0.baseAddress) }
            let followed = times.follow(buffer)
            let running = try #require(segment.runningTime(of: followed.access.presentationTimestamp!))
            #expect(abs(Int64(running.nanoseconds) - Int64(there.nanoseconds)) <= 1_000_000)
            #expect(followed.access.decodingTimestamp == followed.access.presentationTimestamp)
            #expect(followed.access.withBytes { UInt(bitPattern: $0.baseAddress) } == memory)
            if followed.access.presentationTimestamp != now { isMoved = true }
        }
        #expect(isMoved)
    }

    @Test("SE-1 a reader that pauses continues live, with a new base time")
    func pause() async throws {
        let time = TestClock()
        let publisher = try Graph(
            "mediasession name=call room=reader-pauses user=alice  videosource name=camera ! call.camera")
        let source = RecordingSource()
        try publisher.videoSource("camera").attach(source)
        publisher.useClock(time.clock)
        try await publisher.start()
        let reader = try Pipeline(
            parsing:
                "mediasession name=call room=reader-pauses user=bob  call.video_alice ! rawdatapipe name=pipe handler=count"
        )
        reader.useClock(time.clock)
        let pipe = try #require(reader.element(named: "pipe"))
        /// Sends a frame, and lets its time come.
        func send() throws {
            try source.sendPattern()
            time.advance(by: .milliseconds(100))
        }
        /// Whether, after the first frame, each one is delivered before the next one is sent.
        func delivers(_ count: UInt64) throws -> Bool {
            let before = NodeCounts(pipe)?.frames ?? 0
            // Frames from before the pipe is PLAYING may be lost.
            guard waitUntil({ (try? send()) != nil && NodeCounts(pipe)?.frames ?? 0 > before }) else { return false }
            for _ in 0..<count {
                let delivered = NodeCounts(pipe)?.frames ?? 0
                try send()
                guard waitUntil({ NodeCounts(pipe)?.frames ?? 0 > delivered }) else { return false }
            }
            return true
        }
        reader.setState(.playing)
        #expect(try delivers(5))
        reader.setState(.paused)
        // If frames were still dated back by the pause, they would be dropped as late.
        time.advance(by: .seconds(4))
        reader.setState(.playing)
        #expect(try delivers(30))
        reader.setState(.null)
        await publisher.stop()
    }
}
