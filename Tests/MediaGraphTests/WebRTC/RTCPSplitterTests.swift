import GStreamer
import TestSupport
import Testing

@testable import WebRTC

/// Tests the packets in which RTCP reports and feedback are sent, against RFC 3550 and RFC 4585.
@Suite struct RTCPSplitterTests {
    /// The SSRCs of this side, of a sender of sound and of one of video.
    private static let (own, sound, video): (UInt8, UInt8, UInt8) = (1, 2, 3)

    /// A packet of a compound packet: version 2, the number of reports or the format, and the type.
    private static func packet(_ count: UInt8, _ type: UInt8, _ words: [[UInt8]]) -> [UInt8] {
        [0x80 | count, type, 0, UInt8(words.count)] + words.flatMap(\.self)
    }

    private static func ssrc(_ number: UInt8) -> [UInt8] { [0, 0, 0, number] }

    /// A receiver report on these senders.
    private static func report(on senders: UInt8...) -> [UInt8] {
        let blocks = senders.flatMap { [ssrc($0)] + [[UInt8]](repeating: [0, 0, 0, 9], count: 5) }
        return packet(UInt8(senders.count), 201, [ssrc(own)] + blocks)
    }

    /// A report on one sender as it is sent: 2 ms less have passed since the sender's last report, at least 0.
    private static func shownReport(on sender: UInt8) -> [UInt8] { report(on: sender).dropLast() + [0] }

    /// A source description with the name "a".
    private static let description = packet(1, 202, [ssrc(own), [1, 1, 0x61, 0]])

    /// A request for a key frame (PLI).
    private static func keyFrame(of sender: UInt8) -> [UInt8] { packet(1, 206, [ssrc(own), ssrc(sender)]) }

    /// A request to send packet 7 again (NACK).
    private static func lost(of sender: UInt8) -> [UInt8] { packet(1, 205, [ssrc(own), ssrc(sender), [0, 7, 0, 0]]) }

    /// Feedback of a format without a meaning.
    private static func hint(on sender: UInt8) -> [UInt8] { packet(31, 205, [ssrc(own), ssrc(sender), [0, 0, 0, 0]]) }

    /// Sends a packet through a pad with the tap, and returns what arrives.
    private static func sent(_ packet: [UInt8]...) throws -> [[UInt8]] {
        let pipeline = try Pipeline(parsing: "appsrc name=in ! fakesink name=out async=false sync=false")
        let source = try #require(pipeline.element(named: "in").flatMap { AppSource(wrapping: $0) })
        let pad = try #require(pipeline.element(named: "out")?.staticPad("sink"))
        let arrivals = Log<[UInt8]>()
        pad.setTap(RTCPSplitter())
        pad.setTap(Recorder(arrivals))
        pipeline.setState(.playing)
        defer { pipeline.setState(.null) }
        packet.flatMap(\.self).withUnsafeBytes { bytes in
            guard let buffer = Buffer(copying: bytes) else {
                Issue.record("no memory")
                return
            }
            source.push(buffer)
        }
        // The last packet ends like the one that was sent, or with the receiver's name.
        let ends = [packet[packet.count - 1], description].map { $0.suffix(4) }
        #expect(waitUntil { arrivals.all.contains { packet in ends.contains { packet.suffix(4) == $0 } } })
        return arrivals.all
    }

    /// `@unchecked Sendable`: constant.
    private final class Recorder: PadTap, @unchecked Sendable {
        private let arrivals: Log<[UInt8]>
        init(_ arrivals: Log<[UInt8]>) { self.arrivals = arrivals }

        override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
            arrivals.add(buffer.access.bytes)
            return .ok
        }
    }

    @Test("NW-1: reports on several senders are sent in a packet for each, and feedback with its sender's report")
    func reports() throws {
        #expect(
            try Self.sent(Self.report(on: Self.sound, Self.video), Self.description, Self.keyFrame(of: Self.video)) == [
                Self.shownReport(on: Self.sound),
                Self.shownReport(on: Self.video) + Self.keyFrame(of: Self.video) + Self.description,
            ])
    }

    @Test("NW-1: an early request for a key frame, which has no report with it, says what it is about")
    func early() throws {
        #expect(
            try Self.sent(Self.report(), Self.description, Self.keyFrame(of: Self.video)) == [
                Self.report() + Self.hint(on: Self.video) + Self.keyFrame(of: Self.video) + Self.description
            ])
        let both = Self.keyFrame(of: Self.video) + Self.lost(of: Self.sound)
        #expect(
            try Self.sent(Self.report(), Self.description, both) == [
                Self.report() + Self.lost(of: Self.sound),
                Self.report() + Self.hint(on: Self.video) + Self.keyFrame(of: Self.video) + Self.description,
            ])
    }

    @Test("NW-1: a report on a single sender also says that less time has passed since the sender's report")
    func single() throws {
        #expect(
            try Self.sent(Self.report(on: Self.video), Self.description) == [
                Self.shownReport(on: Self.video) + Self.description
            ])
        #expect(
            try Self.sent(Self.report(on: Self.video), Self.description, Self.keyFrame(of: Self.video)) == [
                Self.shownReport(on: Self.video) + Self.keyFrame(of: Self.video) + Self.description
            ])
    }

    @Test("NW-1: a packet without reports, whose subject is plain, and a packet of a sender are sent as they are")
    func unchanged() throws {
        for packet in [
            Self.report() + Self.description,
            Self.report() + Self.description + Self.keyFrame(of: Self.video) + Self.lost(of: Self.video),
            // A sender report.
            Self.packet(0, 200, [Self.ssrc(Self.own)] + [[UInt8]](repeating: [0, 0, 0, 9], count: 5)),
            [0x80, 99],
        ] { #expect(try Self.sent(packet) == [packet]) }
    }
}
