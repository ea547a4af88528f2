import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests sharing a real screen with another user.
@Suite struct ScreenShareTests {
    /// A size that needs padding in each format.
    private static let (width, height) = (333, 221)

    /// Noise: each pixel differs from its neighbors, so a moved, scaled or rounded pixel shows.
    private static let painted: [UInt8] = {
        var generator = SplitMix64(state: 5)
        return (0..<width * height * 4).map { $0 % 4 == 3 ? 255 : UInt8.random(in: 0...255, using: &generator) }
    }()

    @Test("SH-5 a screen's content reaches another user's share pipe pixel for pixel")
    func screen() async throws {
        let room = "\"\(#function)\""
        let display = try VirtualDisplay(width: Self.width, height: Self.height)
        let painter = try Graph(
            "sharesource name=s ! videoconvert ! ximagesink display=\(display.name) sync=false")
        let painting = RecordingShare()
        try painter.shareSource("s").attach(painting)
        try await painter.start()
        try sendNow(
            painting.sender, Self.painted,
            FrameDescription(width: Self.width, height: Self.height, format: FrameFormat(.bgra)))

        let reader = try Graph(
            "mediasession name=call room=\(room) user=alice  call.share_bob ! rawdatapipe name=p format=BGRA")
        let latest = Mutex<(size: String, bytes: [UInt8])>(("", []))
        try reader.rawDataPipe("p").receive { frame in
            let bytes = frame.packedBytes
            latest.withLock { $0 = ("\(frame.width)×\(frame.height)", bytes) }
        }
        try await reader.start()
        let sharer = try Graph(
            """
            mediasession name=call room=\(room) user=bob
            ximagesrc display-name=\(display.name) use-damage=false show-pointer=false ! video/x-raw,framerate=20/1 ! call.share
            """)
        try await sharer.start()
        // The window needs some time to appear.
        _ = waitUntil { latest.withLock { $0.bytes == Self.painted } }
        let (size, bytes) = latest.withLock { $0 }
        #expect(size == "\(Self.width)×\(Self.height)")
        let wrong = zip(bytes, Self.painted).count { $0 != $1 }
        #expect(bytes.count == Self.painted.count && wrong == 0, "\(wrong) bytes of \(bytes.count) differ")
        for graph in [sharer, reader, painter] { await graph.stop() }
        // Xlib ends this process if the server ends before the graphs have disconnected.
        withExtendedLifetime(display) {}
    }
}
