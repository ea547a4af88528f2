import Testing

@testable import MediaGraph

/// When a stream that should be sending has stalled.
@Suite struct StallWatchTests {
    private static let second: Int64 = 1_000_000

    /// What the watch says at each of these times, in tenths of a second, when checked ten times a second.
    private static func stalls(
        _ pace: StallWatch.Pace, arrivals: [Int64], until end: Int64, expectedAt start: Int64? = 0
    ) -> [String] {
        var watch = StallWatch()
        watch.setPace(pace)
        var told: [String] = []
        for time in 0...end {
            let now = time * second / 10
            if time == start { watch.expect(at: now) }
            if arrivals.contains(time) {
                if watch.recordArrival(at: now) { told.append("\(time) resumed") }
            } else if watch.check(at: now) {
                told.append("\(time) stalled")
            }
        }
        return told
    }

    @Test("SE-4 a stream that is on stalls after 2 s, even if it has never sent anything")
    func limits() {
        #expect(Self.stalls(.continuous, arrivals: [], until: 50) == ["20 stalled"])
        #expect(Self.stalls(.frames(33_333), arrivals: [3, 4, 5], until: 50) == ["25 stalled"])
        #expect(Self.stalls(.continuous, arrivals: [0, 30], until: 60) == ["20 stalled", "30 resumed", "50 stalled"])
        #expect(Self.stalls(.continuous, arrivals: [], until: 50, expectedAt: nil).isEmpty)
    }

    @Test(
        "SE-4 a slow stream stalls after three frame durations, or at a variable rate three times the longest interval")
    func slowFrames() {
        #expect(Self.stalls(.frames(5 * Self.second), arrivals: [0, 50, 100], until: 300) == ["250 stalled"])
        #expect(Self.stalls(.variable, arrivals: [0, 50, 120, 150], until: 500) == ["360 stalled"])
        #expect(Self.stalls(.variable, arrivals: [0], until: 500).isEmpty)
    }

    @Test("SE-4 neither a pause nor a stream that is off counts as a stall")
    func pauses() {
        var watch = StallWatch()
        watch.expect(at: 0)
        _ = watch.recordArrival(at: Self.second)
        watch.interrupt()
        #expect([60, 61, 62, 63].map { watch.check(at: $0 * Self.second) } == [false, false, true, false])
        watch.stop()
        let isStalledAgain = watch.check(at: 90 * Self.second)
        #expect(!watch.isStalled && !isStalledAgain)
    }
}
