import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the pad `src` of a `rawdatapipe` with `src-format=as-delivered`.
@Suite(.timeLimit(.minutes(10))) struct DeliveredSourceTests {
    init() throws { try Nodes.register() }

    private static let camera = "videotestsrc num-buffers=4 pattern=ball ! video/x-raw,format=I420,width=322,height=240"

    /// The size, format and bytes of frames.
    private struct Seen: Equatable {
        var size: String
        var format: VideoFormat
        var rotation: Rotation
        var bytes: [UInt8]
    }

    /// Runs a graph, and returns the frames that the handler of the pipe `app` gets, and those behind its pad `src`.
    private func frames(_ graph: Graph) async throws -> (app: [Seen], source: [Seen]) {
        let (app, source) = (Log<Seen>(), Log<Seen>())
        for (name, log) in [("app", app), ("source", source)] {
            try graph.rawDataPipe(name).receive { frame in
                log.add(
                    Seen(
                        size: "\(frame.width)x\(frame.height)", format: frame.format, rotation: frame.rotation,
                        bytes: frame.packedBytes))
            }
        }
        try await graph.run()
        return (app.all, source.all)
    }

    @Test(
        "RP-6 with src-format=as-delivered, src outputs the frames that the handler gets, byte for byte",
        arguments: [
            ("format=BGR24 resolution=90p", "121x90", "BGR24"), ("format=NV12", "322x240", "NV12"),
            ("resolution=90p", "121x90", "I420"), ("", "322x240", "I420"),
            ("format=rgb apply-mirror=true", "322x240", "BGRA"),
        ])
    func bytes(settings: String, size: String, format: String) async throws {
        let graph = try Graph(
            """
            \(Self.camera) ! rawdatapipe name=app \(settings) src-format=as-delivered !
            rawdatapipe name=source format=\(format)
            """)
        let (app, source) = try await frames(graph)
        #expect(app.count == 4 && app == source)
        #expect(source.allSatisfy { $0.size == size && "\($0.format)" == format.lowercased() }, "\(source.map(\.size))")
    }

    @Test(
        "RP-10 RP-13 with src-format=as-delivered, turned frames aren't turned again behind src",
        arguments: ["", "videoflip video-direction=auto !"])
    func turned(behind: String) async throws {
        let graph = try Graph(
            """
            \(Self.camera) ! taginject tags=image-orientation=rotate-90 !
            rawdatapipe name=app apply-rotation=true src-format=as-delivered ! \(behind)
            rawdatapipe name=source
            """)
        let (app, source) = try await frames(graph)
        #expect(app.count == 4 && app == source)
        #expect(source.allSatisfy { $0.size == "240x322" && $0.rotation == .none }, "\(source.map(\.size))")
    }

    @Test("RP-6 src-format=as-delivered follows changes of the stream, and applies to each run")
    func changes() async throws {
        let graph = try Graph(
            """
            videosource name=camera pace=fast ! rawdatapipe name=app format=BGRA resolution=90p
            src-format=as-delivered ! rawdatapipe name=source format=BGRA
            """)
        let source = RecordingSource(onStart: { sender in
            for (width, height) in [(320, 240), (64, 48), (320, 180)] {
                try sendNow(
                    sender, patternedFrame(width: width, height: height),
                    FrameDescription(width: width, height: height))
            }
            sender.endOfStream()
        })
        try graph.videoSource("camera").attach(source)
        let sizes = Log<String>()
        try graph.rawDataPipe("source").receive { sizes.add("\($0.width)x\($0.height)") }
        for _ in 0..<2 { try await graph.run() }
        #expect(sizes.all == ["120x90", "64x48", "160x90", "120x90", "64x48", "160x90"])
        // Without as-delivered, and without engine-render, the next run has no frames there.
        try graph.element("app").setProperty("src-format", parsing: "unchanged")
        try await graph.run()
        #expect(sizes.all.count == 6)
    }

    @Test("RP-10 with src-format=as-delivered, each frame has its own size behind src when the rotation changes")
    func rotations() async throws {
        let graph = try Graph(
            """
            videosource name=camera pace=fast ! rawdatapipe name=app apply-rotation=true src-format=as-delivered !
            rawdatapipe name=source
            """)
        let source = RecordingSource(onStart: { sender in
            for rotation in [Rotation.clockwise90, .none, .clockwise90, .none] {
                var frame = FrameDescription(width: 64, height: 48)
                frame.rotation = rotation
                try sendNow(sender, patternedFrame(width: 64, height: 48), frame)
            }
            sender.endOfStream()
        })
        try graph.videoSource("camera").attach(source)
        let (app, sent) = try await frames(graph)
        #expect(sent.map(\.size) == ["48x64", "64x48", "48x64", "64x48"] && app == sent)
    }

    @Test(
        "RP-12 src-format=as-delivered needs raw frames; check and the start say so", arguments: ["native", "encoded"])
    func otherTypes(type: String) async throws {
        let source = type == "native" ? "videotestsrc" : "videotestsrc ! jpegenc"
        let text = "\(source) ! rawdatapipe buffer-type=\(type) src-format=as-delivered ! fakesink"
        let found = try problems(in: text)
        #expect(found.count == 1 && found[0].contains("src-format can't be set with buffer-type=\(type)"), "\(found)")
        let pipe = try #require(Element(factory: "rawdatapipe"))
        for (property, value) in [("buffer-type", type), ("src-format", "as-delivered")] {
            try pipe.setProperty(property, parsing: value)
        }
        #expect(pipe.setState(.paused) == .failure)
        pipe.setState(.null)
    }

    @Test("RP-6 behind src, a filter must allow the format that the pipe delivers, not the stream's")
    func conflict() async throws {
        let text = "\(Self.camera) ! rawdatapipe name=app format=NV12 src-format=as-delivered ! video/x-raw,format="
        let error = #expect(throws: GraphError.self) { try Graph("\(text)RGB ! fakesink") }
        #expect("\(error!)".contains("rawdatapipe \"app\" can't be linked to fakesink"), "\(error!)")
        _ = try await Graph("\(text)NV12 ! fakesink").run()
    }
}
