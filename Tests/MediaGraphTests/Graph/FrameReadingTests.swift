import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests tasks that stop reading a pipe's frames.
@Suite(.timeLimit(.minutes(10))) struct FrameReadingTests {
    private static func bytes(_ seed: Int) -> [UInt8] { patternedFrame(width: 16, height: 4, seed: seed) }
    private static let frame = FrameDescription(width: 16, height: 4)

    @Test("GR-6 cancelling a reader ends its sequence but not the graph")
    func cancelled() async throws {
        let graph = try Graph("videosource name=s ! rawdatapipe name=p sync=false")
        let source = RecordingSource()
        try graph.videoSource("s").attach(source)
        let pipe = try graph.rawDataPipe("p")
        let seen = Log<[UInt8]>()
        let frames = try pipe.frames
        let reader = Task { for try await frame in frames { seen.add(try frame.packedBytes()) } }
        try await graph.start()
        try sendNow(source.sender, Self.bytes(0), Self.frame)
        #expect(try await eventually { seen.all.count == 1 })
        reader.cancel()
        // The reader's loop ends without an error, as at the end of the stream.
        try await reader.value
        for seed in 1...3 {
            try sendNow(source.sender, Self.bytes(seed), Self.frame)
            #expect(try await eventually { pipe.statistics.dropped == seed })
        }
        let locked = #expect(throws: MediaGraphError.self) { try pipe.frames }
        #expect(locked?.code == .lockedWhileRunning)
        await graph.stop()
        #expect(seen.all == [Self.bytes(0)])

        try pipe.detach()
        let iterator = try pipe.frames.makeAsyncIterator()
        try await graph.start()
        try sendNow(source.sender, Self.bytes(4), Self.frame)
        #expect(try await iterator.next()?.packedBytes() == Self.bytes(4))
        await graph.stop()
    }

    @Test(
        "RP-5 each frame counts as either delivered or dropped, with a reader or without",
        arguments: [true, false])
    func counted(isRead: Bool) async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=8,width=16,height=4" !
            rawdatapipe name=p backpressure=drop-new max-frames=2
            """)
        let pipe = try graph.rawDataPipe("p")
        var frames: FrameSequence<OwnedVideoFrame>? = try pipe.frames
        if !isRead { frames = nil }
        try await graph.run()
        var read = 0
        if let frames { for try await _ in frames { read += 1 } }
        #expect(read == (isRead ? 2 : 0))
        #expect(pipe.statistics.frames == UInt64(read))
        #expect(pipe.statistics.dropped == UInt64(8 - read))
    }
}
