import GStreamer
import TestSupport
import Testing

@testable import WebRTC

/// Tests the packets in which RTCP feedback is sent, against RFC 3550 and RFC 4585.
@Suite struct SeparateFeedbackTests {
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
        pad.setTap(SeparateFeedback())
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
        #expect(waitUntil { arrivals.all.last?.starts(with: packet[0].prefix(1)) == true })
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

    @Test("NW-1: a request for a key frame that follows reports on others is sent alone, and says what it is about")
    func behindReports() throws {
        let reports = Self.report(on: Self.sound, Self.video)
        #expect(
            try Self.sent(reports, Self.description, Self.keyFrame(of: Self.video)) == [
                Self.report() + Self.hint(on: Self.video) + Self.keyFrame(of: Self.video),
                reports + Self.description,
            ])
    }

    @Test("NW-1: an early request for a key frame, which has no report with it, says what it is about")
    func early() throws {
        #expect(
            try Self.sent(Self.report(), Self.description, Self.keyFrame(of: Self.video)) == [
                Self.report() + Self.hint(on: Self.video) + Self.keyFrame(of: Self.video),
                Self.report() + Self.description,
            ])
    }

    @Test("NW-1: feedback on several senders is sent in a packet for each")
    func several() throws {
        let feedback = [Self.keyFrame(of: Self.video), Self.lost(of: Self.sound), Self.lost(of: Self.video)]
        #expect(
            try Self.sent(Self.report(on: Self.video) + feedback.flatMap(\.self)) == [
                Self.report() + feedback[1], Self.report() + feedback[0] + feedback[2], Self.report(on: Self.video),
            ])
    }

    @Test("NW-1: a packet without feedback, or whose feedback can't be mistaken, is sent as it is")
    func unchanged() throws {
        let plain = Self.report(on: Self.sound, Self.video) + Self.description
        #expect(try Self.sent(plain) == [plain])
        let early = Self.report() + Self.description + Self.keyFrame(of: Self.video) + Self.lost(of: Self.video)
        #expect(try Self.sent(early) == [early])
    }
}
