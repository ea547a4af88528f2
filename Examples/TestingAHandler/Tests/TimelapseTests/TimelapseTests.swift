import GStreamer
import MediaGraph
import MediaGraphTesting
import Testing
import Timelapse

@Suite struct TimelapseTests {
    /// Returns the numbers of the frames that pass, out of `count` frames at this rate.
    private func numbers(of count: UInt32, rate: Int32, _ options: String) throws -> [UInt32] {
        var harness = try ProcessorHarness<Timelapse>(options: options)
        let frames = try (0..<count).map {
            try TestFrame.numbered($0, width: 64, height: 36, rate: Fraction(rate, 1))
        }
        return try harness.process(frames).map { try $0.number }
    }

    @Test("the first frame of each interval passes")
    func intervals() throws {
        #expect(try numbers(of: 100, rate: 25, "every=1") == [0, 25, 50, 75])
        #expect(try numbers(of: 10, rate: 25, "every=0.1") == [0, 3, 5, 8])
        #expect(try numbers(of: 5, rate: 25, "every=0.01") == [0, 1, 2, 3, 4])
    }

    @Test("a late frame doesn't delay the others")
    func late() throws {
        var harness = try ProcessorHarness<Timelapse>(options: "every=1")
        var frame = TestFrame(.i420, width: 16, height: 16, filledWith: 128)
        let verdicts = try [0, 999, 1400, 1999, 2000].map { (milliseconds: UInt64) in
            frame.timestamp = .milliseconds(milliseconds)
            return try harness.process(frame).verdict
        }
        #expect(verdicts == [.pass, .drop, .pass, .drop, .pass])
    }

    @Test("frames pass unchanged")
    func untouched() throws {
        var harness = try ProcessorHarness<Timelapse>()
        let frame = TestFrame.noise(.init(.nv12), width: 33, height: 17)
        #expect(try harness.process(frame).frame == frame)
    }

    @Test("invalid options are refused", arguments: ["every=0", "every=often", "evry=1"])
    func refused(_ options: String) {
        #expect(throws: MediaGraphError.self) { try ProcessorHarness<Timelapse>(options: options) }
    }

    @Test("a live graph passes one frame a minute, on a virtual clock")
    func live() async throws {
        // By default, a live pipe drops frames on a busy machine. This test needs all of them.
        let graph = try Graph(
            """
            videosource handler=counter options="width=64,height=36,fps=1/2" max-frames=300 !
                preprocessor name=timelapse ! rawdatapipe name=frames backpressure=block
            """)
        let collector = FrameCollector()
        try graph.preprocessor("timelapse").attach(ProcessorHarness<Timelapse>(options: "every=60").processor)
        try graph.rawDataPipe("frames").attach(collector)
        let clock = TestClock()
        graph.useClock(clock.clock)

        try await graph.start()
        for _ in 0..<300 { try await clock.step() }  // each step makes the source send a frame
        let frames = await collector.first(10)
        await graph.stop()

        #expect(frames.map(\.timestamp) == (0..<10).map { .seconds(Double($0 * 60)) })
        #expect(try frames.map { try $0.number } == (0..<10).map { $0 * 30 })
    }
}
