import Foundation
import Testing

@testable import MediaGraphJanus
@testable import MediaGraphSession
@testable import WebRTC

/// Tests how a receiver finds out when the packets of a stream were sent.
@Suite struct PacketMarkTests {
    /// The end of the payload of packet `number`.
    private static func end(_ number: UInt8) throws -> PayloadEnd {
        let text = #"["000000000000000000000000000000\#(number < 16 ? "0" : "")\#(String(number, radix: 16))"]"#
        return try JSONDecoder().decode([PayloadEnd].self, from: Data(text.utf8))[0]
    }

    private static func mark(_ number: UInt8, at time: UInt64) throws -> PacketMark {
        PacketMark(payloadEnd: try end(number), time: time, captureTime: time + 5)
    }

    /// The RTP timestamp of packet 0. RTP timestamps begin again at 0.
    private static let start = UInt32.max - 4_000

    @Test(
        "NW-4 a mark gives the times of packets before and after its own, whichever arrives first",
        arguments: [false, true])
    func times(isMarkFirst: Bool) throws {
        var marks = PacketMarks()
        if isMarkFirst { try marks.set(Self.mark(2, at: 1_000_000_000)) }
        for number in UInt8(1)...3 {
            marks.add(try Self.end(number), at: Self.start &+ UInt32(number) * 3_000)
        }
        if !isMarkFirst {
            #expect(marks.times(of: 0, clockRate: 90_000) == nil)
            try marks.set(Self.mark(2, at: 1_000_000_000))
        }
        let at = Self.start &+ 6_000
        let times = [at &- 9_000, at, at &+ 90_000].map { marks.times(of: $0, clockRate: 90_000) }
        #expect(times.map { $0?.time } == [900_000_000, 1_000_000_000, 2_000_000_000])
        #expect(times.map { $0?.captureTime } == [900_000_005, 1_000_000_005, 2_000_000_005])
    }

    @Test("NW-4 a mark that means several packets, such as those of silence, or none that is kept, changes nothing")
    func ambiguous() throws {
        var marks = PacketMarks()
        for number in [1, 2, 2, 3] as [UInt8] { marks.add(try Self.end(number), at: UInt32(number) * 960) }
        try marks.set(Self.mark(2, at: 7))
        #expect(marks.times(of: 0, clockRate: 48_000) == nil)
        try marks.set(Self.mark(3, at: 60_000_000))
        try marks.set(Self.mark(2, at: 7))
        #expect(marks.times(of: 0, clockRate: 48_000)?.time == 0)
        // Only the last five seconds of sound are kept.
        try marks.set(Self.mark(9, at: 1))
        for number in 0..<256 { marks.add(try Self.end(100), at: UInt32(number)) }
        try marks.set(Self.mark(1, at: 8))
        #expect(marks.times(of: 0, clockRate: 48_000)?.time == 0)
    }

    @Test("NW-4 the streams of a feed wait for the slowest, but not for one that is off or far behind")
    func step() {
        let sync = StreamSync()
        #expect(sync.shift(.microphone, delay: 20_000_000) == 0)
        #expect(sync.shift(.camera, delay: 170_000_000) == 0)
        #expect(sync.shift(.microphone, delay: 30_000_000) == 140_000_000)
        sync.remove(.camera)
        #expect(sync.shift(.microphone, delay: 30_000_000) == 0)
        #expect(sync.shift(.camera, delay: -900_000_000) == 0)
        #expect(sync.shift(.camera, delay: .min) == 0 && sync.shift(.microphone, delay: 30_000_000) == 0)
    }
}
