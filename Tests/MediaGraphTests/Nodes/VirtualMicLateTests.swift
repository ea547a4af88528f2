import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraphElements

/// Tests timestamped audio that arrives too late.
@Suite struct VirtualMicLateTests {
    private func block(_ value: Int16) -> [Int16] { [Int16](repeating: value, count: 480) }

    /// Sends a block at 1 s and advances the clock to 2 s. Returns the audio until most of that second was output as
    /// silence.
    private func silentSecond(_ mic: MicHarness) throws -> [MicHarness.Piece] {
        mic.harness.setTime(.seconds(1))
        try sendNow(mic.sender, block(1), at: .seconds(1))
        var pieces = [try #require(mic.pull())]
        mic.harness.setTime(.seconds(2))
        while pieces.last!.time < 1_930_000_000, let piece = mic.pull() { pieces.append(piece) }
        return pieces
    }

    private func pull(_ mic: MicHarness, until value: Int16) -> [MicHarness.Piece] {
        var pieces: [MicHarness.Piece] = []
        while pieces.last?.samples[0] != value, let piece = mic.pull() { pieces.append(piece) }
        return pieces
    }

    @Test("VM-4 audio that a device delivers late in a burst is dropped and counted until it is in time")
    func burst() throws {
        let mic = try MicHarness(["block-timeout": "60000000000"])
        var pieces = try silentSecond(mic)
        let sender = mic.sender
        let loud = block(1)
        let isOver = Atomic(false)
        let pump = NativeThread("pump") {
            for index in 1..<100 { try? sendNow(sender, loud, at: .milliseconds(UInt64(1000 + index * 10))) }
            isOver.store(true, ordering: .releasing)
        }
        // Then the sender goes on at its own pace, and each block has the number of its 10 ms. The pump may have been
        // slow. The queue's standing level is recognized within the lateness and `buffer-time`, 120 blocks, and once
        // more for a window that had already begun.
        var now = 200
        var last = 0
        while now < 2000, last == 0 || now < last + 260 {
            now += 1
            mic.harness.setTime(.milliseconds(UInt64(now * 10)))
            if isOver.load(ordering: .acquiring) {
                if last == 0 { last = now }
                try sendNow(sender, block(Int16(now)), at: .milliseconds(UInt64(now * 10)))
            }
            #expect(mic.harness.waitsForClock())
            while mic.harness.bufferCount > 0, let piece = mic.pull() { pieces.append(piece) }
        }
        pump.join()
        #expect(pieces.isContinuous(rate: 48000))
        let left = Int(mic.counts.dropped)
        let loudPieces = pieces.filter { $0.samples[0] == 1 }.count - 1
        let laterPieces = pieces.filter { $0.samples[0] > 200 }.count
        let back = try #require(pieces.last { $0.samples[0] > 200 })
        #expect(loudPieces + laterPieces + left == 99 + Int(back.samples[0]) - last + 1, "\(left) of 99 left out")
        // The queue holds 200 ms, and a lateness of 40 ms is tolerated.
        #expect(left >= 10 && loudPieces >= 1, "\(loudPieces), \(mic.counts)")
        #expect(back.time <= UInt64(back.samples[0]) * 10_000_000 + 60_000_000, "\(back.samples[0]), \(back.time)")
    }

    /// Covers a device that delivers 160 ms at a time, late, so that nothing stays in the queue.
    @Test("VM-4 a queue that never runs empty is drained, and one that runs empty now and then isn't")
    func standing() {
        /// Passes blocks of 10 ms to the queue. Returns `false` for each block that it leaves out.
        func heard(_ queue: inout StandingQueue, waiting: some Sequence<Int>, window: Int = 200) -> [Bool] {
            waiting.map { !queue.shouldDrop(10_000_000, queued: $0 * 1_000_000, window: window * 1_000_000) }
        }
        var chunks = StandingQueue()
        for _ in 0..<10 { #expect(!heard(&chunks, waiting: stride(from: 150, through: 0, by: -10)).contains(false)) }
        // Pieces of 500 ms, of which the queue holds 200 ms while the rest waits in the sender; they are late by 500
        // ms.
        var pieces = StandingQueue()
        for _ in 0..<10 {
            let waiting = stride(from: 490, through: 0, by: -10).map { min($0, 200) }
            #expect(!heard(&pieces, waiting: waiting, window: 700).contains(false))
        }
        var queue = StandingQueue()
        let first = heard(&queue, waiting: repeatElement(60, count: 20))
        #expect(first == [Bool](repeating: true, count: 19) + [false])
        #expect(heard(&queue, waiting: [10, 0, 60]) == [false, true, true])
    }

    @Test("VM-4 audio that is constantly late is kept, and a later gap makes up for the delay")
    func lateForGood() throws {
        let mic = try MicHarness(["drift": "none"])
        var pieces = try silentSecond(mic)
        for index in 1...100 {
            mic.harness.setTime(.milliseconds(UInt64(2000 + index * 10)))
            try sendNow(mic.sender, block(Int16(index)), at: .milliseconds(UInt64(1000 + index * 10)))
            pieces += pull(mic, until: Int16(index))
        }
        let heard = pieces.filter { !$0.isGap }.map { $0.samples[0] }
        #expect(heard == [1] + (1...100).map { Int16($0) } && mic.counts.dropped == 0)
        #expect(pieces.isContinuous(rate: 48000))
        // A second is missing, so the next block is in time.
        try sendNow(mic.sender, block(200), at: .milliseconds(3010))
        mic.harness.setTime(.milliseconds(5000))
        pieces += pull(mic, until: 200)
        #expect(pieces.isContinuous(rate: 48000))
        #expect(abs(Int64(pieces.last!.time) - 3_010_000_000) <= 60_000_000, "\(pieces.last!.time)")
    }
}
