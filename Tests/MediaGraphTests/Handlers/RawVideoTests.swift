import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests packed frames without a header, as the SDKs write them, and the constant frame rate of files.
@Suite(.timeLimit(.minutes(10))) struct RawVideoTests {
    let folder: TemporaryFolder

    init() throws {
        try Nodes.register()
        folder = try TemporaryFolder()
    }

    private func play(_ path: String, _ options: String, format: String = "I420") async throws -> String? {
        try await failure(
            of: """
                videosource handler=raw pace=fast options="location=\(path),\(options)" !
                rawdatapipe format=\(format) handler=raw options="location=\(folder.file("out.yuv"))"
                """)
    }

    @Test(
        "VS-6 GR-13 packed frames of each format are read and written byte for byte, at any size",
        arguments: VideoFormat.allCases)
    func roundTrip(format: VideoFormat) async throws {
        let nick = PipeFormat.allCases.first { $0.format == format }!.nick
        for (width, height, frames) in [(66, 50, 50), (5, 3, 4), (1, 1, 3)] {
            // A420 frames without alpha would have another format, so the frames are noise.
            let length = format.packedLength(width: width, height: height)
            let input = noise(length * frames)
            let path = try folder.write("in.yuv", input)
            let options = "width=\(width),height=\(height),format=\(nick),fps=30"
            #expect(try await play(path, options, format: nick) == nil)
            #expect(try folder.read("out.yuv") == input, "\(width)×\(height) \(nick)")
        }
    }

    @Test("GR-13 an incomplete frame at the end of a raw file is reported, and the others are played")
    func rest() async throws {
        let input = noise(4950 * 3 + 7)
        let path = try folder.write("in.yuv", input)
        let graph = try Graph(
            """
            videosource name=s handler=raw pace=fast options="location=\(path),width=66,height=50" !
            rawdatapipe handler=raw options="location=\(folder.file("out.yuv"))"
            """)
        let events = graph.events
        let warnings = Log<String>()
        let reading = Task {
            for await event in events {
                if case .warning(let report) = event { warnings.add(report.error.message) }
            }
        }
        try await graph.run()
        await reading.value
        #expect(
            warnings.all == [
                """
                s: \(path) doesn't end on a frame boundary: a frame of 66×50 I420 has 4950 bytes, and 7 are left after 3 \
                frames; check width, height and format
                """
            ])
        #expect(try folder.read("out.yuv") == Array(input.prefix(4950 * 3)))
        let short = try await play(try folder.write("short.yuv", noise(40)), "width=66,height=50")
        #expect(short?.contains("a frame of 66×50 I420 has 4950 bytes, but the file has only 40") == true)
    }

    @Test(
        "GR-13 raw video without a size, or with an invalid option, is refused before the run",
        arguments: [
            ("height=50", "width"), ("width=0,height=50", "option width of raw"),
            ("width=66,height=50,format=YV12", "option format of raw"),
            ("width=66,height=50,fps=0", "option fps of raw"),
            ("width=66,height=50,range=wide", "option range of raw"),
        ])
    func options(_ options: String, _ subject: String) throws {
        let path = try folder.write("in.yuv", noise(4950))
        let description = Description(
            "videosource handler=raw options=\"location=\(path),\(options)\" ! rawdatapipe handler=count")
        #expect(try Graph.diagnose(description).contains { $0.message.contains(subject) })
    }

    @Test(
        "GR-13 the raw handler refuses a file with a header and names what plays it",
        arguments: [
            ("y4menc", "application/x-yuv4mpeg", "use videosource handler=y4m"), ("pngenc", "image/png", "decodebin"),
            ("vp8enc ! webmmux", "video/webm", "decodebin"), ("vp8enc ! oggmux", "video/ogg", "decodebin"),
        ])
    func header(encoder: String, type: String, remedy: String) async throws {
        let path = folder.file("in.yuv")
        let text =
            "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48,framerate=30/1 ! \(encoder) "
            + "! filesink location=\(path)"
        try await Graph(text).run()
        // One frame is smaller than the file, the other one is larger.
        for size in ["width=16,height=16", "width=1920,height=1080"] {
            let problem = try #require(try await play(path, size))
            #expect(problem.contains("a file of type \(type); ") && problem.contains(remedy), "\(problem)")
        }
    }

    @Test(
        "GR-13 the raw handler accepts packed frames whose bytes are all equal",
        arguments: [0, 1, 16, 128, 255] as [UInt8])
    func evenFrames(value: UInt8) async throws {
        let input = [UInt8](repeating: value, count: 4950 * 2)
        let path = try folder.write("in.yuv", input)
        #expect(try await play(path, "width=66,height=50") == nil)
        #expect(try folder.read("out.yuv") == input)
    }

    @Test("GR-13 a change of size while writing a raw file is an error with a remedy")
    func changeOfSize() async throws {
        let graph = try Graph(
            """
            videosource name=in pace=fast ! rawdatapipe handler=raw options="location=\(folder.file("out.yuv"))"
            """)
        try graph.videoSource("in").attach(
            FrameListSource([(8, 4), (4, 4)].map { TestFrame(.i420, width: $0, height: $1, filledWith: 9) }))
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("the frames change from 8×4 I420 to 4×4 I420"))
    }

    // MARK: Constant rate

    @Test("GR-13 the y4m handler repeats missing frames and drops surplus ones to keep its rate")
    func constantRate() throws {
        // Relative to the first one, in frames at 25 a second: 0, 1⅜, 3⅝, 4, 4⅛, 5 and 8.
        let times: [UInt64] = [1000, 1055, 1145, 1160, 1165, 1200, 1320]
        let path = folder.file("out.y4m")
        let element = try #require(Element(factory: "rawdatapipe", name: "p"))
        try element.setProperty("handler", parsing: "y4m")
        try element.setProperty("options", parsing: "location=\"\(path)\"")
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps("video/x-raw,format=I420,width=2,height=2,framerate=25/1")
        for (index, time) in times.enumerated() {
            let buffer = Buffer([UInt8](repeating: UInt8(index), count: 16))
            buffer.access.presentationTimestamp = .milliseconds(time)
            harness.push(buffer)
        }
        harness.push(.endOfStream)
        element.setState(.null)
        let bytes = try folder.read("out.y4m")
        let body = bytes[(bytes.firstIndex(of: 10)! + 1)...]
        // The first byte of each frame, after its FRAME line.
        let shown = stride(from: body.startIndex + 6, to: body.endIndex, by: 12).map { body[$0] }
        #expect(shown == [0, 1, 1, 2, 3, 5, 5, 5, 6])
    }

    @Test("GR-13 the y4m handler reports at its end how many frames it repeated and dropped")
    func counted() async throws {
        let path = folder.file("out.y4m")
        let graph = try Graph(
            """
            videotestsrc num-buffers=90 ! video/x-raw,width=16,height=16,framerate=30/1 !
            identity drop-probability=0.5 ! rawdatapipe name=p handler=y4m options="location=\(path)"
            """)
        let events = graph.events
        let warnings = Log<String>()
        let reading = Task {
            for await event in events {
                if case .warning(let report) = event { warnings.add(report.error.message) }
            }
        }
        try await graph.run()
        await reading.value
        let passed = try graph.rawDataPipe("p").statistics.frames
        let bytes = try folder.read("out.y4m")
        let count = (bytes.count - bytes.firstIndex(of: 10)! - 1) / (6 + 384)
        // The file covers the time from the first frame that arrived to the last.
        #expect(count > Int(passed) && count > 60 && count <= 90)
        #expect(
            warnings.all == [
                """
                p: handler y4m: \(path) has \(count) frames at 30/1 a second: \(count - Int(passed)) duplicates fill gaps in the \
                stream, and 0 surplus frames were dropped
                """
            ])
    }

    @Test("GR-13 a gap of minutes isn't filled, and its length is reported")
    func longGap() {
        var pace = ConstantRate(Fraction(30, 1))
        _ = pace.next(at: .seconds(1))
        #expect(pace.next(at: .seconds(10)) == .init(repeats: 269, isWritten: true))
        #expect(pace.next(at: .seconds(310)) == .init(repeats: 0, isWritten: true))
        #expect(pace.count == 272 && abs(pace.skipped - 300) < 0.1, "\(pace)")
    }

    @Test(
        "GR-13 a stream with small jitter is written unchanged, and a jump to a new time isn't filled"
    )
    func steady() {
        var pace = ConstantRate(Fraction(30, 1))
        for index in 0..<300 {
            let jitter: Int64 = [0, 20_000_000, -20_000_000][index % 3]
            let time = 5_000_000_000 + Int64(index) * 1_000_000_000 / 30 + jitter
            #expect(
                pace.next(at: ClockTime(nanoseconds: UInt64(time))) == .init(repeats: 0, isWritten: true), "\(index)")
        }
        for time in [UInt64(1), 40_000_000, 1 << 62] {
            #expect(pace.next(at: ClockTime(nanoseconds: time)) == .init(repeats: 0, isWritten: true))
        }
        #expect(pace.next(at: nil) == .init(repeats: 0, isWritten: true))
        #expect((pace.count, pace.repeated, pace.leftOut) == (304, 0, 0))
    }
}
