import Foundation
import GStreamer
import Glibc
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests when a graph creates and overwrites its output files.
@Suite struct OutputFileTests {
    private let folder: TemporaryFolder
    private static let old = Array("what was there before".utf8)
    private static let noCamera = "v4l2src device=/dev/video77 ! videoconvert"

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "GR-11 a run whose source can't start leaves an existing file unchanged",
        arguments: [
            "matroskamux ! filesink location=DIR/a", "filesink location=DIR/a", "queue ! filesink location=DIR/a",
            "rawdatapipe handler=y4m options=location=DIR/a", "rawdatapipe handler=framemd5 options=location=DIR/a",
            "rawdatapipe handler=contactsheet options=location=DIR/a",
            "rawdatapipe handler=snapshot options=\"location=DIR/a,limit=1\"",
        ])
    func noStart(sink: String) async throws {
        _ = try folder.write("a", Self.old)
        let graph = try Graph("\(Self.noCamera) ! \(sink.replacing("DIR", with: folder.path))")
        await #expect(throws: GraphError.self) { try await graph.run() }
        #expect(try folder.read("a") == Self.old)
        #expect(folder.contents == ["a"])
    }

    @Test("GR-11 a run whose appsrc's source can't start leaves an existing file unchanged, and no new file")
    func noStartOfAppsrc() async throws {
        _ = try folder.write("a", Self.old)
        for name in ["a", "new"] {
            let graph = try Graph("appsrc name=s ! filesink location=\(folder.file(name))")
            let source = RecordingSource(onStart: { _ in throw MediaGraphError.noAudio(.init("the source")) })
            try graph.videoSource("s").attach(source)
            await #expect(throws: GraphError.self) { try await graph.run() }
        }
        #expect(try folder.read("a") == Self.old)
        #expect(folder.contents == ["a"])
    }

    @Test(
        "GR-11 a run that writes nothing leaves no empty file behind",
        arguments: ["filesink location=DIR/new", "rawdatapipe handler=y4m options=location=DIR/new"])
    func noEmptyFile(sink: String) async throws {
        let graph = try Graph("\(Self.noCamera) ! \(sink.replacing("DIR", with: folder.path))")
        await #expect(throws: GraphError.self) { try await graph.run() }
        #expect(folder.contents == [])
    }

    @Test("GR-11 a file isn't emptied while its first buffer waits for the graph to play")
    func preroll() async throws {
        _ = try folder.write("a", Self.old)
        // The graph never plays, because the other sink gets nothing.
        let graph = try Graph(
            "videotestsrc ! filesink name=file location=\(folder.file("a")) videotestsrc ! valve drop=true ! fakesink")
        let file = try #require(graph.pipeline.element(named: "file"))
        let (buffers, continuation) = AsyncStream.makeStream(of: Void.self)
        let pad = try #require(file.staticPad("sink"))
        pad.watchArrivals { arrival in
            if arrival == .buffer { continuation.finish() }
            return true
        }
        let start = Task { try await graph.start() }
        for await _ in buffers {}
        await graph.stop()
        _ = await start.result
        #expect(try folder.read("a") == Self.old)
    }

    @Test(
        "GR-11 a muxer without input writes no file, and leaves an existing one unchanged",
        arguments: [
            "x264enc ! mp4mux", "x264enc ! mp4mux fragment-duration=1000", "x264enc ! mp4mux faststart=true",
            // flvmux is left out: in GStreamer 1.22 it doesn't end without data.
            "x264enc ! qtmux", "x264enc ! matroskamux", "vp8enc ! webmmux", "x264enc ! mpegtsmux", "avimux",
            "theoraenc ! oggmux", "wavenc",
        ])
    func emptyContainer(writer: String) async throws {
        let source = writer == "wavenc" ? "audiotestsrc" : "videotestsrc"
        for old in [Self.old, nil] {
            if let old {
                _ = try folder.write("a", old)
            } else {
                try FileManager.default.removeItem(atPath: folder.file("a"))
            }
            let graph = try Graph(
                "\(source) num-buffers=0 ! \(writer) ! filesink name=file location=\(folder.file("a"))")
            try await graph.run()
            #expect(folder.contents == (old == nil ? [] : ["a"]))
            if let old { #expect(try folder.read("a") == old) }
            #expect(graph.progress.first { $0.name == "file" }?.counts.frames == 0)
        }
    }

    @Test("GR-11 a graph that wrote no container in one run can write it in the next")
    func nextRun() async throws {
        let path = folder.file("a.mkv")
        let graph = try Graph(
            "videotestsrc num-buffers=30 ! valve name=v drop-mode=forward-sticky-events ! x264enc ! matroskamux "
                + "! filesink location=\(path)")
        for drops in [false, true, false, true, false] {
            try? FileManager.default.removeItem(atPath: path)
            try graph.element("v").setProperty("drop", to: drops)
            try await graph.run()
            #expect(FileManager.default.fileExists(atPath: path) != drops)
        }
    }

    @Test("GR-11 a muxer with data on one of two inputs writes its file")
    func halfEmptyContainer() async throws {
        let path = folder.file("a.mkv")
        try await Graph(
            """
            videotestsrc num-buffers=0 ! x264enc ! matroskamux name=m ! filesink location=\(path)
            audiotestsrc num-buffers=9 ! opusenc ! m.
            """
        ).run()
        let graph = try Graph("filesrc location=\(path) ! matroskademux ! fakesink name=sound")
        try await graph.run()
        #expect(graph.progress.first { $0.name == "sound" }?.counts.frames ?? 0 > 5)
    }

    @Test("GR-11 a branch that can't start leaves the other branches' files unchanged")
    func failedStart() async throws {
        _ = try folder.write("a", Self.old)
        // Depending on the threads, the file's first buffer may have arrived by then.
        for _ in 0..<20 {
            let graph = try Graph(
                """
                filesrc location=\(folder.file("missing")) ! fakesink
                videotestsrc ! filesink location=\(folder.file("a"))
                """)
            await #expect(throws: GraphError.self) { try await graph.run() }
            #expect(try folder.read("a") == Self.old)
        }
    }

    @Test("GR-11 the output replaces the file's content and keeps the file, even if the muxer seeks")
    func replaced() async throws {
        let path = try folder.write("a.mp4", [UInt8](repeating: 7, count: 1_000_000))
        chmod(path, 0o640)
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("hard.mp4"))
        try FileManager.default.createSymbolicLink(atPath: folder.file("link.mp4"), withDestinationPath: "a.mp4")
        let source = "videotestsrc num-buffers=20 ! video/x-raw,width=64,height=48 ! jpegenc ! qtmux"
        let graph = try Graph("\(source) ! filesink name=file location=\(folder.file("link.mp4"))")
        let new = try Graph("\(source) ! filesink location=\(folder.file("new.mp4"))")
        // Runs twice, because a graph can be started again.
        for _ in 0..<2 {
            try await graph.run()
            try? FileManager.default.removeItem(atPath: folder.file("new.mp4"))
            try await new.run()
            let counts = (try folder.read("a.mp4").count, try folder.read("new.mp4").count)
            #expect(counts.0 == counts.1, "\(counts)")
            #expect(try folder.read("hard.mp4") == (try folder.read("a.mp4")))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link.mp4")) == "a.mp4")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        let file = try #require(graph.pipeline.element(named: "file"))
        #expect(try file.property("append", as: Bool.self) == false)
        #expect(folder.contents == ["a.mp4", "hard.mp4", "link.mp4", "new.mp4"])
    }

    @Test("GR-11 a sink that is set to append still appends")
    func append() async throws {
        let path = try folder.write("a", Self.old)
        let more = try folder.write("more", [1, 2, 3])
        try await Graph("filesrc location=\(more) ! filesink location=\(path) append=true").run()
        #expect(try folder.read("a") == Self.old + [1, 2, 3])
    }

    @Test("GR-11 a handler's file is created or emptied when the first byte is written")
    func writer() throws {
        let path = try folder.write("a", Self.old)
        var writer: ByteWriter? = try ByteWriter(path: path, option: "option location of y4m", capacity: 0)
        #expect(try folder.read("a") == Self.old)
        try writer?.write("new")
        #expect(try folder.readText("a") == "new")
        try writer?.write("er")
        #expect(try folder.readText("a") == "newer")
        writer = try ByteWriter(path: folder.file("b"), option: "option location of y4m")
        try writer?.flush()
        #expect(folder.contents == ["a"])
        try writer?.write("b")
        writer = nil
        #expect(try folder.readText("b") == "b")
        #expect(throws: MediaGraphError.self) {
            try ByteWriter(path: folder.file("none/c"), option: "option location of y4m")
        }
        #expect(throws: MediaGraphError.self) { try ByteWriter(path: folder.path, option: "option location of y4m") }
    }

    @Test("GR-11 a seek past the end leaves a finished recording as it is")
    func seekAfterEnd() async throws {
        let input = folder.file("in.wav")
        try await Graph("audiotestsrc num-buffers=50 ! wavenc ! filesink location=\(input)").run()
        let graph = try Graph("filesrc location=\(input) ! wavparse ! filesink location=\(folder.file("out.raw"))")
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        let before = try folder.read("out.raw")
        #expect(!before.isEmpty)
        #expect(graph.pipeline.seek(to: .seconds(100)))
        await graph.stop()
        #expect(try folder.read("out.raw") == before)
    }

    // An exit test, because the test process may ignore SIGPIPE already.
    @Test("GR-11 a FIFO whose reader goes away is an error of its branch, and doesn't end the process")
    func readerGone() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let folder = try TemporaryFolder()
            let path = folder.file("fifo")
            mkfifo(path, 0o600)
            let reader = open(path, O_RDONLY | O_NONBLOCK)
            let graph = try Graph("videotestsrc ! filesink location=\(path)")
            let start = Task { try await graph.start() }
            var unread: CInt = 0
            while ioctl(reader, UInt(FIONREAD), &unread) == 0, unread == 0 {
                try await Task.sleep(for: .milliseconds(1))
            }
            close(reader)
            _ = await start.result
            do { _ = try await graph.waitUntilEnd() } catch {}
            await graph.stop()
        }
    }
}
