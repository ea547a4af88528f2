import Foundation
import Testing

@testable import MediaGraphSession

/// Tests the decision whether a user speaks, by levels and durations.
@Suite struct VoiceActivityTests {
    /// Returns the milliseconds of sound after which the decision changes, for blocks of 10 ms with these levels in
    /// decibels.
    private func changes(_ levels: [(decibels: Double, milliseconds: Int)], block: Int = 10) -> [Int] {
        var (voice, time, changes) = (VoiceActivity(), 0, [Int]())
        for (decibels, milliseconds) in levels {
            for _ in 0..<milliseconds / block {
                time += block
                let square = pow(10, decibels / 10)
                if voice.add(meanSquare: square, nanoseconds: UInt64(block) * 1_000_000) { changes.append(time) }
            }
        }
        return changes
    }

    @Test("SE-12 speech begins after 200 ms at -40 dB, and ends after 600 ms below -50 dB")
    func hysteresis() {
        #expect(changes([(-39.9, 1000), (-60, 1000)]) == [200, 1600])
        #expect(changes([(-40.1, 5000)]) == [])
        #expect(changes([(0, 300), (-49.9, 5000)]) == [200])
        #expect(changes([(0, 300), (-50.1, 5000)]) == [200, 900])
        #expect(changes([(0, 300), (-200, 600), (0, 200)]) == [200, 900, 1100])
    }

    @Test("SE-12 a click doesn't begin speech, and a pause between words doesn't end it")
    func shortChanges() {
        #expect(changes([(-60, 300), (0, 50), (-60, 2000)]) == [])
        #expect(changes([(-60, 100), (0, 100), (-60, 100), (0, 100), (-60, 2000)]) == [])
        #expect(changes([(-20, 500), (-80, 500), (-20, 100), (-80, 500), (-20, 100), (-80, 1000)]) == [200, 2300])
    }

    @Test("SE-12 the decision is the same for blocks of other durations")
    func blocks() {
        let levels = [(decibels: -20.0, milliseconds: 1000), (decibels: -80.0, milliseconds: 1000)]
        #expect(changes(levels, block: 20) == [200, 1600] && changes(levels, block: 1) == [200, 1600])
        #expect(changes(levels, block: 500) == [500, 2000])
        // Windows of 120 ms.
        #expect(changes([(-20, 1200), (-80, 1200)], block: 60) == [240, 1800])
    }
}
