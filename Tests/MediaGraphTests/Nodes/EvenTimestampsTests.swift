import GStreamer
import Testing

@testable import MediaGraphElements

/// Tests timestamps made from arrival times. Times are in milliseconds unless stated otherwise.
@Suite struct EvenTimestampsTests {
    /// A pseudo-random generator with the same values in each run.
    private struct Random {
        var state: UInt64 = 7
        /// Returns a value from -1 to 1.
        mutating func next() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(state >> 11) / Double(1 << 52) - 1
        }
    }

    private func stamps(
        _ count: Int, rate: Fraction = Fraction(30, 1), period: Double, jitter: Double, seed: UInt64
    ) -> [(arrival: Double, stamp: Double)] {
        var random = Random(state: seed)
        var even = EvenTimestamps(rate: rate)
        return (0..<count).map { index in
            let arrival = 1000 + Double(index) * period + random.next() * jitter
            let stamp = even.stamp(arrival: ClockTime(nanoseconds: UInt64(arrival * 1e6)))
            return (arrival, Double(stamp.nanoseconds) / 1e6)
        }
    }

    @Test("VS-9 a source that jitters by ±20 ms gets timestamps within 1 ms of an even grid", arguments: 1...40)
    func jitter(seed: UInt64) {
        for (rate, period) in [
            (Fraction(30, 1), 1000.0 / 30), (Fraction(15, 1), 1000.0 / 15), (Fraction(30000, 1001), 33.3667),
        ] {
            let stamps = stamps(1800, rate: rate, period: period, jitter: 20, seed: seed).map(\.stamp)
            let worst = stamps.enumerated().map { abs($1 - stamps[0] - Double($0) * period) }.max()!
            #expect(worst < 1, "\(rate), seed \(seed): \(worst) ms off")
        }
    }

    @Test(
        "VS-9 timestamps follow a source whose clock is off, in steps under 1 ms",
        arguments: [33.0, 33.6, 34.0])
    func drift(period: Double) {
        let stamps = stamps(1800, period: period, jitter: 0.3, seed: 3)
        let steps = zip(stamps, stamps.dropFirst()).map { abs($1.stamp - $0.stamp - 1000.0 / 30) }
        #expect(steps.max()! < 1)
        let off = stamps.map { abs($0.arrival - $0.stamp) }
        #expect(off.max()! < 35 && off.dropFirst(300).max()! < 20)
    }

    @Test("VS-9 a pause starts a new grid at the next frame")
    func pause() {
        var even = EvenTimestamps(rate: Fraction(10, 1))
        var stamp = ClockTime.zero
        for index in 0..<200 { stamp = even.stamp(arrival: .milliseconds(UInt64(index) * 100)) }
        #expect(stamp == .milliseconds(19_900))
        #expect(even.stamp(arrival: .milliseconds(25_000)) == .milliseconds(25_000))
        #expect(even.stamp(arrival: .milliseconds(25_110)) == .milliseconds(25_100))
    }

    @Test("VS-9 a source that doesn't keep its rate gets its arrival times, which never go backwards")
    func wrongRate() {
        var even = EvenTimestamps(rate: Fraction(30, 1))
        var last = ClockTime.zero
        for index in 0..<300 {
            let arrival = ClockTime.milliseconds(UInt64(index) * 200)
            let stamp = even.stamp(arrival: arrival)
            #expect(stamp > last || index == 0)
            if index > 20 { #expect(stamp == arrival) }
            last = stamp
        }
        // A thousand frames arrive at the same time.
        for _ in 0..<1000 {
            let stamp = even.stamp(arrival: .milliseconds(60_000))
            #expect(stamp > last)
            last = stamp
        }
        #expect(last < .milliseconds(60_001))
    }

    @Test(
        "VS-8 the rate limit passes the configured rate with jitter, and drops frames of a higher one",
        arguments: [0.0, 20.0])
    func limit(jitter: Double) {
        func passed(_ rate: Double) -> Int {
            var random = Random()
            var limit = RateLimit(rate: Fraction(30, 1))
            return (0..<600).count { index in
                let time = ClockTime(
                    nanoseconds: UInt64((100 + Double(index) * 1000 / rate + random.next() * jitter) * 1e6))
                guard limit.allows(time) else { return false }
                limit.count(time)
                return true
            }
        }
        #expect(passed(30) == 600)
        #expect(passed(30.3) == 600)
        #expect(passed(15) == 600)
        // 600 frames at 60 a second last ten seconds; 315 of them pass, and the few that may come early.
        #expect((315...320).contains(passed(60)))
    }
}
