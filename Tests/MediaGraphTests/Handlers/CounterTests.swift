import GStreamer
import MediaGraph
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct CounterTests {
    static let cases = [VideoFormat.i420, .nv12].flatMap { format in
        [(2, 2), (8, 8), (33, 2), (320, 180), (426, 240), (404, 720), (641, 361), (1280, 720)].map { size in
            (format, size.0, size.1)
        }
    }

    @Test("RP-5 the counter's frames all come through a pipe, in order and once each", arguments: cases)
    func numbers(_ format: VideoFormat, _ width: Int, _ height: Int) async throws {
        let graph = try Graph(
            """
            videosource handler=counter options="frames=20,width=\(width),height=\(height)" pace=fast !
            rawdatapipe name=p format=\(format.gstreamerName)
            """)
        let numbers = Log<UInt32>()
        try graph.rawDataPipe("p").receive { numbers.add(try FrameNumber.read($0)) }
        try await graph.run()
        // A frame that is two pixels wide holds two bits.
        #expect(numbers.all == (0..<20).map { width == 2 ? $0 & 3 : $0 })
    }

    @Test("timestamps at 30000/1001 are computed from the frame's number, without accumulating errors")
    func timestamps() async throws {
        let graph = try Graph(
            """
            videosource handler=counter options="frames=100,width=16,height=16,fps=30000/1001" pace=fast !
            rawdatapipe name=p
            """)
        let times = Log<UInt64>()
        try graph.rawDataPipe("p").receive { times.add($0.runningTime?.nanoseconds ?? 0) }
        try await graph.run()
        let expected: [UInt64] = (0..<100).map { (index: UInt64) in index * 1_001_000_000_000 / 30_000 }
        #expect(times.all == expected)
    }

    @Test("a frame's time doesn't overflow within a year")
    func longStreams() {
        let rate = Fraction(30000, 1001)
        let index = 365 * 24 * 3600 * 30
        let time = ClockTime.frame(index, at: rate)
        #expect(time.nanoseconds == UInt64(index) * 1001 / 30 * 1_000_000)
        #expect(time.frameIndex(at: rate) == index)
    }
}
