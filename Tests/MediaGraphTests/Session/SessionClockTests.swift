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
        let publisher = try Graph(
            "mediasession name=call room=reader-pauses user=alice  videotestsrc is-live=true ! call.camera")
        try await publisher.start()
        let reader = try Pipeline(
            parsing:
                "mediasession name=call room=reader-pauses user=bob  call.video_alice ! rawdatapipe name=pipe handler=count"
        )
        let pipe = try #require(reader.element(named: "pipe"))
        func delivers(_ count: UInt64) -> Bool {
            let before = NodeCounts(pipe)?.frames ?? 0
            return waitUntil { NodeCounts(pipe)?.frames ?? 0 >= before + count }
        }
        reader.setState(.playing)
        #expect(delivers(5))
        reader.setState(.paused)
        // Long enough that, if frames were still dated back by the pause, all but one in four seconds would be dropped.
        try await Task.sleep(for: .seconds(4))
        reader.setState(.playing)
        #expect(delivers(60))
        reader.setState(.null)
        await publisher.stop()
    }
}
