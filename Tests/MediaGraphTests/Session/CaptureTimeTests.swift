import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests the capture time of frames that come from sources without one.
@Suite(.timeLimit(.minutes(10))) struct CaptureTimeTests {
    init() throws { try Nodes.register() }

    /// Logs the capture times of a pipe's frames.
    private struct Times: VideoConsumer {
        let times: Log<Date?>
        func receive(_ frame: borrowing VideoFrame) { times.add(frame.captureTime) }
    }

    private static let source = "videotestsrc is-live=true ! video/x-raw,width=32,height=18,framerate=60/1"

    /// Runs the graphs until each of the pipes has five frames. Checks that each frame was captured during the run,
    /// and that no two have the same capture time.
    private static func check(_ pipes: [String], _ graphs: [Graph], sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let begin = Date()
        let times = pipes.map { _ in Log<Date?>() }
        for (pipe, times) in zip(pipes, times) {
            let graph = try #require(graphs.first { (try? $0.rawDataPipe(pipe)) != nil })
            try graph.rawDataPipe(pipe).attach(Times(times: times))
        }
        for graph in graphs { try await graph.start() }
        #expect(waitUntil { times.allSatisfy { $0.all.count >= 5 } }, sourceLocation: sourceLocation)
        for graph in graphs { await graph.stop() }
        let end = Date()
        for (pipe, log) in zip(pipes, times) {
            let seen = log.all
            let known = seen.compactMap(\.self)
            #expect(known.count == seen.count, "\(pipe): \(seen)", sourceLocation: sourceLocation)
            #expect(known.allSatisfy { begin...end ~= $0 }, "\(pipe): \(known)", sourceLocation: sourceLocation)
            #expect(Set(known).count == known.count, sourceLocation: sourceLocation)
        }
    }

    @Test("RP-3 frames of any camera or share in a session have a capture time, in previews and pipes")
    func session() async throws {
        try await Self.check(
            ["own", "preview", "aux", "share", "other"],
            [
                try Graph(
                    """
                    mediasession name=call room="\(#function)" user=alice
                    \(Self.source) ! call.camera   \(Self.source) ! call.camera_aux   \(Self.source) ! call.share
                    call.video_alice ! rawdatapipe name=own   call.preview ! rawdatapipe name=preview
                    call.videoaux_alice ! rawdatapipe name=aux   call.share_alice ! rawdatapipe name=share
                    """),
                try Graph(
                    """
                    mediasession name=call room="\(#function)" user=bob   call.video_alice ! rawdatapipe name=other
                    """),
            ])
    }

    @Test("RP-3 capture times are set without a copy, also for a frame that another branch holds")
    func sharedFrame() async throws {
        try await Self.check(
            ["pipe"],
            [
                try Graph(
                    """
                    mediasession name=call room="\(#function)" user=alice   call.video_alice ! rawdatapipe name=pipe
                    \(Self.source) ! tee name=t ! queue ! call.camera   t. ! queue ! fakesink
                    """)
            ])
        guard let original = Buffer(filledWith: 7, count: 100), let alone = Buffer(filledWith: 7, count: 100) else {
            throw MediaGraphError.allocationFailed(.init("buffer"))
        }
        let memory = original.access.withBytes { $0.baseAddress }
        let stamped = original.retained.withCaptureTime()
        #expect(original.access.captureTime == nil)
        #expect(stamped.access.captureTime != nil)
        #expect(stamped.access.withBytes { $0.baseAddress } == memory)
        // A frame's own time stays, and a frame that nobody else holds stays the same buffer.
        let time = Date(timeIntervalSince1970: 1000)
        alone.access.setCaptureTime(time)
        let same = alone.access.raw
        let kept = alone.withCaptureTime()
        #expect(kept.access.captureTime == time)
        #expect(kept.access.raw == same)
    }

    @Test("RP-3 a device's frames have a capture time without a session")
    func device() async throws {
        try await Self.check(
            ["pipe"],
            [
                try Graph(
                    """
                    devicesource source="videotestsrc is-live=true" ! video/x-raw,width=32,height=18,framerate=60/1 !
                    rawdatapipe name=pipe
                    """)
            ])
    }

    @Test("RP-3 the capture time crosses processes")
    func processes() async throws {
        for name in ["capture-1", "capture-2"] {
            RoomTransportKind.register(
                RoomTransportKind(name: name, summary: "as room", remedy: "") {
                    RoomLink(in: RoomDirectory(room: $0), delegate: $2)
                })
        }
        try await Self.check(
            ["there", "share"],
            [
                try Graph(
                    """
                    mediasession name=call transport=capture-1 room=capture user=alice
                    \(Self.source) ! call.camera   \(Self.source) ! call.share
                    """),
                try Graph(
                    """
                    mediasession name=call transport=capture-2 room=capture user=bob
                    call.video_alice ! rawdatapipe name=there   call.share_alice ! rawdatapipe name=share
                    """),
            ])
    }
}
