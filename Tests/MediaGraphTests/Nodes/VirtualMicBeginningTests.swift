import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

/// Tests the first blocks of live audio without timestamps, which are held back until their times are estimated.
@Suite struct VirtualMicBeginningTests {
    private func block(_ index: Int) -> [Int16] { [Int16](repeating: Int16(index + 1), count: 480) }

    @Test("VS-9 the first six blocks are placed by the mean of their arrivals, however late the first was")
    func mean() throws {
        let mic = try MicHarness()
        // Relative to a grid of 10 ms from two seconds on, the blocks are 24, 16, 6, 0, 8 and −2 ms late.
        for (index, time) in [2024, 2026, 2026, 2030, 2048, 2048].enumerated() {
            mic.harness.setTime(.milliseconds(UInt64(time)))
            try sendNow(mic.sender, block(index))
            if index < 5 { #expect(mic.harness.bufferCount == 0) }
        }
        // On average they are 52/6 ms late.
        mic.harness.setTime(.milliseconds(2068))
        let pieces = mic.pull(samples: 6 * 480)
        #expect(pieces.samples == (0..<6).flatMap(block) && pieces.isContinuous(rate: 48000))
        #expect(pieces.first?.time.distance(to: 2_008_666_667).magnitude ?? .max <= 1)
        #expect(pieces.map(\.isDiscontinuous) == [true] + [Bool](repeating: false, count: 5))
        mic.harness.setTime(.milliseconds(2069))
        // The next block goes out at its time.
        try sendNow(mic.sender, block(6))
        #expect(mic.pull()?.samples == block(6))
    }

    @Test("VS-9 the first blocks go out when the first one is due by the allowed jitter, even if few came")
    func due() throws {
        let mic = try MicHarness(["jitter": "40000000"])
        mic.harness.setTime(.seconds(2))
        try sendNow(mic.sender, block(0))
        mic.harness.setTime(.milliseconds(2006))
        try sendNow(mic.sender, block(1))
        // The second block shows that the first was 2 ms late: it is due at 1.998 s plus 40 ms.
        mic.harness.setTime(.milliseconds(2037))
        #expect(mic.harness.bufferCount == 0)
        mic.harness.setTime(.milliseconds(2038))
        #expect(waitUntil { mic.harness.bufferCount == 2 })
        let pieces = mic.pull(samples: 2 * 480)
        #expect(pieces.map(\.time) == [1_998_000_000, 2_008_000_000] && pieces.samples == block(0) + block(1))
    }

    @Test("VS-9 blocks that arrive at once are placed by the first one")
    func burst() throws {
        let mic = try MicHarness()
        mic.harness.setTime(.seconds(2))
        for index in 0..<6 { try sendNow(mic.sender, block(index)) }
        mic.harness.setTime(.milliseconds(2050))
        #expect(mic.pull(samples: 6 * 480).first?.time == 2_000_000_000)
    }

    @Test("VM-3 audio after a pause doesn't overlap audio that was sent ahead before it")
    func ahead() throws {
        for jitter in ["0", "60000000"] {
            let mic = try MicHarness(["jitter": jitter])
            mic.harness.setTime(.seconds(2))
            for index in 0..<10 { try sendNow(mic.sender, block(index)) }
            mic.harness.element.setState(.paused)
            mic.harness.element.setState(.playing)
            for index in 10..<20 { try sendNow(mic.sender, block(index)) }
            mic.harness.setTime(.milliseconds(2300))
            let pieces = mic.pull(samples: 20 * 480)
            #expect(
                zip(pieces, pieces.dropFirst()).allSatisfy { $0.time + $0.duration <= $1.time }, "\(pieces.map(\.time))"
            )
        }
    }

    @Test("EL-2 an end, a stop, a new rate and a timestamp release the held blocks in order")
    func interrupted() throws {
        let ended = try MicHarness()
        try sendNow(ended.sender, block(0))
        ended.sender.endOfStream()
        #expect(ended.pullToEnd().samples == block(0))

        let stopped = try MicHarness()
        try sendNow(stopped.sender, block(0))
        stopped.harness.element.setState(.paused)
        #expect(stopped.pull()?.samples == block(0) && stopped.counts.dropped == 0)

        let changed = try MicHarness(sinkCaps: "audio/x-raw,rate=48000")
        try sendNow(changed.sender, block(0))
        try sendNow(changed.sender, [Int16](repeating: 2, count: 960), rate: 96000)
        changed.sender.endOfStream()
        changed.harness.setTime(.milliseconds(10))
        let pieces = changed.pullToEnd()
        #expect(pieces.samples.count == 960 && Array(pieces.samples.prefix(480)) == block(0))

        let stamped = try MicHarness()
        try sendNow(stamped.sender, block(0))
        try sendNow(stamped.sender, block(1), at: .milliseconds(10))
        stamped.harness.setTime(.milliseconds(10))
        #expect(stamped.pull(samples: 960).samples == block(0) + block(1))
    }

    @Test("EL-2 a flush drops the held blocks and counts them")
    func lost() throws {
        let mic = try MicHarness()
        try sendNow(mic.sender, block(0))
        try sendNow(mic.sender, block(1))
        #expect(waitUntil { mic.sender.buffered == .zero })
        mic.harness.element.sendFlush()
        mic.harness.setTime(.seconds(3))
        // The new blocks are placed by their mean, which is 10 ms before the first.
        for index in 2..<8 {
            try sendNow(mic.sender, block(index))
            mic.harness.setTime(.milliseconds(UInt64(3000 + max(0, index - 4) * 10)))
        }
        mic.harness.setTime(.milliseconds(3050))
        let pieces = mic.pull(samples: 6 * 480)
        #expect(pieces.samples == (2..<8).flatMap(block) && pieces.first.map { $0.time < 3_000_000_000 } == true)
        #expect(mic.counts.dropped == 2 && mic.counts.frames == 8)
    }
}
