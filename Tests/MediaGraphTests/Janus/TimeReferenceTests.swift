import Foundation
import Testing

@testable import MediaGraphJanus
@testable import MediaGraphSession
@testable import WebRTC

/// Tests how a receiver finds out when the packets of a stream were sent.
@Suite struct TimeReferenceTests {
    /// The end of the payload of packet `number`.
    private static func end(_ number: UInt8) throws -> PayloadEnd {
        let text = #"["000000000000000000000000000000\#(number < 16 ? "0" : "")\#(String(number, radix: 16))"]"#
        return try JSONDecoder().decode([PayloadEnd].self, from: Data(text.utf8))[0]
    }

    private static func reference(_ number: UInt8, at time: UInt64) throws -> TimeReference {
        TimeReference(payloadEnd: try end(number), time: time, captureTime: time + 5)
    }

    /// The RTP timestamp of packet 0. RTP timestamps begin again at 0.
    private static let start = UInt32.max - 4_000

    @Test(
        "NW-4 a time reference gives the times of packets before and after its own, whichever arrives first",
        arguments: [false, true])
    func times(isReferenceFirst: Bool) throws {
        var references = TimeReferences()
        if isReferenceFirst { try references.set(Self.reference(2, at: 1_000_000_000)) }
        for number in UInt8(1)...3 {
            references.add(try Self.end(number), at: Self.start &+ UInt32(number) * 3_000)
        }
        if !isReferenceFirst {
            #expect(references.times(of: 0, clockRate: 90_000) == nil)
            try references.set(Self.reference(2, at: 1_000_000_000))
        }
        let at = Self.start &+ 6_000
        let times = [at &- 9_000, at, at &+ 90_000].map { references.times(of: $0, clockRate: 90_000) }
        #expect(times.map { $0?.time } == [900_000_000, 1_000_000_000, 2_000_000_000])
        #expect(times.map { $0?.captureTime } == [900_000_005, 1_000_000_005, 2_000_000_005])
    }

    @Test(
        "NW-4 a time reference that means several packets, such as those of silence, or none that is kept, changes nothing"
    )
    func ambiguous() throws {
        var references = TimeReferences()
        for number in [1, 2, 2, 3] as [UInt8] { references.add(try Self.end(number), at: UInt32(number) * 960) }
        try references.set(Self.reference(2, at: 7))
        #expect(references.times(of: 0, clockRate: 48_000) == nil)
        try references.set(Self.reference(3, at: 60_000_000))
        try references.set(Self.reference(2, at: 7))
        #expect(references.times(of: 0, clockRate: 48_000)?.time == 0)
        // Only the last five seconds of sound are kept.
        try references.set(Self.reference(9, at: 1))
        for number in 0..<256 { references.add(try Self.end(100), at: UInt32(number)) }
        try references.set(Self.reference(1, at: 8))
        #expect(references.times(of: 0, clockRate: 48_000)?.time == 0)
    }

    @Test("NW-4 a time reference is void when its payload comes again, and times that no clock has are ignored")
    func void() throws {
        var references = TimeReferences()
        try references.set(Self.reference(1, at: 5))
        references.add(try Self.end(1), at: 0)
        #expect(references.times(of: 0, clockRate: 48_000)?.time == 5)
        references.add(try Self.end(1), at: 960)
        #expect(references.times(of: 0, clockRate: 48_000) == nil)
        references.add(try Self.end(2), at: 1920)
        for time in [0, UInt64.max] {
            references.set(TimeReference(payloadEnd: try Self.end(2), time: 7, captureTime: time))
            let times = try #require(references.times(of: 1920, clockRate: 48_000))
            #expect(times.time == 7 && times.captureTime == nil)
        }
    }

    @Test("NW-4 the streams of a feed wait for the slowest, but not for one that is off or far behind")
    func step() {
        let sync = StreamSync()
        // Each delay lasts a second, after which the shift follows it.
        var time: UInt64 = 0
        func shift(_ microphone: Int64, camera: Int64?) -> [UInt64] {
            defer { time += 1_000_000_000 }
            return (0...2 as ClosedRange<UInt64>).map { half in
                let now = time + half * 500_000_000
                if let camera { _ = sync.shift(.camera, delay: camera, at: now) }
                return sync.shift(.microphone, delay: microphone, at: now)
            }
        }
        #expect(shift(20_000_000, camera: nil) == [0, 0, 0])
        #expect(shift(20_000_000, camera: 170_000_000) == [0, 0, 150_000_000])
        // What is hardly out of step stays as it is.
        #expect(shift(30_000_000, camera: 170_000_000) == [150_000_000, 150_000_000, 150_000_000])
        #expect(shift(70_000_000, camera: 170_000_000) == [150_000_000, 150_000_000, 100_000_000])
        // The camera is off.
        for _ in 1...2 { _ = shift(70_000_000, camera: nil) }
        #expect(shift(70_000_000, camera: nil) == [100_000_000, 100_000_000, 0])
        // Times that can't be true.
        #expect(shift(70_000_000, camera: 900_000_000) == [0, 0, 0])
        #expect(shift(70_000_000, camera: .min) == [0, 0, 0])
    }
}
