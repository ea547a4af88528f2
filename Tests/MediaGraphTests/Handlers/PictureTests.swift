import CMediaGraphABI
import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

@Suite(.timeLimit(.minutes(10))) struct PictureTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Returns the pixels of a PNG file, decoded by FFmpeg.
    private func pixels(_ name: String, _ format: String) throws -> [UInt8] {
        try FFmpeg.run("-i", folder.file(name), "-pix_fmt", format, "-f", "rawvideo", folder.file(name + ".raw"))
        return try folder.read(name + ".raw")
    }

    @Test("snapshot saves each Nth frame with a number, up to its limit")
    func snapshots() async throws {
        let problem = try await failure(
            of: """
                videosource handler=counter options="frames=20,width=66,height=37" pace=fast !
                rawdatapipe format=RGB24 handler=snapshot
                options="location=\(folder.file("shot-%03d.png")),every=6,limit=3"
                """)
        #expect(problem == nil)
        #expect(folder.contents == ["shot-000.png", "shot-001.png", "shot-002.png"])
        // Frames 0, 6 and 12 are saved. The cells of the first row hold the bits of the frame's number.
        for (index, number) in [0, 6, 12].enumerated() {
            let bytes = try pixels("shot-00\(index).png", "gray")
            #expect(bytes.count == 66 * 37)
            let read = (0..<32).reduce(0) { $0 << 1 | (bytes[$1 * 2 + 1] >= 128 ? 1 : 0) }
            #expect(read == number)
        }
    }

    @Test("RP-13 snapshots and contact sheets are upright, unless a snapshot has upright=false")
    func upright() async throws {
        for tag in ["rotate-90", "flip-rotate-0", "flip-rotate-270"] {
            let stream = """
                videotestsrc num-buffers=1 pattern=smpte100 ! video/x-raw,format=RGB,width=48,height=32 !
                taginject tags=image-orientation=\(tag)
                """
            func picture(_ name: String, _ nodes: String, _ handler: String) async throws -> [UInt8] {
                let problem = try await failure(
                    of: """
                        \(stream) ! \(nodes) rawdatapipe format=RGB24 handler=\(handler.split(separator: ",")[0])
                        options="location=\(folder.file(name))\(handler.drop { $0 != "," })"
                        """)
                #expect(problem == nil)
                return try pixels(name, "rgb24")
            }
            // The sheet is as wide as the upright frame, so nothing is scaled.
            let width = tag == "flip-rotate-0" ? 48 : 32
            for (handler, number) in [("snapshot,limit=1", 0), ("contactsheet,width=\(width)", 1)] {
                let expected = try await picture("flip\(number).png", "videoflip video-direction=auto !", handler)
                #expect(try await picture("tag\(number).png", "", handler) == expected, "\(tag), \(handler)")
            }
            let lying = try await picture("lying.png", "", "snapshot,limit=1,upright=false")
            let untagged = "taginject tags=image-orientation=rotate-0 !"
            #expect(try await picture("flip.png", untagged, "snapshot,limit=1") == lying)
        }
    }

    @Test("a PNG has the exact pixels of an RGB frame, with alpha")
    func exact() async throws {
        for (format, name) in [(VideoFormat.rgb24, "rgb24"), (.rgba, "rgba"), (.argb, "argb")] {
            let input = noise(format.packedLength(width: 33, height: 17))
            let graph = try Graph("videosource name=in pace=fast ! rawdatapipe name=out format=\(name.uppercased())")
            try graph.videoSource("in").attach(
                FrameListSource([TestFrame(FrameFormat(format), width: 33, height: 17, bytes: input)]))
            let kept = Log<OwnedVideoFrame>()
            try graph.rawDataPipe("out").receive { kept.add(try $0.retain()) }
            try await graph.run()
            let png = try #require(kept.all.first).png()
            _ = try folder.write("\(name).png", png)
            #expect(try pixels("\(name).png", name) == input)
        }
    }

    @Test(
        "GR-2 snapshot only accepts %d and %0Nd in its file name",
        arguments: [
            "a%s.png", "a%5d.png", "a%00d.png", "a%d-%d.png", "a%", "a%0", "a%0123d", "a%ld", "a%n", "a%0②d", "a%0万d",
        ])
    func patterns(_ name: String) async throws {
        let problem = try await failure(
            of: "videotestsrc num-buffers=1 ! rawdatapipe name=p handler=snapshot options=\"location=\(name)\"")
        #expect(
            problem?.contains(
                """
                error: option location of snapshot: expected a name with one %d or %0Nd (N from 1 to 9) in it, \
                got "\(name)"
                """) == true)
    }

    @Test("GR-13 a picture's file name for another format is refused with the name to write")
    func otherTypes() async throws {
        for (handler, name) in [("snapshot", "shot-%d.jpg"), ("contactsheet", "sheet.JPEG")] {
            let problem = try await failure(
                of: "videotestsrc ! rawdatapipe handler=\(handler) options=\"location=\(name)\"")
            let png = "\(name.prefix { $0 != "." }).png"
            #expect(problem?.contains("pictures are written as PNG") == true && problem?.contains(png) == true)
        }
    }

    @Test("a snapshot that can't be written ends the graph with the file's path")
    func unwritable() async throws {
        let problem = try await failure(
            of: """
                videosource handler=counter options="frames=2,width=16,height=16" pace=fast !
                rawdatapipe name=p handler=snapshot options="location=/nonexistent/%d.png"
                """)
        #expect(
            problem == """
                p (rawdatapipe): handler snapshot failed: option location of snapshot: /nonexistent/0.png can't be written: \
                No such file or directory
                """)
    }

    /// Writes a contact sheet of gray frames, and returns the luma at the center of each thumbnail.
    private func sheet(_ count: Int, _ options: String, columns: Int, rows: Int) async throws -> [Int] {
        let frames = (0..<count).map {
            TestFrame(FrameFormat(.rgb24), width: 32, height: 18, filledWith: UInt8($0 * 2))
        }
        let graph = try Graph(
            """
            videosource name=in pace=fast ! rawdatapipe format=RGB24 handler=contactsheet
            options="location=\(folder.file("sheet.png")),width=16,\(options)"
            """)
        try graph.videoSource("in").attach(FrameListSource(frames))
        try await graph.run()
        let (width, height) = (columns * 20 + 4, rows * 13 + 4)
        let bytes = try pixels("sheet.png", "gray")
        #expect(bytes.count == width * height)
        return (0..<columns * rows).map { index in
            Int(bytes[(index / columns * 13 + 8) * width + index % columns * 20 + 12])
        }
    }

    @Test("contactsheet spreads its thumbnails over a stream of any length")
    func sheets() async throws {
        #expect(try await sheet(6, "columns=3,rows=2", columns: 3, rows: 2) == [0, 2, 4, 6, 8, 10])
        #expect(try await sheet(4, "columns=3,rows=2", columns: 3, rows: 2) == [0, 2, 4, 6, 0, 0])
        let spread = try await sheet(100, "columns=3,rows=2", columns: 3, rows: 2).map { $0 / 2 }
        let steps = zip(spread, spread.dropFirst()).map { $1 - $0 }
        #expect(spread.first == 0)
        #expect(spread.last! >= 80)
        #expect(steps.allSatisfy { 8...32 ~= $0 })
    }

    @Test("contactsheet with every=N shows exactly each Nth frame")
    func everyNth() async throws {
        #expect(try await sheet(50, "columns=2,rows=2,every=7", columns: 2, rows: 2) == [0, 14, 28, 42])
    }

    @Test("contactsheet fails at the first frame if its file can't be written")
    func unwritableFromTheStart() async throws {
        let graph = try Graph(
            "videotestsrc ! rawdatapipe handler=contactsheet options=location=/no/such/folder/sheet.png")
        await #expect(throws: GraphError.self) { try await graph.run() }
    }

    @Test(
        "GR-5 a picture with a huge size in its header is refused before it is decoded",
        arguments: ["background", "watermark"])
    func hugePicture(_ handler: String) throws {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let size: [UInt8] = [0, 0, 0x75, 0x30]
        let header: [UInt8] = [0, 0, 0, 13] + Array("IHDR".utf8) + size + size + [8, 6, 0, 0, 0]
        let folder = try TemporaryFolder()
        let path = try folder.write("huge.png", signature + header)
        let error = #expect(throws: MediaGraphError.self) {
            _ = try HandlerRegistry.shared.make(MGVideoProcessor.self, handler, options: "image=\(path)")
        }
        #expect(error?.detail.expected == "a picture of at most 8192×8192 pixels")
        #expect(error?.detail.actual == "\(path) (30000×30000)")
    }

    @Test("GR-11 a contact sheet shows all frames, also after a seek back")
    func sheetAfterSeek() async throws {
        // A source that can seek: a file.
        try await Graph(
            "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=48 ! jpegenc ! avimux ! filesink location=\(folder.file("a.avi"))"
        ).run()
        let graph = try Graph(
            "filesrc location=\(folder.file("a.avi")) ! avidemux ! jpegdec ! rawdatapipe handler=contactsheet options=\"location=\(folder.file("s.png")),every=1,width=16\""
        )
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let first = try pixels("s.png", "gray").count
        #expect(graph.pipeline.seek(to: .zero))
        #expect(waitUntil { ((try? pixels("s.png", "gray").count) ?? 0) > first })
        await graph.stop()
    }
}
