import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a session whose encoder is too slow for the camera.
@Suite(.timeLimit(.minutes(10))) struct SlowEncoderTests {
    init() throws { try Nodes.register() }

    @Test(
        "CR-6 behind an encoder that is too slow, the preview has the others' frame rate, and dropped frames are counted"
    )
    func slowEncoder() async throws {
        let room = #function
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            videosource name=camera max-frames=1 ! x264enc tune=zerolatency speed-preset=placebo ! call.camera
            call.preview ! rawdatapipe name=own buffer-type=encoded
            mediasession name=his room="\(room)" user=bob
            his.video_alice ! rawdatapipe name=remote buffer-type=encoded
            """)
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        let (own, remote) = (Log<UInt64>(), Log<UInt64>())
        for (name, times) in [("own", own), ("remote", remote)] {
            try graph.rawDataPipe(name).receiveEncoded { frame in
                times.add(frame.presentationTimestamp?.nanoseconds ?? 0)
            }
        }
        try await graph.start()
        let camera = try graph.element("camera")
        let pictures = (0..<12).map { patternedFrame(width: 320, height: 180, seed: $0 * 50) }
        var sent: UInt64 = 0
        repeat {
            for picture in pictures {
                try sendNow(
                    source.sender, picture,
                    FrameDescription(
                        width: 320, height: 180, framesPerSecond: Fraction(30, 1), timestamp: source.sender.runningTime)
                )
                sent += 1
            }
            // Waits until the encoder has caught up, so that no reader falls behind.
            #expect(
                try await eventually {
                    let counts = NodeCounts(camera)!
                    return counts.frames == sent && own.all.count == Int(counts.frames - counts.dropped)
                        && remote.all.last == own.all.last
                }, "\(sent) \(String(describing: NodeCounts(camera))) \(own.all.count) \(remote.all.count)")
        } while NodeCounts(camera)!.dropped < 10
        await graph.stop()
        #expect(own.all.count < Int(sent) && remote.all.count > 0)
        #expect(own.all.suffix(remote.all.count) == remote.all[...])
    }
}
