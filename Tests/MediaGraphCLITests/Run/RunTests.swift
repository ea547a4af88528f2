import Foundation
import TestSupport
import Testing

@Suite struct RunTests {
    @Test("GR-3 run exits with status 0 at end-of-stream, and prints a summary on standard error")
    func endOfStream() throws {
        let run = try Program.run("run", "videotestsrc num-buffers=5 ! fakesink name=last")
        #expect(run.status == 0)
        #expect(run.output == "")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.first == "videotestsrc num-buffers=5 ! fakesink name=last")
        #expect(lines.last?.hasPrefix("5 frames in ") == true)
        #expect(lines.last?.hasSuffix(" s · 0 dropped") == true)
    }

    @Test("GR-3 run exits with status 1 at an element's error, and names the element and the reason")
    func elementError() throws {
        let run = try Program.run("run", "filesrc name=reader location=/no/such/file ! fakesink")
        #expect(run.status == 1)
        #expect(run.errors.contains("error: reader (filesrc): Resource not found. [No such file \"/no/such/file\"]\n"))
    }

    @Test("GR-3 after an error in one branch, the files of the other branches are finished")
    func otherBranches() throws {
        let folder = TemporaryFolder()
        let path = folder.path("sound.wav")
        let run = try Program.run(
            "run", "-q",
            """
            virtualmic handler=tone ! tee name=t  t. ! queue ! wavenc ! filesink location=\(path)
            t. ! queue ! identity error-after=30 ! fakesink
            """)
        #expect(run.status == 1)
        #expect(run.errors == "error: identity0: Failed after iterations as requested.\n")
        // wavenc writes the length when its stream ends.
        let header = try Data(contentsOf: URL(fileURLWithPath: path))
        let length = header[40..<44].reversed().reduce(0) { $0 << 8 | Int($1) }
        #expect(length > 0 && length == header.count - 44)
    }

    @Test("GR-3 a failed negotiation is reported with the formats of both sides")
    func negotiation() throws {
        let folder = TemporaryFolder()
        let picture = folder.path("a.png")
        #expect(
            try Program.run("run", "videotestsrc num-buffers=1 ! pngenc ! filesink location=\(picture)").status == 0)
        let run = try Program.run(
            "run", "--json", "filesrc location=\(picture) ! pngdec name=decoder ! video/x-raw,width=7 ! fakesink")
        #expect(run.status == 1)
        let error = try #require(try RunEvent.all(run.output).first { $0.event == "error" })
        #expect(error.detail?.contains("not-negotiated") == true)
        #expect(error.formatConflict?.contains("width=7") == true, "\(error)")
    }

    @Test(
        "GR-13 a sink that received nothing is reported, even after a short run",
        arguments: [
            ("fakesrc num-buffers=0 ! fakesink", 0), ("filesrc location=FILE ! qtdemux ! aacparse ! fakesink", 3),
        ])
    func nothingReceived(text: String, status: Int32) throws {
        let folder = TemporaryFolder()
        let file = folder.path("silent.mp4")
        let made = try Program.run(
            "run", "--quiet",
            "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48,format=I420 ! x264enc ! mp4mux ! filesink location=\(file)"
        )
        #expect(made.status == 0, "\(made.errors)")
        for _ in 0..<10 {
            let run = try Program.run("run", text.replacing("FILE", with: file))
            #expect(run.status == status && run.errors.contains("fakesink0 received no data"), "\(run.errors)")
            #expect(status == 0 || run.errors.contains("gets no data"), "\(run.errors)")
        }
    }

    @Test("GR-3 the error of a muxer that can't handle a new size says how to keep the size")
    func newSize() throws {
        let source = "videotestsrc num-buffers=2 ! video/x-raw,height=48,width"
        let run = try Program.run(
            "run", "concat name=c ! jpegenc ! matroskamux ! fakesink  \(source)=64 ! c.  \(source)=96 ! c.")
        #expect(run.status == 1)
        #expect(
            run.errors.contains(
                "put for example `videoscale ! video/x-raw,width=640,height=360,pixel-aspect-ratio=1/1` before the encoder"
            ),
            "\(run.errors)")
    }

    @Test("GR-3 a handler's error ends run with status 1")
    func handlerError() throws {
        let run = try Program.run(
            "run", "videotestsrc ! rawdatapipe name=shots handler=snapshot options=location=/no/such/%d.png")
        #expect(run.status == 1)
        #expect(run.errors.contains("shots (rawdatapipe)"))
    }

    @Test("SE-3 run raises its limit of open files, for the shared memory of a large room")
    func files() throws {
        let run = try Program.shell(
            "ulimit -Sn 200; ulimit -Hn 4000; mediagraph run --quiet filesrc location=/proc/self/limits ! fdsink")
        let line = run.output.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        #expect(line?.split(separator: " ").dropFirst(3).prefix(2) == ["4000", "4000"], "\(run.output)\(run.errors)")
    }

    @Test("GR-3 run --frames ends after exactly this number of frames", arguments: [1, 2, 37])
    func frames(_ count: Int) throws {
        let run = try Program.run(
            "run", "--json", "--frames", "\(count)",
            "videosource handler=counter pace=fast options=\"width=64,height=48\" ! rawdatapipe name=frames handler=count"
        )
        #expect(run.status == 0)
        let end = try #require(try RunEvent.all(run.output).last)
        #expect(end.event == "end")
        #expect(end.reason == "end-of-stream")
        #expect(end.frames == UInt64(count))
        #expect(end.nodes?.first { $0.name == "frames" }?.frames == UInt64(count))
    }

    @Test("GR-13 run --frames warns if the streams end earlier")
    func tooFewFrames() throws {
        let run = try Program.run("run", "--frames", "10", "videotestsrc num-buffers=9 ! fakesink")
        #expect(run.status == 0)
        #expect(
            run.errors.contains("warning: the streams ended before fakesink0 had received 10 frames"), "\(run.errors)"
        )
        let whole = try Program.run("run", "--frames", "9", "videotestsrc num-buffers=9 ! fakesink")
        #expect(!whole.errors.contains("warning"), "\(whole.errors)")
    }

    @Test("GR-3 the error of a missing input file suggests a file with a similar name")
    func nearlyThere() throws {
        let folder = TemporaryFolder()
        try Data("x".utf8).write(to: URL(filePath: folder.path("notes.txt")))
        let run = try Program.run("run", "filesrc location=\(folder.path("nots.txt")) ! fakesink")
        #expect(run.status == 1)
        #expect(run.errors.contains("(did you mean \(folder.path("notes.txt"))?)"), "\(run.errors)")
    }

    @Test("GR-3 run --frames without a pipe counts at the first sink, also in buffer lists")
    func framesAtSink() throws {
        let run = try Program.run("run", "--json", "--frames", "37", "audiotestsrc ! rtpL16pay mtu=200 ! fakesink")
        #expect(run.status == 0)
        #expect(try RunEvent.all(run.output).last?.nodes?.map(\.frames) == [37])
    }

    @Test("GR-3 run --frames counts before an encoder and a muxer, so that the file is whole")
    func framesInFile() throws {
        let folder = TemporaryFolder()
        let file = folder.path("a.mkv")
        let run = try Program.run(
            "run", "--frames", "20",
            "videotestsrc ! video/x-raw,width=64,height=48 ! vp8enc deadline=1 ! queue ! matroskamux ! queue ! filesink location=\(file)"
        )
        #expect(run.status == 0, "\(run.errors)")
        let count = try Program.shell(
            "ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 '\(file)'")
        #expect(count.output == "20\n" && count.errors == "", "\(count.output) \(count.errors)")
    }

    @Test("GR-3 run --frames ends every branch and every source")
    func framesOfSeveral() throws {
        let run = try Program.run(
            "run", "--frames", "10",
            "videotestsrc ! tee name=t ! queue ! fakesink t. ! queue ! fakesink audiotestsrc is-live=true ! fakesink")
        #expect(run.status == 0)
        #expect(run.errors.contains("10 frames in"))
    }

    @Test("GR-3 run --frames refuses a graph without a pipe or a sink")
    func framesNowhere() throws {
        let run = try Program.run("run", "--frames", "10", "videotestsrc")
        #expect(run.status == 2)
        #expect(run.errors.contains("neither a rawdatapipe nor a sink"))
    }

    @Test("GR-3 run --duration ends the streams after that time")
    func duration() throws {
        let run = try Program.run("run", "--json", "--duration", "700ms", "videotestsrc is-live=true ! fakesink")
        #expect(run.status == 0)
        let end = try #require(try RunEvent.all(run.output).last)
        #expect(end.reason == "duration")
        #expect((0.69...3).contains(end.time ?? 0))
    }

    @Test("GR-3 --json prints lines for start, status, progress and end")
    func json() throws {
        let run = try Program.run(
            "run", "--json", "--duration", "2.5",
            "videosource name=cam handler=counter options=\"width=64,height=48\" ! rawdatapipe name=pipe handler=count")
        #expect(run.status == 0)
        #expect(run.errors == "")
        let events = try RunEvent.all(run.output)
        let start = try #require(events.first { $0.event == "start" })
        #expect(start.nodes?.map(\.name) == ["cam", "pipe"])
        #expect(start.nodes?.map(\.element) == ["videosource", "rawdatapipe"])
        #expect(events.filter { $0.event == "status" }.map(\.on) == [true, false])
        let progress = try #require(events.first { $0.event == "progress" })
        #expect(progress.nodes?.allSatisfy { ($0.frames ?? 0) > 0 } == true)
        #expect(events.last?.event == "end")
        #expect(events.last?.exitStatus == 0)
    }

    @Test("GR-3 --quiet prints only errors and warnings")
    func quiet() throws {
        let run = try Program.run("run", "-q", "videotestsrc num-buffers=5 ! fakesink")
        #expect(run.status == 0)
        #expect(run.output + run.errors == "")
        let failing = try Program.run("run", "-q", "filesrc location=/no/such/file ! fakesink")
        #expect(failing.status == 1)
        #expect(failing.errors.hasPrefix("error: filesrc0: Resource not found."))
    }

    @Test("GR-3 run refuses a wrong description with status 2 and shows every problem")
    func wrongDescription() throws {
        let run = try Program.run("run", "videotestsrc patern=ball ! fakesnk")
        #expect(run.status == 2)
        #expect(
            run.errors == """
                description:1:14: error: videotestsrc has no property "patern"
                   1 | videotestsrc patern=ball ! fakesnk
                     |              ^~~~~~ did you mean "pattern"?
                description:1:28: error: no element "fakesnk"
                   1 | videotestsrc patern=ball ! fakesnk
                     |                            ^~~~~~~ did you mean "fakesink"?
                2 errors

                """)
        let json = try Program.run("run", "--json", "videotestsrc patern=ball ! fakesnk")
        #expect(json.status == 2)
        #expect(try RunEvent.all(json.output).map(\.column) == [14, 28])
        #expect(json.errors == "")
    }

    @Test("GR-3 elements without a name get the names that GStreamer's users expect")
    func names() throws {
        let run = try Program.run("run", "--json", "videotestsrc num-buffers=1 ! rawdatapipe handler=count")
        #expect(try RunEvent.all(run.output).first { $0.event == "start" }?.nodes?.map(\.name) == ["rawdatapipe0"])
    }

    @Test("GR-3 GST_DEBUG_DUMP_DOT_DIR gets a file of the playing graph, and one of the failed graph")
    func dumps() throws {
        let folder = TemporaryFolder()
        let environment = ["GST_DEBUG_DUMP_DOT_DIR": folder.url.path]
        _ = try Program.run("run", "videotestsrc num-buffers=3 ! fakesink", environment: environment)
        #expect(try folder.text("mediagraph.playing.dot").hasPrefix("digraph pipeline {"))
        _ = try Program.run("run", "filesrc location=/no/such/file ! fakesink", environment: environment)
        #expect(try folder.text("mediagraph.error.dot").contains("filesrc0"))
    }

    @Test(
        "GR-3 --json refuses a description that writes to standard output, and points to the place",
        arguments: [
            ("videotestsrc ! rawdatapipe handler=framemd5", 36),
            ("videotestsrc ! rawdatapipe handler=y4m options=location=-", 48),
            ("fakesrc ! fdsink", 11), ("fakesrc ! filesink location=/dev/stdout", 29),
        ])
    func standardOutputTaken(_ description: String, _ column: Int) throws {
        let run = try Program.run("run", "--json", description)
        #expect(run.status == 2)
        let events = try RunEvent.all(run.output)
        #expect(events.map(\.event) == ["diagnostic"])
        #expect(events.map(\.column) == [column])
        #expect(events[0].message?.contains("writes to standard output") == true)
    }

    @Test("GR-3 output of elements doesn't mix with the lines of --json")
    func foreignPrints() throws {
        let run = try Program.run(
            "run", "--json", "fakesrc num-buffers=1 sizetype=fixed sizemax=16 ! fakesink dump=true")
        #expect(run.status == 0)
        #expect(try RunEvent.all(run.output).last?.event == "end")
        #expect(run.errors.contains("00 00 00"))
    }

    @Test("GR-3 without --json, only the handler writes to standard output")
    func handlerOutput() throws {
        let run = try Program.run("run", "videotestsrc num-buffers=2 ! rawdatapipe handler=framemd5")
        #expect(run.output.hasPrefix("#format: frame checksums\n"))
        #expect(run.output.split(separator: "\n").count { !$0.hasPrefix("#") } == 2)
    }

    @Test("GR-3 with --json, errors before the run are JSON too, and nothing else is printed")
    func earlyErrors() throws {
        for arguments in [["/no/such.pipeline"], ["--load", "/no/such.so", "fakesrc ! fakesink"]] {
            let run = try ChildProcess.run(
                Program.path, ["run", "--json"] + arguments, environment: Program.environment)
            #expect(run.status != 0)
            #expect(run.errors == "")
            let events = try RunEvent.all(run.output)
            #expect(events.map(\.event) == ["error"])
            #expect(events[0].message?.contains("/no/such") == true)
        }
        let unused = try Program.run("run", "--json", "fakesrc num-buffers=1 ! fakesink", "NAME=1")
        #expect(unused.errors == "")
        #expect(try RunEvent.all(unused.output).first?.event == "warning")
    }

    @Test("GR-3 --json has the messages that elements post, and --messages prints them")
    func messages() throws {
        let description = "audiotestsrc num-buffers=10 ! level name=meter ! fakesink"
        let json = try RunEvent.all(try Program.run("run", "--json", description).output)
        let message = try #require(json.first { $0.event == "message" })
        #expect(message.element == "meter")
        #expect(message.message == "level")
        #expect(message.fields?["duration"] == .number(100_000_000))
        #expect(try Program.run("run", "--messages", description).errors.contains("\nmeter: level, "))
        #expect(try !Program.run("run", description).errors.contains("meter: level"))
    }

    @Test("GR-3 run --frames counts at the first pipe of the text; the other pipe may get more frames")
    func framesOfTwoPipes() throws {
        let run = try Program.run(
            "run", "--json", "--frames", "10",
            """
            videotestsrc ! tee name=t
            t. ! queue ! videorate ! video/x-raw,framerate=15/1 ! rawdatapipe name=first handler=count
            t. ! queue ! rawdatapipe name=second handler=count
            """)
        #expect(run.status == 0)
        let nodes = try #require(try RunEvent.all(run.output).last?.nodes)
        #expect(nodes.first { $0.name == "first" }?.frames == 10)
        #expect(nodes.first { $0.name == "second" }?.frames ?? 0 > 10)
    }

    @Test("GR-3 run warns of a pipe without a handler, and runs")
    func withoutHandler() throws {
        let run = try Program.run("run", "videotestsrc num-buffers=2 ! rawdatapipe")
        #expect(run.status == 0)
        #expect(run.errors.contains("description:1:30: warning: a rawdatapipe without a handler delivers no frames"))
        #expect(run.errors.contains("2 frames in"))
    }

    @Test("GR-2 run refuses a loop, which would crash GStreamer")
    func loop() throws {
        let run = try Program.run("run", "identity name=a ! identity name=b ! a.")
        #expect(run.status == 2)
        #expect(run.errors.contains("linked in a loop"))
    }

    @Test(
        "GR-3 a run with a video sink works without a display, or reports why it can't",
        arguments: [
            ("videotestsrc num-buffers=3 ! autovideosink", 0), ("videotestsrc num-buffers=3 ! fpsdisplaysink", 0),
            ("playbin uri=file://FILE", 0), ("playbin3 uri=file://FILE", 0),
            ("videotestsrc num-buffers=3 ! dfbvideosink", 2),
            ("videotestsrc num-buffers=3 ! fpsdisplaysink video-sink=dfbvideosink", 2),
        ])
    func withoutDisplay(_ text: String, _ status: Int32) throws {
        let folder = TemporaryFolder()
        let file = folder.path("v.mkv")
        let made = try Program.run(
            "run", "-q", "videotestsrc num-buffers=3 ! vp8enc ! matroskamux ! filesink location=\(file)")
        #expect(made.status == 0)
        let run = try Program.run(
            "run", text.replacing("FILE", with: file), environment: ["DISPLAY": "", "WAYLAND_DISPLAY": ""])
        #expect(run.status == status, "\(run.errors)")
        #expect(run.errors.contains("display") || run.errors.contains("/dev/fb0"))
        // The sink that replaces the display counts as having received data (GR-13).
        #expect(!run.errors.contains("received no data"), "\(run.errors)")
    }

    @Test(
        "GR-11 what is appended to a file by the shell keeps what the file had",
        arguments: ["rawdatapipe handler=framemd5 options=location=/dev/stdout", "filesink location=/dev/stdout"])
    func appended(sink: String) throws {
        let folder = TemporaryFolder()
        let log = try folder.write("keep\n", to: "log")
        let run = try Program.shell(
            "mediagraph run -q 'videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=16,height=16 ! \(sink)' >> '\(log)'"
        )
        #expect(run.status == 0, "\(run.errors)")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: log))
        #expect(bytes.starts(with: Data("keep\n".utf8)) && bytes.count > 5)
    }
}
