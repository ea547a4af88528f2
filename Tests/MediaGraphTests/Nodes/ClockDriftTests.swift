import GStreamer
import TestSupport
import Testing

@testable import MediaGraphElements

/// Simulates a sender whose clock drifts against the clock that `ClockDrift` follows, in simulated time.
private struct SimulatedSender {
    /// How much faster the sender's clock is, as a fraction.
    var drift = 0.0
    /// The maximum deviation of a block's arrival, in seconds.
    var jitter = 0.0
    /// When the first block arrives, in seconds.
    var first = 0.0
    var block = 0.010

    /// The state when a block arrives.
    struct Moment {
        var time: Double
        /// How late the audio is, in seconds.
        var late: Double
        var ratio: Double?
        /// The correction by skew, in seconds.
        var skew: Double?
    }

    /// Feeds the blocks of `seconds` to the clock and passes the state at each one to `look`.
    func run(_ clock: inout ClockDrift, seconds: Double, seed: UInt64 = 1, _ look: (Moment) -> Void) {
        var random = SplitMix64(state: seed)
        // The position of the next sample, in seconds.
        var place = first
        for index in 0..<Int(seconds / block) {
            let time = Double(index) * block / (1 + drift)
            let arrival = index == 0 ? first : time + Double.random(in: -1...1, using: &random) * jitter
            clock.observe(arrival - place, lasting: block)
            let skew = clock.takeSkew()
            place += skew ?? 0
            look(Moment(time: time, late: time - place, ratio: clock.ratio, skew: skew))
            place += block * (clock.ratio ?? 1)
        }
    }
}

@Suite struct ClockDriftTests {
    private func clock(_ correction: DriftCorrection) -> ClockDrift { ClockDrift(correction, aheadLimit: 0.1) }

    @Test(
        "VM-3 audio that jitters by ±30 ms without drift isn't corrected in 30 minutes",
        arguments: [DriftCorrection.resample, .skew], [0.005, 0.010, 0.020])
    func jitter(correction: DriftCorrection, block: Double) {
        for seed in 1...2 as ClosedRange<UInt64> {
            var clock = clock(correction)
            var isTouched = false
            SimulatedSender(jitter: 0.030, first: 0.004, block: block).run(&clock, seconds: 1800, seed: seed) {
                if $0.ratio != nil || $0.skew != nil { isTouched = true }
            }
            #expect(!isTouched)
        }
    }

    @Test(
        "VS-9 a clock that is 200 ppm off is held within 20 ms for 30 minutes, with and without jitter",
        arguments: [DriftCorrection.resample, .skew], [200e-6, -200e-6])
    func drift(correction: DriftCorrection, drift: Double) {
        for (jitter, block) in [(0, 0.010), (0.030, 0.010), (0.030, 0.020), (0.020, 0.100)] {
            var clock = clock(correction)
            var (worst, greatest, skews) = (0.0, 0.0, 0)
            SimulatedSender(drift: drift, jitter: jitter, block: block).run(&clock, seconds: 1800) {
                worst = max(worst, abs($0.late))
                greatest = max(greatest, abs(($0.ratio ?? 1) - 1))
                if $0.skew != nil { skews += 1 }
            }
            #expect(worst < 0.015, "\(jitter), \(block)")
            #expect(greatest <= ClockDrift.greatest + 1e-12)
            #expect((clock.ratio != nil) == (correction == .resample))
            // The drift of 360 ms is corrected in steps of 10 ms or a little more.
            #expect(correction == .skew ? (30...36).contains(skews) : skews == 0, "\(skews)")
        }
    }

    @Test("VS-9 without correction, 200 ppm of drift are 360 ms after 30 minutes")
    func none() {
        var clock = clock(.none)
        var (last, isTouched) = (0.0, false)
        SimulatedSender(drift: 200e-6, jitter: 0.030).run(&clock, seconds: 1800) {
            last = $0.late
            if $0.ratio != nil || $0.skew != nil { isTouched = true }
        }
        #expect(!isTouched && abs(last + 0.360) < 0.001, "\(last)")
    }

    @Test(
        "VS-9 a first block at the limit of the jitter is corrected to 20 ms within five seconds",
        arguments: [DriftCorrection.resample, .skew], [-0.030, 0.030])
    func firstBlock(correction: DriftCorrection, first: Double) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var clock = clock(correction)
            var worst = (first: 0.0, early: 0.0, later: 0.0)
            SimulatedSender(drift: 200e-6, jitter: 0.030, first: first).run(&clock, seconds: 600, seed: seed) {
                if $0.time < 5 { worst.first = max(worst.first, abs($0.late)) }
                if $0.time > 5 { worst.early = max(worst.early, abs($0.late)) }
                if $0.time > 20 { worst.later = max(worst.later, abs($0.late)) }
            }
            #expect(worst.first < 0.032 && worst.early < 0.020, "\(worst)")
            #expect(worst.later < (correction == .skew ? 0.015 : 0.006), "\(worst)")
        }
    }

    @Test("VM-3 the rate changes by at most 5000 ppm, and after 20 s by at most 1000 ppm")
    func limits() {
        for drift in [0.05, -0.05, 0.002, -0.002] {
            var clock = clock(.resample)
            var (first, later) = (0.0, 0.0)
            SimulatedSender(drift: drift, jitter: 0.030).run(&clock, seconds: 60) {
                let change = abs(($0.ratio ?? 1) - 1)
                first = max(first, change)
                if $0.time > 25 { later = max(later, change) }
            }
            #expect(first <= ClockDrift.greatestAtFirst + 1e-12)
            // A sender that is 5 % fast repeatedly runs further ahead than a clock would, and is measured anew each
            // time.
            #expect(drift > 0.01 || later <= ClockDrift.greatest + 1e-12, "\(drift): \(later)")
        }
    }

    @Test("VS-9 a sender that falls behind by 40 ms for good is in sync again within a minute")
    func step() {
        var clock = clock(.resample)
        var place = 0.0
        var (worst, end) = (0.0, 0.0)
        for index in 0..<12000 {
            let arrival = Double(index) * 0.010 + (index >= 3000 ? 0.040 : 0)
            clock.observe(arrival - place, lasting: 0.010)
            place += 0.010 * (clock.ratio ?? 1)
            worst = max(worst, abs(arrival + 0.010 - place))
            if index >= 9000 { end = max(end, abs(arrival + 0.010 - place)) }
        }
        #expect(worst <= 0.0401 && end < 0.010, "\(worst), \(end)")
    }

    @Test("VM-4 a pause keeps the known rate and discards the measurements before it")
    func pause() throws {
        var clock = clock(.resample)
        SimulatedSender(drift: -200e-6, jitter: 0.010, first: 0.010).run(&clock, seconds: 300) { _ in }
        let before = try #require(clock.ratio)
        #expect(abs(before - 1.0002) < 20e-6)
        clock.pause()
        #expect(clock.offset == nil)
        var worst = 0.0
        SimulatedSender(drift: -200e-6, jitter: 0.010).run(&clock, seconds: 300) { worst = max(worst, abs($0.late)) }
        #expect(worst < 0.005)
    }

    @Test(
        "VM-4 a sender that runs ahead without a clock isn't corrected",
        arguments: [DriftCorrection.resample, .skew], [0.001, 0.010, 0.100])
    func pumpThatNeverSleeps(correction: DriftCorrection, block: Double) {
        var clock = clock(correction)
        var isTouched = false
        for index in 0..<Int(60 / block) {
            // The sender runs 200 ms ahead of the output and then waits.
            let place = Double(index) * block
            clock.observe(max(0, place - 0.2) - place, lasting: block)
            if clock.ratio != nil || clock.takeSkew() != nil { isTouched = true }
        }
        #expect(!isTouched)
    }
}
