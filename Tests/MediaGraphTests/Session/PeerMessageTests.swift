import Foundation
import GStreamer
import Testing

@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

@Suite struct PeerMessageTests {
    init() { GStreamerRuntime.initialize() }

    private static let key = StreamKey(user: "bob, \"the\" builder; ü", kind: .shareAudio)

    private static let text = SharedCommand(.text("raise \"hand\"\n🙂"))

    private static var messages: [PeerMessage] {
        GStreamerRuntime.initialize()
        return [
            .hello(version: PeerMessage.version), .joined("alice", UserProfile()),
            .joined("alice", UserProfile(displayName: "Alice \u{1} 🙂", customData: "{\"color\": 1}")),
            .profile("alice", UserProfile(displayName: "A")), .command(text, from: "alice", to: nil),
            .command(SharedCommand(.bytes([0, 255])), from: "alice", to: "bob"),
            .left("alice"), .stream(key, .status(isOn: true)), .stream(key, .muted(true)),
            .stream(key, .speaking(true)),
            .stream(key, .alpha(isOn: true)), .read(key, .p180),
            .unread(key),
            .begin(key), .keyFrame(key),
            .caps(key, SharedCaps(Caps("video/x-raw, format=I420, width=16, height=16, framerate=30/1")!)!),
            .caps(
                key,
                SharedCaps(
                    Caps(
                        "video/x-vp8, profile=(string)0, streamheader=(buffer)< 4f5650, 383001 >, width=16, height=16")!
                )!),
            .latency(key, 5_000_000), .status(key, true), .status(key, false), .alpha(key, true),
            .forget(memories: [1, .max]),
        ]
    }

    private static var bufferMessages: [BufferMessage] {
        GStreamerRuntime.initialize()
        let buffer = Buffer(filledWith: 7, count: 100)!
        buffer.access.presentationTimestamp = .seconds(3)
        buffer.access.setCaptureTime(unixNanoseconds: 12345)
        buffer.access.contentFlags = .max
        buffer.access.decodingTimestamp = .seconds(2)
        Rotation.meta.set(90, on: buffer.access)
        let shared = SharedBuffer(buffer.access, in: 9, capacity: 128, timing: .machine(latency: .zero))
        var other = shared
        other.layout = VideoLayout(words: [2, 16 << 32 | 16, 0, 32, 512, UInt64(UInt32(bitPattern: -16)), 1 << 40, 8])
        (other.moment, other.decodingMoment, other.captureTime, other.flip, other.flags) = (nil, nil, nil, 3, 0)
        return [
            .buffer(key, shared), .buffer(StreamKey(user: "", kind: .camera), other), .release(memories: [.max]),
            .release(memories: [0, 1, .max]),
        ]
    }

    @Test("SE-3 a message between processes is decoded as it was encoded", arguments: messages)
    func roundTrip(message: PeerMessage) throws {
        let decoded = try #require(PeerMessage(message.bytes))
        #expect("\(decoded)".prefix(12) == "\(message)".prefix(12))
        let object = { (bytes: Data) in try JSONSerialization.jsonObject(with: bytes, options: []) as? NSDictionary }
        #expect(try object(decoded.bytes) == object(message.bytes))
    }

    @Test("SE-3 a buffer's times, flags and metas are sent with it")
    func buffer() throws {
        for message in Self.bufferMessages {
            #expect(BufferMessage(message.bytes) == message)
            #expect(PeerMessage(message.bytes) == nil)
        }
        guard case .buffer(_, let shared) = Self.bufferMessages[0] else {
            Issue.record("no buffer")
            return
        }
        guard let made = Buffer(size: 100) else { return }
        shared.describe(made.access)
        #expect(made.access.presentationTimestamp == .seconds(3) && made.access.decodingTimestamp == .seconds(2))
        #expect(!made.access.isKeyframe && made.access.isDiscontinuous && made.access.contentFlags == shared.flags)
        // Flags about memory and locks are the buffer's own.
        #expect(shared.flags != .max)
        #expect(
            made.access.captureUnixNanoseconds == 12345 && made.access.isGap
                && Rotation(of: made.access) == .clockwise90)
        #expect(shared.memory == 9 && shared.capacity == 128 && shared.length == 100)
    }

    @Test("SE-3 a stream's headers are sent with its format, unless they are too long")
    func headers() throws {
        func caps(_ count: Int) throws -> Caps {
            let header = String(repeating: "4f", count: count)
            return try #require(
                Caps("video/x-vp8, streamheader=(buffer)< \(header), 383001 >, width=(int)16, height=(int)16"))
        }
        let short = try caps(5000)
        let message = PeerMessage.caps(Self.key, try #require(SharedCaps(short)))
        guard case .caps(_, let decoded) = PeerMessage(message.bytes) else {
            Issue.record("the message wasn't decoded")
            return
        }
        #expect("\(decoded.caps)" == "\(short)")
        let long = try #require(SharedCaps(try caps(100_000)))
        #expect("\(long.caps)" == "video/x-vp8, width=(int)16, height=(int)16")
        #expect(SharedCaps(try #require(Caps("video/x-vp8, Strange=(string)x"))) == nil)
    }

    @Test("SE-3 invalid messages are rejected without a crash")
    func nonsense() {
        for text in [
            "", "{}", #"{"hello":{"version":1,"users":[]}}"#, #"{"joined":{}}"#,
            #"{"begin":{"_0":{"user":"a","kind":"nothing"}}}"#,
            #"{"caps":{"_0":{"user":"a","kind":"mic"},"_1":"ANY"}}"#, #"{"forget":{"memories":[-1]}}"#, "\u{0}",
            String(repeating: "[", count: 100_000),
        ] { #expect(PeerMessage(Data(text.utf8)) == nil, "\(text.prefix(80))") }
        // A message with changed characters is decoded or rejected, and never crashes.
        var random = SystemRandomNumberGenerator()
        for message in Self.messages {
            for _ in 0..<1000 {
                var bytes = message.bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 32...126, using: &random)
                }
                _ = PeerMessage(bytes).map(\.bytes)
            }
        }
        for message in Self.bufferMessages {
            for count in 0..<message.bytes.count {
                // Only a truncated name can still be decoded.
                let head = BufferMessage(message.bytes.prefix(count))
                if case .buffer(let key, _) = head {
                    #expect(Self.key.user.hasPrefix(key.user))
                } else {
                    #expect(head == nil)
                }
            }
            for _ in 0..<1000 {
                var bytes = message.bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                _ = BufferMessage(bytes).map(\.bytes)
            }
        }
    }
}
