import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraphElements

/// Tests a microphone whose clock drifts against the graph's clock, through the whole node, in simulated time.
@Suite struct VirtualMicDriftTests {
    /// A sender of 10 ms blocks, whose clock is fast by `drift`.
    private struct Sender {
        var drift = 0.0
        var jitter = 0.0
        /// How late the first blocks come, which are held back, in seconds.
        var first = 0.0
        var rate = 48000
        var random = SplitMix64(state: 5)
        var now = 0.0

        /// Sends the given blocks, of which block 0 starts at one second. Returns the audio that came out meanwhile.
        mutating func send(
            _ blocks: Range<Int>, to mic: MicHarness, _ samples: (Int, Int) -> [Int16]
        ) throws -> [MicHarness.Piece] {
            var pieces: [MicHarness.Piece] = []
            for index in blocks {
                let offset = index < 6 ? first : Double.random(in: -1...1, using: &random) * jitter
                // Blocks don't overtake each other.
                now = max(now, 1 + Double(index) * 0.010 / (1 + drift) + offset)
                mic.harness.setTime(ClockTime(nanoseconds: UInt64(now * 1e9)))
                try sendNow(mic.sender, samples(index * rate / 100, rate / 100), rate: rate)
                while mic.harness.bufferCount > 0, let piece = mic.pull() { pieces.append(piece) }
            }
            return pieces
        }

        /// Sends blocks for `seconds` and ends the stream. Returns all audio that came out.
        mutating func send(
            seconds: Int, to mic: MicHarness, _ samples: (Int, Int) -> [Int16]
        ) throws -> [MicHarness.Piece] {
            let pieces = try send(0..<seconds * 100, to: mic, samples)
            mic.sender.endOfStream()
            mic.harness.setTime(ClockTime(nanoseconds: UInt64((now + 1) * 1e9)))
            return pieces + mic.pullToEnd()
        }
    }

    /// Returns one loud sample each second, otherwise silence.
    private func ticks(_ start: Int, _ count: Int) -> [Int16] {
        var samples = [Int16](repeating: 0, count: count)
        let tick = 24000 - start % 48000
        if samples.indices.contains(tick) { samples[tick] = 20000 }
        return samples
    }

    /// Returns how late each tick comes out, in seconds. Ticks are in the middle of each second by the sender's clock.
    private func lateness(_ pieces: [MicHarness.Piece], drift: Double) -> [Double] {
        var times: [Double] = []
        for piece in pieces {
            guard let index = piece.samples.largest, piece.samples[index] > 8000 else { continue }
            let time = Double(piece.time) / 1e9 + Double(index) / 48000
            // A tick between two samples, and between two pieces, is in both pieces.
            if times.last.map({ time - $0 > 0.5 }) ?? true { times.append(time) }
        }
        return times.enumerated().map { $1 - 1 - (Double($0) + 0.5) / (1 + drift) }
    }

    @Test("VM-3 `drift` is `resample` by default, and locked once the node is initialized")
    func property() throws {
        let mic = try MicHarness()
        #expect(try mic.harness.element.property("drift", as: DriftCorrection.self) == .resample)
        #expect(throws: PropertyError.self) { try mic.harness.element.setProperty("drift", parsing: "skew") }
        mic.harness.element.setState(.null)
        for name in ["none", "skew", "resample"] { try mic.harness.element.setProperty("drift", parsing: name) }
        #expect(throws: PropertyError.self) { try mic.harness.element.setProperty("drift", parsing: "slew") }
    }

    @Test(
        "VS-9 audio from a clock 200 ppm off stays within 20 ms for two minutes, without gaps",
        arguments: ["resample", "skew"], [200e-6, -200e-6])
    func drift(correction: String, drift: Double) throws {
        let mic = try MicHarness(["drift": correction])
        var sender = Sender(drift: drift)
        let pieces = try sender.send(seconds: 120, to: mic, ticks)
        #expect(pieces.isContinuous(rate: 48000))
        let late = lateness(pieces, drift: drift)
        // Skew may skip a tick.
        #expect((118...120).contains(late.count))
        #expect(late.allSatisfy { abs($0) < 0.015 }, "\(late.max()!), \(late.min()!)")
        // Without correction it would have been 24 ms.
        #expect(late.contains { abs($0) > 0.008 })
    }

    @Test("VS-9 with drift=none, 200 ppm of drift are 24 ms after two minutes")
    func none() throws {
        let mic = try MicHarness(["drift": "none"])
        var sender = Sender(drift: 200e-6)
        let late = lateness(try sender.send(seconds: 120, to: mic, ticks), drift: 200e-6)
        #expect(late.count == 120 && abs(late.last! - 119.5 * 200e-6) < 0.0005, "\(late.last!)")
    }

    @Test(
        "VM-3 a sine resampled at ±200 ppm has less than −80 dB of distortion, and −70 dB at the beginning",
        arguments: [200e-6, -200e-6], [48000, 44100])
    func distortion(drift: Double, rate: Int) throws {
        let mic = try MicHarness(sinkCaps: "audio/x-raw,rate=48000")
        let sine = Sine(997, rate: rate)
        // The first blocks come early, so that resampling starts soon.
        var sender = Sender(drift: drift, jitter: 0.010, first: -0.020, rate: rate)
        let pieces = try sender.send(seconds: 20, to: mic, sine.samples)
        #expect(pieces.isContinuous(rate: 48000) && pieces.allSatisfy { !$0.isGap })
        let samples = pieces.samples
        // The resampler adds at least the time by which the first blocks came early.
        #expect(samples.count > 20 * 48000 + 480, "the audio was never resampled, so this test shows nothing")
        // Windows short enough for a constant frequency. Each window counts where resampling begins, at half a second.
        var worst = (beginning: -200.0, later: -200.0)
        for window in 8..<samples.count / 240 - 8 {
            let isBeginning = (90..<120).contains(window)
            guard isBeginning || window % 10 == 0 else { continue }
            let result = bestFit(Array(samples[window * 240..<window * 240 + 240]), near: 997)
            if isBeginning {
                worst.beginning = max(worst.beginning, result)
            } else {
                worst.later = max(worst.later, result)
            }
        }
        #expect(worst.later < -80 && worst.beginning < -70, "\(worst)")
    }

    /// Distortion and noise relative to the best-fitting sine, whose frequency may differ by up to 6000 ppm.
    private func bestFit(_ samples: [Int16], near frequency: Double) -> Double {
        var (low, high) = (frequency * 0.994, frequency * 1.006)
        func decibels(_ frequency: Double) -> Double { Sine(frequency, rate: 48000).distortion(of: samples).decibels }
        while high - low > 0.02 {
            let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618)
            if decibels(a) < decibels(b) { high = b } else { low = a }
        }
        return decibels((low + high) / 2)
    }

    @Test(
        "VM-3 without drift the audio stays bit for bit the same, even with ±30 ms of jitter",
        arguments: ["resample", "skew"])
    func untouched(correction: String) throws {
        let mic = try MicHarness(["drift": correction])
        let noise = noiseSamples(48000, seed: 3)
        // Because blocks don't overtake each other, they come 10 ms late on average.
        var sender = Sender(jitter: 0.030, first: 0.012)
        let pieces = try sender.send(seconds: 60, to: mic) { start, count in
            Array(noise[start % 48000..<start % 48000 + count])
        }
        // Compares outside of the expectation, because printing three million samples takes minutes.
        let isSame = pieces.samples == (0..<60).flatMap { _ in noise }
        #expect(isSame && pieces.isContinuous(rate: 48000))
        #expect(mic.counts.silence == .zero && mic.counts.skipped == .zero)
    }

    @Test(
        "VM-4 a sender that runs ahead without a clock isn't corrected, and its audio stays the same",
        arguments: ["resample", "skew"], ["50000000", "200000000"])
    func pumpThatNeverSleeps(correction: String, buffer: String) throws {
        let mic = try MicHarness(["drift": correction, "buffer-time": buffer, "block-timeout": "60000000000"])
        let sender = mic.sender
        let noise = noiseSamples(48000, seed: 4)
        let pump = NativeThread("pump") {
            for index in 0..<500 {
                try? sendNow(sender, Array(noise[index % 100 * 480..<index % 100 * 480 + 480]))
            }
        }
        var samples: [Int16] = []
        for step in 0..<500 {
            mic.harness.setTime(.milliseconds(UInt64(step * 10)))
            samples += mic.pull()?.samples ?? []
        }
        pump.join()
        let isSame = samples == (0..<5).flatMap { _ in noise }
        #expect(isSame)
        #expect(mic.counts.silence == .zero && mic.counts.skipped == .zero)
    }

    @Test(
        "VM-3 skew changes the audio only where it skips or inserts what the statistics count",
        arguments: [300e-6, -300e-6])
    func skew(drift: Double) throws {
        let mic = try MicHarness(["drift": "skew"])
        let sine = Sine(130, rate: 48000)
        var sender = Sender(drift: drift)
        let pieces = try sender.send(seconds: 120, to: mic, sine.samples)
        let (samples, counts) = (pieces.samples, mic.counts)
        let skewed = drift > 0 ? counts.skipped : counts.silence
        // The drift of 36 ms is corrected in steps of 10 ms or a little more.
        #expect((20...40).contains(skewed.milliseconds) && (counts.skipped == .zero) == (drift < 0), "\(counts)")
        #expect(pieces.isContinuous(rate: 48000))
        let frames = Int((skewed.seconds * 48000).rounded())
        #expect(abs(samples.count - (120 * 48000 + (drift > 0 ? -frames : frames))) <= 4)
        #expect(pieces.filter(\.isGap).isEmpty == (drift > 0))
        let clicks = sine.clicks(in: samples, above: 4)
        // A skipped part shows at two samples, and so does each end of inserted silence.
        let places = clicks.indices.filter { $0 == 0 || clicks[$0] > clicks[$0 - 1] + 4 }
        #expect((1...(drift > 0 ? 3 : 6)).contains(places.count), "\(places)")
    }

    @Test("VM-4 resampled audio is at the right time after a pause, and continues without a click")
    func pause() throws {
        let mic = try MicHarness()
        let sine = Sine(100, rate: 48000)
        var sender = Sender(first: -0.020)
        var pieces = try sender.send(0..<1000, to: mic, sine.samples)
        let beginning = sender.now + 2.003
        mic.harness.setTime(ClockTime(nanoseconds: UInt64(beginning * 1e9)))
        while pieces.last.map({ $0.time < UInt64((beginning - 0.1) * 1e9) }) ?? true, let piece = mic.pull() {
            pieces.append(piece)
        }
        for index in 0..<100 {
            mic.harness.setTime(ClockTime(nanoseconds: UInt64((beginning + Double(index) * 0.010) * 1e9)))
            try sendNow(mic.sender, sine.samples(12000 + index * 480, 480))
            while mic.harness.bufferCount > 0, let piece = mic.pull() { pieces.append(piece) }
        }
        mic.sender.endOfStream()
        mic.harness.setTime(ClockTime(nanoseconds: UInt64((beginning + 3) * 1e9)))
        pieces += mic.pullToEnd()
        #expect(pieces.isContinuous(rate: 48000))
        let pause = try #require(pieces.lastIndex { $0.isGap })
        #expect(abs(Double(pieces[pause + 1].time) / 1e9 - beginning) < 0.0001)
        // The audio continues at the sine's peak. The filter's ringing is over after 2 ms.
        let after = Array(Array(pieces[(pause + 1)...]).samples.dropFirst(200).dropLast(200))
        #expect(abs(after.count + 400 - 48000) <= 2)
        #expect(Sine(100, rate: 48000).distortion(of: after).worst < 3)
    }

    @Test("EL-3 the latency always includes the resampler's delay, whether it resamples yet or not")
    func latency() throws {
        let mic = try MicHarness()
        _ = try sendNow(mic.sender, [Int16](repeating: 0, count: 480))
        mic.harness.setTime(.milliseconds(100))
        #expect(mic.pull() != nil)
        let latency = try #require(mic.harness.latency)
        #expect((70_500_000...73_000_000).contains(latency.minimum.nanoseconds))
        let none = try MicHarness(["drift": "none"])
        _ = try sendNow(none.sender, [Int16](repeating: 0, count: 480))
        none.harness.setTime(.milliseconds(100))
        #expect(none.pull() != nil)
        #expect(none.harness.latency?.minimum == .milliseconds(70))
    }
}

extension Duration {
    fileprivate var milliseconds: Int { Int(nanoseconds / 1_000_000) }
}
