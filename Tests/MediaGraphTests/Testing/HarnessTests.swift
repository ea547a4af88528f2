import Foundation
import GStreamer
import MediaGraph
import MediaGraphTesting
import Testing

/// Tests the harnesses with which users test their handlers.
@Suite(.timeLimit(.minutes(10))) struct HandlerHarnessTests {
    /// Counts calls, adds `step` to each byte of luma, and drops frames whose first byte becomes 100.
    private struct Brighten: VideoProcessor, NamedHandler {
        static let name = "brighten"
        static let summary = "Adds one"
        static let formats: [VideoFormat] = [.i420, .a420]
        let step: Int
        var calls = 0

        init(options: HandlerOptions) throws { step = try options.int("step", in: 1...10, default: 1) }

        mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
            calls += 1
            var luma = try frame.mutablePlane(.y)
            for y in 0..<luma.height {
                var row = luma.row(y)
                for x in row.indices { row[x] &+= UInt8(step) }
            }
            return luma.row(0)[0] == 100 ? .drop : .pass
        }
    }

    @Test("a processor's harness passes each frame to the handler and returns the result")
    func processor() throws {
        var harness = try ProcessorHarness<Brighten>(options: "step=2")
        for (width, height) in [(1, 1), (3, 3), (7, 5), (64, 36)] {
            let input = TestFrame.noise(.i420, width: width, height: height, in: 0...90)
            let (verdict, output) = try harness.process(input)
            #expect(verdict == .pass)
            #expect(output.plane(.y) == input.plane(.y)!.map { $0 + 2 })
            #expect(output.plane(.u) == input.plane(.u) && output.plane(.v) == input.plane(.v))
        }
        #expect(harness.processor.calls == 4)
    }

    @Test("frames that a handler drops are missing from its harness's output")
    func drops() throws {
        var harness = try ProcessorHarness<Brighten>()
        let frames = [97, 98, 99, 100, 101].map { TestFrame(.i420, width: 4, height: 4, filledWith: $0) }
        #expect(try harness.process(frames).map { $0[.y, 0, 0] } == [98, 99, 101, 102])
    }

    @Test("a harness refuses the options and formats that the node would refuse")
    func refusals() throws {
        #expect(throws: MediaGraphError.self) { try ProcessorHarness<Brighten>(options: "steps=2") }
        #expect(throws: MediaGraphError.self) { try ProcessorHarness<Brighten>(options: "step=11") }
        var harness = try ProcessorHarness<Brighten>()
        #expect(throws: MediaGraphError.unsupported(.init("Brighten", expected: "I420 or A420", actual: "BGRA"))) {
            try harness.process(TestFrame(.init(.bgra), width: 4, height: 4, filledWith: 1))
        }
    }

    @Test(
        "a frame's metadata reaches the handler, and its rows have padding", arguments: VideoFormat.allCases)
    func memory(_ format: VideoFormat) throws {
        struct Look: VideoProcessor {
            func process(_ frame: inout VideoFrame) throws -> Verdict {
                #expect(frame.rotation == .clockwise90 && frame.runningTime == .milliseconds(7))
                #expect(frame.captureTime == Date(timeIntervalSince1970: 9) && frame.width == 5 && frame.height == 3)
                for plane in frame.format.planes {
                    let plane = try frame.plane(plane)
                    #expect(plane.stride >= plane.rowLength + 8)
                }
                return .pass
            }
        }
        var input = TestFrame.noise(.init(format), width: 5, height: 3)
        (input.rotation, input.timestamp, input.captureTime) = (
            .clockwise90, .milliseconds(7), Date(timeIntervalSince1970: 9)
        )
        var harness = ProcessorHarness(Look())
        #expect(try harness.process(input).frame == input)
    }

    @Test("a consumer's harness delivers status, frames and the end in order")
    func consumer() throws {
        struct Notes: VideoConsumer {
            var calls: [String] = []
            mutating func statusChanged(isOn: Bool) { calls.append(isOn ? "on" : "off") }
            mutating func receive(_ frame: borrowing VideoFrame) throws {
                calls.append("\(try FrameNumber.read(frame))")
            }
            mutating func finish() { calls.append("finish") }
        }
        var harness = ConsumerHarness(Notes())
        try harness.run([.numbered(7), .numbered(8)])
        #expect(harness.consumer.calls == ["on", "7", "8", "off", "finish"])
    }

    @Test("numbered frames can be read back in each format", arguments: VideoFormat.allCases)
    func numbers(_ format: VideoFormat) throws {
        for number: UInt32 in [0, 1, 0x8000_0001, 0xDEAD_BEEF] {
            for range in [Colorimetry.Range.limited, .full] {
                let frame = try TestFrame.numbered(number, .init(format, range: range), width: 64, height: 8)
                #expect(try frame.number == number)
            }
        }
    }

    @Test("frames from a list reach a collector through a graph completely and unchanged")
    func graph() async throws {
        let frames = try (0..<20).map { try TestFrame.numbered(UInt32($0), width: 66, height: 34) }
        let graph = try Graph("videosource name=in pace=fast ! rawdatapipe name=out")
        let collector = FrameCollector()
        try graph.videoSource("in").attach(FrameListSource(frames))
        try graph.rawDataPipe("out").attach(collector)
        try await graph.run()
        #expect(collector.frames.map(\.bytes) == frames.map(\.bytes))
        #expect(collector.frames.map(\.timestamp) == frames.map(\.timestamp))
        #expect(collector.statuses == [true, false] && collector.isFinished)
    }
}

@Suite(.timeLimit(.minutes(10))) struct TestClockTests {
    @Test("on a test clock a live graph delivers one frame for each step")
    func steps() async throws {
        let graph = try Graph(
            "videosource handler=counter options=\"width=64,height=36,fps=25\" ! rawdatapipe name=out backpressure=block"
        )
        let clock = TestClock(time: .seconds(3600))
        graph.useClock(clock.clock)
        let collector = FrameCollector()
        try graph.rawDataPipe("out").attach(collector)
        try await graph.start()
        // The first frame is due at once, and each further one a step later.
        var times: [ClockTime] = []
        for number in 0..<10 {
            #expect(try await collector.first(number + 1).map { try $0.number } == Array(0...UInt32(number)))
            times.append(try await clock.step())
        }
        let frames = await collector.first(11)
        await graph.stop()
        let steps: [ClockTime] = (0...10).map { ClockTime.milliseconds(40 * $0) }
        let hour = ClockTime.seconds(3600).nanoseconds
        #expect(times.map { $0.nanoseconds - hour } == steps.dropFirst().map(\.nanoseconds))
        #expect(frames.map(\.timestamp) == steps)
        #expect(collector.frames.count == 11)
    }

    @Test("a step of a test clock that nothing waits for is a typed error")
    func nobody() async throws {
        let error = await #expect(throws: MediaGraphError.self) {
            try await TestClock().step(timeout: .milliseconds(1))
        }
        #expect(error?.code == .timeOut)
    }
}
