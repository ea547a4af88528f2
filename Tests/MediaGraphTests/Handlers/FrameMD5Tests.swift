import GStreamer
import MediaGraph
import MediaGraphTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct FrameMD5Tests {
    struct Raw: Sendable {
        let format: VideoFormat
        let ffmpeg: String
        let width: Int
        let height: Int
        var testDescription: String { "\(format.gstreamerName) \(width)×\(height)" }

        /// The packed planes as properties of rawvideoparse, whose default layout has padding.
        var layout: String {
            var offset = 0
            let planes = format.planes.map { plane in
                let size = format.size(of: plane, width: width, height: height)
                let stride = size.width * format.pixelStride(of: plane)
                defer { offset += stride * size.height }
                return (offset, stride)
            }
            let offsets = planes.map { "\($0.0)" }.joined(separator: ",")
            let strides = planes.map { "\($0.1)" }.joined(separator: ",")
            return """
                width=\(width) height=\(height) framerate=25/1 plane-offsets="<\(offsets)>" \
                plane-strides="<\(strides)>" frame-size=\(format.packedLength(width: width, height: height))
                """
        }
    }

    static let raws = [
        (VideoFormat.i420, "yuv420p"), (.nv12, "nv12"), (.nv21, "nv21"), (.i422, "yuv422p"), (.bgra, "bgra"),
        (.rgba, "rgba"), (.argb, "argb"), (.abgr, "abgr"), (.rgb24, "rgb24"), (.bgr24, "bgr24"), (.a420, "yuva420p"),
    ].flatMap { format in
        // A tiny, an odd and an even size. At the last two, GStreamer's layout and the packed one differ most.
        [(2, 2), (3, 3), (426, 240), (101, 77)].map { size in
            Raw(format: format.0, ffmpeg: format.1, width: size.0, height: size.1)
        }
    }

    @Test("RP-6 framemd5 writes the same bytes as FFmpeg for each of the eleven formats")
    func equalsFFmpeg() async throws {
        let folder = try TemporaryFolder()
        // FFmpeg writes all files in one run, because it starts slowly.
        var arguments = ["-f", "lavfi", "-i", "testsrc=size=640x360:rate=25"]
        for (index, raw) in Self.raws.enumerated() {
            let picture = [
                "-vf", "scale=\(raw.width):\(raw.height),setsar=1", "-frames:v", "3", "-pix_fmt", raw.ffmpeg, "-c:v",
                "rawvideo",
            ]
            arguments += picture + ["-f", "rawvideo", folder.file("\(index).raw")]
            arguments += picture + ["-fflags", "+bitexact", "-f", "framemd5", folder.file("\(index).expected")]
        }
        try FFmpeg.run(arguments)
        for (index, raw) in Self.raws.enumerated() {
            let name = raw.format.gstreamerName
            let nick = PipeFormat.allCases.first { $0.format == raw.format }!.nick
            let problem = try await failure(
                of: """
                    filesrc location=\(folder.file("\(index).raw")) blocksize=1000000 !
                    rawvideoparse format=\(name.lowercased()) \(raw.layout) !
                    rawdatapipe format=\(nick) handler=framemd5 options="location=\(folder.file("\(index).actual"))"
                    """)
            #expect(problem == nil, "\(raw.testDescription)")
            let actual = try folder.readText("\(index).actual")
            #expect(actual.split(separator: "\n").filter { !$0.hasPrefix("#") }.count == 3, "\(raw.testDescription)")
            #expect(actual == (try folder.readText("\(index).expected")), "\(raw.testDescription)")
        }
    }

    @Test("framemd5 uses nanoseconds if the frame rate is variable")
    func variableRate() async throws {
        let folder = try TemporaryFolder()
        let frames = [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]].map {
            TestFrame(.i420Limited, width: 2, height: 2, bytes: $0)
        }
        let graph = try Graph(
            "videosource name=in pace=fast ! rawdatapipe handler=framemd5 options=\"location=\(folder.file("out"))\"")
        try graph.videoSource("in").attach(FrameListSource(frames, rate: nil))
        try await graph.run()
        let lines = try folder.readText("out").split(separator: "\n")
        #expect(lines.contains("#tb 0: 1/1000000000"))
        #expect(lines.last == "0,   40000000,   40000000,        0,        6, 85335801eef800e6ac7fe9b1cf7267a1")
    }

    @Test("a full disk ends the graph, and the error names the file")
    func fullDisk() async throws {
        let problem = try await failure(
            of: """
                videosource handler=counter options="frames=5,width=64,height=36" pace=fast !
                rawdatapipe name=p handler=framemd5 options="location=/dev/full"
                """)
        #expect(problem == "p (rawdatapipe): handler framemd5 failed: writing /dev/full: No space left on device")
    }

    @Test("a file that can't be written is refused before the graph plays")
    func unwritable() async throws {
        let problem = try await failure(
            of: """
                videosource handler=counter options="frames=5,width=64,height=36" pace=fast !
                rawdatapipe name=p handler=framemd5 options="location=/nonexistent/out"
                """)
        #expect(
            problem == """
                p (rawdatapipe): option location of framemd5: /nonexistent/out can't be written: \
                No such file or directory
                """)
    }
}
