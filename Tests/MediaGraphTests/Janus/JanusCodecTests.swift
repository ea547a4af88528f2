import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests what video is encoded as on its way through a real Janus server.
@Suite(.serialized, .enabled(if: JanusNetwork.isAvailable, JanusNetwork.reason), .timeLimit(.minutes(5)))
struct JanusCodecTests {
    init() throws { try Nodes.register() }

    /// Returns alice's graph. `tail` follows her source.
    private func alice(_ server: JanusServer, _ options: String = "", _ tail: String = "") throws -> Graph {
        try Graph(
            """
            mediasession name=call transport=janus server=\(server) room=lobby user=alice \(options) \
            videosource handler=counter options="width=320,height=180" ! \(tail) call.camera
            """)
    }

    /// The picture data of an access unit. Parsers add and remove the other parts of H.264.
    private static func pictures(_ unit: Data, isH264: Bool) -> [Data] {
        guard isH264 else { return [unit] }
        var units: [Data] = []
        var rest = unit[...]
        while let start = rest.range(of: Data([0, 0, 1])) {
            rest = rest[start.upperBound...]
            let end = rest.range(of: Data([0, 0, 1]))?.lowerBound ?? rest.endIndex
            var unit = Data(rest[..<end])
            while unit.last == 0 { unit.removeLast() }
            if let type = unit.first, [1, 5].contains(type & 31) { units.append(unit) }
        }
        return units
    }

    @Test(
        "NW-2 encoded video crosses a Janus room as it is, and each reader gets it encoded or decoded, as it wants",
        arguments: [
            "vp8enc deadline=1 target-bitrate=400000",
            "x264enc tune=zerolatency bitrate=400 ! video/x-h264,stream-format=byte-stream",
        ])
    func encoded(encoder: String) async throws {
        let isH264 = encoder.hasPrefix("x264enc")
        let server = try await JanusProcess()
        defer { server.stop() }
        @Sendable func pictures(_ buffer: BufferAccess) -> [Data] {
            Self.pictures(buffer.withBytes { Data($0) } ?? Data(), isH264: isH264)
        }
        let alice = try alice(server.socket, "", "\(encoder) !")
        let (sent, received) = (Log<[Data]>(), Log<[Data]>())
        try alice.element("call").staticPad("camera")?.observeBuffers { sent.add(pictures($0)) }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! rawdatapipe name=pipe buffer-type=encoded
            """)
        try bob.rawDataPipe("pipe").receiveEncoded { _ in }
        try bob.element("pipe").staticPad("sink")?.observeBuffers { received.add(pictures($0)) }
        try await bob.start()
        try await alice.start()
        #expect(try await eventually { received.all.count >= 30 })
        // Nobody wants frames that are decoded.
        let stream = try server.http.room("lobby").stream(StreamKey(user: "alice", kind: .camera))
        #expect(stream.format == nil && stream.bufferCount == 0)

        let numbers = Log<UInt32?>()
        let carol = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=carol \
            call.video_alice ! rawdatapipe name=pipe
            """)
        try carol.rawDataPipe("pipe").receive { numbers.add(try? TestFrame($0).number) }
        try await carol.start()
        #expect(try await eventually { numbers.all.count >= 30 })
        #expect(!numbers.all.contains(nil), "a decoded frame's number can't be read")
        let known = Set(sent.all)
        #expect(received.all.filter { !known.contains($0) }.count == 0)
        #expect(received.all.allSatisfy { !$0.isEmpty })
        await carol.stop()
        await alice.stop()
        await bob.stop()
    }

    @Test("NW-2 video-encoder says what raw video is encoded with, and its output is what crosses the room")
    func videoEncoder() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let alice = try alice(server.socket, "video-encoder=\"x264enc tune=zerolatency bitrate=400\"")
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! video/x-h264 ! fakesink name=sink sync=false
            """)
        let received = Log<Bool>()
        try bob.element("sink").staticPad("sink")?.observeBuffers { received.add($0.isKeyframe) }
        try await bob.start()
        try await alice.start()
        #expect(try await eventually { received.all.count >= 30 })
        #expect(received.all.first == true)
        let caps = try bob.element("sink").staticPad("sink")?.currentCaps
        #expect(caps?[0]["height", as: Int32.self] == 180)
        await alice.stop()
        await bob.stop()
    }

    @Test("NW-2 a warning says that video in another codec can't cross a Janus room, and what to send instead")
    func otherCodec() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let alice = try alice(server.socket, "", "jpegenc !")
        let warnings = Log<String>()
        let watch = Task {
            for await event in alice.events { if case .warning(let warning) = event { warnings.add("\(warning)") } }
        }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! fakesink
            """)
        try await bob.start()
        try await alice.start()
        #expect(
            try await eventually {
                warnings.all.contains {
                    $0.contains("can't send image/jpeg")
                        && $0.contains("send VP8, H.264 or raw video, for example with decodebin")
                }
            })
        await alice.stop()
        await bob.stop()
        watch.cancel()
    }
}
