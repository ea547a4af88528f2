import Foundation
import GStreamer
import TestSupport
import Testing

@testable import WebRTC

/// Tests what is read from RTP packets and descriptions, and written to them.
@Suite struct RTPPacketTests {
    init() { GStreamerRuntime.initialize() }

    /// An RTP packet without extensions: version 2, marked, payload type 96, sequence number 1, and the SSRC 7.
    private static func packet(timestamp: UInt32, payload: [UInt8], hasMarker: Bool = true) -> [UInt8] {
        let time = withUnsafeBytes(of: timestamp.bigEndian) { [UInt8]($0) }
        return [0x80, (hasMarker ? 0x80 : 0) | 96, 0, 1] + time + [0, 0, 0, 7] + payload
    }

    /// Reads a packet, to which an orientation is added first.
    private static func read(
        _ packet: [UInt8], isSound: Bool = false, adding orientation: VideoOrientation? = nil,
        orientationID: UInt8? = nil
    ) -> RTPPacket? {
        packet.withUnsafeBytes { bytes -> RTPPacket? in
            guard let buffer = Buffer(copying: bytes) else { return nil }
            if let orientation, !buffer.access.addRTPExtension(orientation, id: 13) { return nil }
            return RTPPacket(buffer.access, isSound: isSound, orientationID: orientationID)
        }
    }

    @Test("SE-7 an RTP packet's timestamp, marker and the end of its payload are read")
    func reading() throws {
        let payload = [UInt8](1...40)
        let packet = try #require(Self.read(Self.packet(timestamp: 90_000, payload: payload)))
        #expect(packet.timestamp == 90_000 && packet.hasMarker && packet.orientation == nil)
        let other = try #require(
            Self.read(Self.packet(timestamp: 1, payload: Array(payload.suffix(16)), hasMarker: false), isSound: true))
        #expect(other.payloadEnd == packet.payloadEnd && other.payloadEnd != nil && !other.hasMarker)
        // Only packets that end a frame are compared.
        let inner = try #require(Self.read(Self.packet(timestamp: 1, payload: payload, hasMarker: false)))
        #expect(inner.payloadEnd == nil)
        let short = try #require(Self.read(Self.packet(timestamp: 1, payload: [1, 2, 3])))
        #expect(short.payloadEnd == nil)
        #expect(Self.read([1, 2, 3]) == nil)
    }

    @Test("SE-7 the end of a payload is 32 hexadecimal digits in JSON, and nothing else is read")
    func payloadEnd() throws {
        let payload = [UInt8](repeating: 0, count: 7) + [0xAB] + [UInt8](0...6) + [0xFF]
        let end = try #require(Self.read(Self.packet(timestamp: 1, payload: payload))?.payloadEnd)
        let text = String(decoding: try JSONEncoder().encode([end]), as: UTF8.self)
        #expect(text == #"["00000000000000ab00010203040506ff"]"#)
        #expect(try JSONDecoder().decode([PayloadEnd].self, from: Data(text.utf8)) == [end])
        for wrong in [#"["ab"]"#, #"["00000000000000ab0001020304050xff"]"#, "[7]"] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([PayloadEnd].self, from: Data(wrong.utf8)) }
        }
    }

    @Test("SE-7 an RTP packet carries each orientation in the byte that 3GPP TS 26.114 defines")
    func orientation() throws {
        let bytes: [VideoOrientation: UInt8] = [
            .upright: 0, VideoOrientation(quarterTurns: 1): 1, VideoOrientation(quarterTurns: 2): 2,
            VideoOrientation(quarterTurns: 3): 3, VideoOrientation(isFlipped: true): 4,
            VideoOrientation(quarterTurns: 1, isFlipped: true): 5,
        ]
        for (orientation, byte) in bytes { #expect(orientation.extensionByte == byte) }
        for orientation in VideoOrientation.all {
            let packet = Self.packet(timestamp: 1, payload: [UInt8](1...40))
            let read = try #require(Self.read(packet, adding: orientation, orientationID: 13))
            #expect(read.orientation == orientation && read.payloadEnd == Self.read(packet)?.payloadEnd)
            let other = try #require(Self.read(packet, adding: orientation, orientationID: 12))
            #expect(other.orientation == nil)
        }
    }

    @Test("SE-7 header extensions are found in a description and added to one")
    func extensions() throws {
        let lines = [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=extmap:4 urn:mid",
            "m=video 9 UDP/TLS/RTP/SAVPF 96", "a=extmap:13/sendonly urn:3gpp:video-orientation", "a=extmap:3 urn:other",
            "m=video 9 UDP/TLS/RTP/SAVPF 97", "a=extmap:200 urn:3gpp:video-orientation", "a=extmap:x",
        ]
        let offer = SessionDescription(.offer, sdp: lines.map { $0 + "\r\n" }.joined())
        let ids = offer.extensionIDs(VideoOrientation.extensionURI)
        #expect(ids == [1: 13])
        let answer = SessionDescription(
            .answer, sdp: lines.filter { !$0.contains("extmap") }.map { $0 + "\r\n" }.joined())
        let extended = answer.adding(extension: VideoOrientation.extensionURI, ids)
        #expect(extended.extensionIDs(VideoOrientation.extensionURI) == [1: 13] && extended.type == .answer)
        let again = extended.adding(extension: VideoOrientation.extensionURI, ids)
        #expect(again.sdp.components(separatedBy: VideoOrientation.extensionURI).count == 2)
    }
}
