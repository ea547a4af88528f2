import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

@Suite(.timeLimit(.minutes(10))) struct Y4MTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func y4m(_ header: String, _ frames: [[UInt8]]) -> [UInt8] {
        Array("\(header)\n".utf8) + frames.flatMap { Array("FRAME\n".utf8) + $0 }
    }

    private func roundTrip(_ input: [UInt8], pipe: String = "") async throws -> [UInt8] {
        let path = try folder.write("in.y4m", input)
        let problem = try await failure(
            of: """
                videosource handler=y4m options="location=\(path)" pace=fast !
                rawdatapipe \(pipe) handler=y4m options="location=\(folder.file("out.y4m"))"
                """)
        #expect(problem == nil)
        return try folder.read("out.y4m")
    }

    static let sizes =
        (2...9).flatMap { width in (2...9).map { (width, $0) } } + [
            (1, 1), (404, 720), (426, 240), (641, 361), (1279, 719), (4096, 2160),
        ]

    @Test("VS-6 a Y4M file is read and written byte for byte, at odd and large sizes", arguments: sizes)
    func roundTrip(_ size: (width: Int, height: Int)) async throws {
        let length = VideoFormat.i420.packedLength(width: size.width, height: size.height)
        let frames = (1...3).map { noise(length, seed: $0) }
        // GStreamer's default chroma siting depends on the height.
        let chroma = size.height > 576 ? "420mpeg2" : "420jpeg"
        let input = y4m(
            "YUV4MPEG2 W\(size.width) H\(size.height) F30000:1001 Ip A1:1 C\(chroma) XCOLORRANGE=LIMITED", frames)
        let output = try await roundTrip(input)
        #expect(output == input)
    }

    @Test(
        "the y4m handler keeps frame rate, pixel aspect ratio and range",
        arguments: ["F25:1 Ip A16:11 C420jpeg XCOLORRANGE=FULL", "F60:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED"])
    func header(_ rest: String) async throws {
        let input = y4m("YUV4MPEG2 W6 H4 \(rest)", [noise(36)])
        #expect(try await roundTrip(input) == input)
    }

    @Test("the y4m handler carries 4:2:2 as I422")
    func y42b() async throws {
        let input = y4m("YUV4MPEG2 W5 H3 F25:1 Ip A1:1 C422 XCOLORRANGE=LIMITED", [noise(33), noise(33, seed: 2)])
        #expect(try await roundTrip(input, pipe: "format=I422") == input)
    }

    @Test("FFmpeg reads the y4m handler's files, and the handler reads FFmpeg's")
    func ffmpeg() async throws {
        try FFmpeg.run(
            "-f", "lavfi", "-i", "testsrc=size=641x361:rate=25", "-frames:v", "4", "-pix_fmt", "yuv420p",
            folder.file("theirs.y4m"))
        _ = try await roundTrip(try folder.read("theirs.y4m"))
        let hashes = try ["theirs.y4m", "out.y4m"].map {
            try FFmpeg.run("-i", folder.file($0), "-fflags", "+bitexact", "-f", "framemd5", "-")
        }
        #expect(hashes[0] == hashes[1])
        #expect(hashes[0].split(separator: "\n").filter { !$0.hasPrefix("#") }.count == 4)
    }

    @Test("a truncated frame is an error with its number, and all frames before it are delivered")
    func truncated() async throws {
        let frames = (0..<8).map { noise(96, seed: UInt64($0)) }
        let path = try folder.write("cut.y4m", y4m("YUV4MPEG2 W8 H8 F25:1", frames).dropLast(27))
        let graph = try Graph(
            "videosource name=s handler=y4m options=\"location=\(path)\" pace=fast ! rawdatapipe name=p")
        let received = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { received.add($0.packedBytes) }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect(error?.description == "s (videosource): \(path) ends within frame 7: 69 of its 96 bytes are there")
        #expect(received.all == Array(frames.prefix(7)))
    }

    @Test(
        "files that aren't usable Y4M are refused with an error that has the path and what was expected",
        arguments: [
            ("", " is empty, not a YUV4MPEG2 file"), ("YUV4MPEG2 W8", " ends within its YUV4MPEG2 header"),
            ("RIFF....AVI\n", " isn't a YUV4MPEG2 file; to play another kind of file, use filesrc ! decodebin"),
            (
                "YUV4MPEG2 W8 H8 It\n",
                ": interlaced video (It) isn't supported; convert it: ffmpeg -i PATH -vf yadif new.y4m"
            ),
            (
                "YUV4MPEG2 W8 H8 C444\n",
                """
                : the pixel format C444 isn't supported, only C420, C420jpeg, C420mpeg2, C420paldv, C422; \
                convert it: ffmpeg -i PATH -pix_fmt yuv420p new.y4m
                """
            ),
            ("YUV4MPEG2 W8 H0\n", ": expected a header with W and H from 1 to 16384, got \"YUV4MPEG2 W8 H0\""),
            ("YUV4MPEG2 W8 H8 Fx\n", ": expected a ratio such as F30:1, got Fx"),
        ])
    func refused(_ content: String, _ message: String) async throws {
        let path = try folder.write("bad.y4m", content.utf8)
        let problem = try await failure(
            of: "videosource name=s handler=y4m options=\"location=\(path)\" pace=fast ! rawdatapipe")
        #expect(problem == "s (videosource): \(path)\(message.replacing("PATH", with: path))")
    }

    @Test(
        "a missing file and a folder are refused",
        arguments: [
            ("/nonexistent.y4m", "can't be read: No such file or directory"),
            ("/tmp", "is a folder; name a file in it"),
        ])
    func unreadable(_ path: String, _ reason: String) async throws {
        let problem = try await failure(
            of: "videosource name=s handler=y4m options=\"location=\(path)\" ! rawdatapipe")
        #expect(problem == "s (videosource): option location of y4m: \(path) \(reason)")
    }

    @Test("the y4m handler refuses a change of size in the stream")
    func changeOfSize() async throws {
        let graph = try Graph(
            """
            videosource name=in pace=fast ! rawdatapipe name=p handler=y4m options="location=\(folder.file("x.y4m"))"
            """)
        try graph.videoSource("in").attach(GrowingSource())
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect(
            error?.description == """
                p (rawdatapipe): handler y4m failed: \(folder.file("x.y4m")): the frames change from \
                YUV4MPEG2 W2 H2 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED to \
                YUV4MPEG2 W4 H2 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED, but the file has one header; \
                put videoconvert ! videoscale and a caps filter before the pipe
                """)
    }

    @Test("loop=true starts a file again at its end")
    func loop() async throws {
        let frames = [noise(6, seed: 1), noise(6, seed: 2)]
        let path = try folder.write("two.y4m", y4m("YUV4MPEG2 W2 H2 F25:1", frames))
        let graph = try Graph(
            "videosource handler=y4m options=\"location=\(path),loop=true\" pace=fast ! rawdatapipe name=p")
        let received = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive {
            received.add($0.packedBytes)
            if received.all.count == 5 { graph.requestStop() }
        }
        try await graph.run()
        #expect(Array(received.all.prefix(5)) == [0, 1, 0, 1, 0].map { frames[$0] })
    }

    @Test("a named pipe without a writer blocks neither a graph's start nor its stop")
    func silentPipe() async throws {
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        let graph = try Graph(
            "videosource handler=y4m options=\"location=\(folder.file("pipe"))\" name=s ! rawdatapipe")
        // The sink waits for its first frame, so the start doesn't complete.
        let start = Task { try await graph.start() }
        let source = try graph.element("s")
        #expect(try await eventually { source.state == .playing })
        // A stop that waited for the pipe's writer would never return.
        await graph.stop()
        _ = await start.result
        #expect(graph.pipeline.waitForState(timeout: .zero).state == .null)
    }

    @Test("a named pipe delivers the frames that are written to it in pieces of any size")
    func slowPipe() async throws {
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        let frames = (0..<4).map { noise(96, seed: UInt64($0)) }
        let bytes = y4m("YUV4MPEG2 W8 H8 F25:1", frames)
        let graph = try Graph(
            "videosource handler=y4m options=\"location=\(folder.file("pipe"))\" pace=fast ! rawdatapipe name=p")
        let received = Log<[UInt8]>()
        try graph.rawDataPipe("p").receive { received.add($0.packedBytes) }
        let path = folder.file("pipe")
        let writer = NativeThread("writer") {
            guard let handle = FileHandle(forWritingAtPath: path) else { return }
            for start in stride(from: 0, to: bytes.count, by: 37) {
                try? handle.write(contentsOf: Data(bytes[start..<min(start + 37, bytes.count)]))
                usleep(500)
            }
            try? handle.close()
        }
        try await graph.run()
        writer.join()
        #expect(received.all == frames)
    }

    @Test("the y4m handler's file is complete if the graph is stopped before the end of the stream")
    func stopped() async throws {
        let out = folder.file("stopped.y4m")
        let graph = try Graph(
            """
            videosource name=s handler=counter options="width=16,height=16" pace=fast ! tee name=t
            t. ! queue ! rawdatapipe handler=y4m options="location=\(out)" t. ! queue ! rawdatapipe name=p
            """)
        let count = Log<Int>()
        try graph.rawDataPipe("p").receive { _ in
            count.add(1)
            if count.all.count == 20 { graph.requestStop() }
        }
        try await graph.run()
        let bytes = try folder.read("stopped.y4m")
        let header = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
        #expect(bytes.count > header)
        #expect((bytes.count - header) % (6 + 16 * 16 * 3 / 2) == 0)
    }

    @Test("GR-11 a y4m file has no duplicates if the stream's rate is the clock of its timestamps")
    func clockRate() async throws {
        let path = folder.file("a.y4m")
        try await Graph(
            """
            videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=64,height=48,framerate=25/1 !
            capssetter caps=video/x-raw,framerate=90000/1 ! rawdatapipe handler=y4m options=location=\(path)
            """
        ).run()
        let header = try folder.read("a.y4m").firstIndex(of: UInt8(ascii: "\n"))! + 1
        #expect(try folder.read("a.y4m").count == header + 5 * (6 + 64 * 48 * 3 / 2))
    }
}

/// Sends a frame of 2×2 pixels, then one of 4×2.
private final class GrowingSource: VideoSource {
    private let sender = Log<VideoSender>()

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.add(sender)
    }

    func startSend() throws {
        guard let sender = sender.all.first else { return }
        var frame = FrameDescription(
            width: 2, height: 2, format: .i420Limited, framesPerSecond: Fraction(25, 1), timestamp: .zero)
        try sendNow(sender, noise(6), frame)
        frame.width = 4
        try sendNow(sender, noise(12), frame)
        sender.endOfStream()
    }

    func stopSend() {}
}
