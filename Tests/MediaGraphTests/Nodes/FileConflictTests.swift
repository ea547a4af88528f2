import Foundation
import GStreamer
import Testing

@testable import MediaGraph

/// Tests the errors for descriptions that would destroy a file.
@Suite struct FileConflictTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.write("x.webm", [1, 2, 3])
        try FileManager.default.createSymbolicLink(atPath: folder.file("link.webm"), withDestinationPath: "x.webm")
        try FileManager.default.createSymbolicLink(atPath: folder.file("later.mkv"), withDestinationPath: "new.mkv")
        try FileManager.default.linkItem(atPath: folder.file("x.webm"), toPath: folder.file("hard.webm"))
    }

    /// Returns the errors' messages. `DIR` stands for the folder in the text and in the messages.
    private func errors(_ text: String) throws -> [String] {
        try Graph.diagnose(Description(text.replacing("DIR", with: folder.path), name: "a.pipeline"), isMadeNext: true)
            .filter { $0.severity == .error }.map { $0.message.replacing(folder.path, with: "DIR") }
    }

    @Test("GR-11 a file that is both read and written is an error at both places")
    func bothPlaces() throws {
        let text = "filesrc location=x.webm ! decodebin ! vp8enc ! webmmux ! filesink location=./x.webm"
        let found = try Graph.diagnose(Description(text, name: "a.pipeline")).filter { $0.severity == .error }
        #expect(
            found.map { $0.rendered(color: false) }.joined(separator: "\n") == """
                a.pipeline:1:18: error: filesrc reads "x.webm", which filesink writes as "./x.webm"
                   1 | filesrc location=x.webm ! decodebin ! vp8enc ! webmmux ! filesink location=./x.webm
                     |                  ^~~~~~
                a.pipeline:1:76: error: filesink writes "./x.webm", which filesrc reads as "x.webm"
                   1 | filesrc location=x.webm ! decodebin ! vp8enc ! webmmux ! filesink location=./x.webm
                     |                                                                            ^~~~~~~~ \
                write to another file: this one would be emptied before it is read
                """)
    }

    @Test("GR-11 a program can't create a graph with a file conflict, and the file stays unchanged")
    func program() throws {
        let path = folder.file("x.webm")
        #expect(throws: GraphError.self) { try Graph("filesrc location=\(path) ! filesink location=\(path)") }
        #expect(try folder.read("x.webm") == [1, 2, 3])
    }

    @Test(
        "GR-11 a file is recognized through links, URIs and patterns, in elements and in handlers",
        arguments: [
            "filesrc location=DIR/x.webm ! filesink location=DIR/link.webm",
            "filesrc location=DIR/hard.webm ! filesink location=DIR/../\("DIR/x.webm")",
            "uridecodebin uri=file://DIR/x.webm ! vp8enc ! webmmux ! filesink location=DIR/x.webm",
            "urisourcebin uri=file://DIR/x.webm ! filesink location=DIR/x.webm",
            "playbin uri=file://DIR/x.webm video-sink=\"vp8enc ! webmmux ! filesink location=DIR/x.webm\"",
            "file://DIR/x.webm ! filesink location=DIR/x.webm",
            "giosrc location=file://DIR/x.webm ! filesink location=DIR/x.webm",
            "videotestsrc ! filesink location=DIR/new.mkv videotestsrc ! filesink location=DIR/later.mkv",
            "( videotestsrc ! filesink location=DIR/a ) videotestsrc ! filesink location=DIR/a",
            "filesrc location=DIR/f-00007.jpg ! jpegdec ! jpegenc ! multifilesink location=DIR/f-%05d.jpg",
            "multifilesrc location=DIR/f-%d.jpg ! jpegdec ! jpegenc ! multifilesink location=DIR/f-%04d.jpg",
            "splitmuxsrc location=DIR/*.mp4 ! h264parse ! mp4mux ! filesink location=DIR/a.mp4",
            "videosource handler=y4m options=location=DIR/a.y4m ! rawdatapipe handler=y4m options=location=DIR/a.y4m",
            "videosource handler=y4m options=location=DIR/a.y4m ! filesink location=DIR/a.y4m",
            "virtualmic handler=wav options=location=DIR/c-mixed.wav ! virtualspeaker handler=wav "
                + "options=\"location=DIR/c-%s.wav\"",
            "virtualmic handler=raw options=location=DIR/a.pcm ! filesink location=DIR/a.pcm",
            "videotestsrc ! preprocessor handler=watermark options=image=DIR/m-001.png ! rawdatapipe handler=snapshot "
                + "options=\"location=DIR/m-%03d.png\"",
            "videotestsrc ! preprocessor handler=background options=image=DIR/m.png ! rawdatapipe "
                + "handler=contactsheet options=location=DIR/m.png",
            "videotestsrc ! rawdatapipe handler=framemd5 options=location=DIR/a videotestsrc ! rawdatapipe handler=y4m "
                + "options=location=DIR/a",
            "filesrc location=DIR/a.y4m ! y4mdec ! x264enc pass=pass1 multipass-cache-file=DIR/a.y4m ! fakesink",
            "filesrc location=DIR/a.y4m ! y4mdec ! vp8enc multipass-mode=first-pass multipass-cache-file=DIR/a.y4m "
                + "! fakesink",
            "filesrc location=DIR/x.webm ! decodebin ! x264enc ! dashsink mpd-root-path=DIR mpd-filename=x.webm",
            "filesrc location=DIR/x.webm ! fakesink videotestsrc ! vp8enc ! webmmux "
                + "! curlfilesink location=file://DIR/ file-name=x.webm",
            "videotestsrc ! x264enc ! hlssink2 location=DIR/a%d.ts videotestsrc ! x264enc ! hlssink2 location=DIR/b%d.ts",
        ])
    func refused(text: String) throws {
        let text = text.replacing("/../DIR", with: "/../\(URL(fileURLWithPath: folder.path).lastPathComponent)")
        let found = try errors(text)
        #expect(found.count == 2, "\(found)")
        #expect(found.allSatisfy { $0.contains(", which ") })
    }

    @Test(
        "GR-11 two readers of a file, and sinks that store nothing, are no conflict",
        arguments: [
            "filesrc location=DIR/x.webm ! fakesink filesrc location=DIR/link.webm ! fakesink",
            "videotestsrc ! filesink location=/dev/null videotestsrc ! filesink location=/dev/null",
            "videotestsrc ! filesink location=/dev/stderr videotestsrc ! filesink location=/dev/stderr",
            "filesrc location=DIR/x.webm ! filesink location=DIR/x%d.webm",
            "filesrc location=DIR/a.log ! fakesink videotestsrc ! x264enc multipass-cache-file=DIR/a.log ! fakesink",
            "filesrc location=DIR/f-1.jpg ! jpegdec ! jpegenc ! multifilesink location=DIR/f-1-%d.jpg",
            "filesrc location=DIR/fA.jpg ! jpegdec ! jpegenc ! multifilesink location=DIR/f%d.jpg",
            "videotestsrc ! multifilesink location=DIR/s%d.png videotestsrc ! multifilesink location=DIR/s-%d.png",
            "videotestsrc ! multifilesink location=DIR/c%d.png videotestsrc ! multifilesink location=DIR/c-1-%d.png",
            "videotestsrc ! rawdatapipe handler=framemd5 videotestsrc ! rawdatapipe handler=framemd5",
        ])
    func allowed(text: String) throws {
        // The streams of the test run itself may be files, and would then conflict.
        #expect(try errors(text).filter { !$0.contains("/dev/std") } == [])
    }

    @Test(
        "GR-11 a location that isn't a file is never reported as a missing file",
        arguments: [
            "dataurisrc uri=data:text/plain,a ! fakesink", "souphttpsrc location=example.com/a ! fakesink",
            "rtspsrc location=rtsp://example.com/a ! fakesink", "rtmp2src location=rtmp://a/b/c ! fakesink",
            "uridecodebin uri=http://example.com/a ! fakesink",
        ])
    func noFile(text: String) throws {
        #expect(try Graph.diagnose(Description(text)).filter { $0.message.contains("file") } == [])
    }

    @Test("GR-11 a property of a running graph can't be set to a file that the graph uses elsewhere")
    func setWhileRunning() throws {
        let graph = try Graph(
            """
            filesrc name=r location=\(folder.file("x.webm")) ! fakesink
            videotestsrc ! jpegenc ! multifilesink name=m location=\(folder.file("q%d.jpg"))
            videotestsrc ! rawdatapipe name=p handler=y4m options=location=\(folder.file("a.y4m"))
            """)
        let (sink, pipe) = (try graph.element("m"), try graph.element("p"))
        func conflict(_ property: String, _ value: String, of element: Element) -> String? {
            graph.fileConflict(setting: property, of: element, to: value)?.replacing(folder.path, with: "DIR")
        }
        #expect(
            conflict("location", folder.file("link.webm"), of: sink)
                == "m would write \"DIR/link.webm\", which r reads; name another file")
        #expect(conflict("location", folder.file("a.y4m"), of: sink)?.contains("which p handler=y4m writes") == true)
        #expect(conflict("options", "location=" + folder.file("x.webm"), of: pipe)?.contains("which r reads") == true)
        #expect(conflict("location", folder.file("q%05d.jpg"), of: sink) == nil)
        #expect(conflict("location", folder.file("x.webm"), of: try graph.element("r")) == nil)
    }

    @Test("GR-11 the rules for a description's files hold for properties of a running graph too")
    func setSpecialProperties() throws {
        let graph = try Graph(
            """
            filesrc name=r location=\(folder.file("x.webm")) ! fakesink
            videotestsrc ! jpegenc ! curlfilesink name=c location=file://\(folder.path)/ file-name=y
            videotestsrc ! x264enc name=first pass=pass1 multipass-cache-file=\(folder.file("log")) ! fakesink
            videotestsrc ! x264enc name=only ! fakesink
            """)
        func conflict(_ property: String, _ name: String, of element: String) throws -> String? {
            let value = property == "file-name" ? name : folder.file(name)
            return graph.fileConflict(setting: property, of: try graph.element(element), to: value)?
                .replacing(folder.path, with: "DIR")
        }
        #expect(
            try conflict("file-name", "x.webm", of: "c")
                == "c would write \"DIR/x.webm\", which r reads; name another file")
        #expect(try conflict("file-name", "z", of: "c") == nil)
        #expect(try conflict("multipass-cache-file", "x.webm", of: "first")?.contains("which r reads") == true)
        #expect(try conflict("multipass-cache-file", "x.webm", of: "only") == nil)
        #expect(try conflict("file-name", "log", of: "c")?.contains("which first writes") == true)
    }

    @Test("GR-11 reading and writing the same FIFO is no conflict")
    func fifo() throws {
        #expect(mkfifo(folder.file("fifo"), 0o600) == 0)
        #expect(
            try errors("filesrc location=DIR/fifo ! fakesink videotestsrc ! filesink location=DIR/fifo") == [])
    }

    @Test("GR-11 a description that would overwrite its own file is an error")
    func ownFile() throws {
        let path = try folder.write("own.pipeline", Array("videotestsrc ! filesink location=${HERE}/own.pipeline".utf8))
        let found = try Graph.diagnose(try Description(contentsOfFile: path)).filter { $0.severity == .error }
        #expect(found.map(\.message) == ["filesink writes \"\(path)\", which is this description's own file"])
    }

    @Test("GR-11 `check` reports a file that can't be written and an empty file name")
    func unwritable() throws {
        func found(_ text: String) throws -> [String] {
            try Graph.diagnose(Description(text.replacing("DIR", with: folder.path))).map {
                $0.message.replacing(folder.path, with: "DIR")
            }
        }
        #expect(
            try found("videotestsrc ! filesink location=DIR/none/a.raw") == [
                "the folder of \"DIR/none/a.raw\" doesn't exist"
            ])
        #expect(try found("videotestsrc ! filesink location=DIR") == ["\"DIR\" is a folder"])
        #expect(
            try found("videotestsrc ! rawdatapipe handler=y4m options=location=DIR/none/a.y4m") == [
                "the folder of \"DIR/none/a.y4m\" doesn't exist"
            ])
        #expect(
            try found("videotestsrc ! preprocessor handler=watermark options=image= ! fakesink") == [
                "the file name of preprocessor handler=watermark is empty"
            ])
    }

    @Test("GR-11 quotes, underscores, readers and an element's own files are checked in a running graph too")
    func setEscapes() throws {
        let graph = try Graph(
            """
            filesrc name=r location=\(folder.file("x.webm")) ! fakesink
            videotestsrc ! jpegenc ! multifilesink name=m location=\(folder.file("q%d.jpg"))
            videotestsrc ! x264enc ! mpegtsmux ! hlssink name=h location=\(folder.file("s%d.ts")) playlist-location=\(folder.file("l.m3u8"))
            multifilesrc name=i location=\(folder.file("f%d.png")) ! fakesink
            """)
        func conflict(_ element: String, _ property: String, _ value: String) throws -> String? {
            graph.fileConflict(setting: property, of: try graph.element(element), to: value)
        }
        let read = folder.file("x.webm")
        #expect(try conflict("m", "location", "\"\(read)\"")?.contains("which r reads") == true)
        #expect(try conflict("h", "playlist_location", read)?.contains("which r reads") == true)
        #expect(try conflict("i", "location", folder.file("q%d.jpg"))?.contains("i would read") == true)
        #expect(try conflict("h", "playlist-location", folder.file("s1.ts"))?.contains("which h writes") == true)
        let own = FileUse(.reads, folder.file("control"), by: "--control")
        #expect(
            graph.fileConflict(
                setting: "location", of: try graph.element("m"), to: folder.file("control"), besides: [own]
            )?.contains("which --control reads") == true)
        #expect(try conflict("m", "location", "\"\(folder.file("new%d.jpg"))\"") == nil)
    }
}
