import Foundation
import TestSupport
import Testing

@Suite struct SignalTests {
    private static func hasProgress(_ program: LiveProgram) -> Bool { program.output.contains("\"progress\"") }

    @Test(
        "GR-3 Ctrl-C, SIGTERM and SIGHUP finish files",
        arguments: [(SIGINT, "interrupted"), (SIGTERM, "terminated"), (SIGHUP, "hung-up")])
    func finishesFiles(_ signal: CInt, _ reason: String) throws {
        let folder = TemporaryFolder()
        let file = folder.path("a b.mkv")
        let program = try LiveProgram(
            "run", "--json",
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=30/1 ! tee name=t
            t. ! queue ! vp8enc deadline=1 ! matroskamux ! filesink location="\(file)"
            t. ! queue ! rawdatapipe name=seen handler=count backpressure=block
            """)
        #expect(program.waits(until: Self.hasProgress))
        program.send(signal)
        #expect(program.end() == 0)
        let end = try #require(try RunEvent.all(program.output).last)
        #expect(end.reason == reason)
        // A file that was cut off has no duration, and its last cluster is open.
        // A busy machine may have cost the live pipe a frame, which the file has.
        let pipe = try #require(end.nodes?.first { $0.name == "seen" })
        let seen = try #require(pipe.frames) + (pipe.dropped ?? 0)
        let read = try ChildProcess.run(
            "mediagraph",
            ["run", "--json", "filesrc location=\"\(file)\" ! matroskademux ! vp8dec ! fakesink sync=false"],
            environment: Program.environment.merging(["PATH": ChildProcess.buildFolder.path + ":/usr/bin:/bin"]) { $1 })
        #expect(read.status == 0)
        #expect(try RunEvent.all(read.output).last?.frames == seen)
    }

    @Test("GR-11 an old file is whole after SIGKILL, as long as nothing was written", arguments: [SIGKILL, SIGINT])
    func keepsOldFile(_ signal: CInt) throws {
        let folder = TemporaryFolder()
        let file = try folder.write("what was there", to: "a.mkv")
        let program = try LiveProgram(
            "run", "--json",
            """
            videotestsrc is-live=true ! tee name=t t. ! queue ! fakesink
            t. ! queue ! valve drop=true ! filesink location="\(file)"
            """)
        #expect(program.waits(until: Self.hasProgress))
        program.send(signal)
        _ = program.end()
        #expect(try folder.text("a.mkv") == "what was there")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["a.mkv"])
    }

    @Test("GR-3 a second Ctrl-C stops at once with status 130")
    func secondSignal() throws {
        let program = try LiveProgram(
            "run", "--json", "videotestsrc is-live=true ! identity sleep-time=60000000 ! rawdatapipe handler=count")
        #expect(program.waits { $0.output.contains("\"start\"") })
        Thread.sleep(forTimeInterval: 0.5)
        program.send(SIGINT)
        #expect(program.waits { $0.output.contains("\"finishing\"") })
        Thread.sleep(forTimeInterval: 0.5)
        program.send(SIGINT)
        #expect(program.end() == 130)
        #expect(try RunEvent.all(program.output).last?.reason == "forced")
    }

    @Test("GR-3 two signals in a moment are one, as timeout sends them to a process and its group")
    func doubled() throws {
        let program = try LiveProgram("run", "--json", "videotestsrc is-live=true ! fakesink")
        #expect(program.waits(until: Self.hasProgress))
        program.send(SIGINT)
        program.send(SIGINT)
        #expect(program.end() == 0)
        #expect(try RunEvent.all(program.output).last?.reason == "interrupted")
    }

    @Test("GR-3 a reader of standard output that goes away ends the run")
    func readerGone() throws {
        let run = try Program.shell(
            "mediagraph run --json 'videotestsrc is-live=true ! fakesink' | head -1; echo ${PIPESTATUS[0]}")
        #expect(run.output.hasSuffix("\n0\n"))
        #expect(run.output.contains("\"start\""))
    }

    @Test("GR-3 a stream that the caller closed isn't given to a file of the graph")
    func closedStreams() throws {
        let folder = TemporaryFolder()
        let file = folder.path("raw")
        let run = try Program.shell(
            "mediagraph run 'videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48,format=GRAY8 ! filesink location=\(file)' <&- >&- 2>&-"
        )
        #expect(run.status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count == 2 * 64 * 48)
    }

    @Test("GR-3 a second SIGTERM stops at once with status 143, SIGQUIT with 131, without a word of Swift's")
    func statuses() throws {
        for (signals, status) in [([SIGTERM, SIGTERM], 143 as Int32), ([SIGHUP, SIGTERM], 143), ([SIGQUIT], 131)] {
            let program = try LiveProgram(
                "run", "--json", "videotestsrc is-live=true ! identity sleep-time=60000000 ! rawdatapipe handler=count")
            // From PLAYING on a frame is stuck, and end-of-stream behind it.
            #expect(program.waits(until: Self.hasProgress))
            for (index, signal) in signals.enumerated() {
                // Two within a moment would be one request.
                if index > 0 {
                    #expect(program.waits { $0.output.contains("\"finishing\"") })
                    Thread.sleep(forTimeInterval: 0.5)
                }
                program.send(signal)
            }
            #expect(program.end() == status)
            #expect(try RunEvent.all(program.output).last?.reason == "forced")
            #expect(!program.errors.contains("Crash") && !program.errors.contains("backtrace"), "\(program.errors)")
        }
    }

    @Test("GR-3 nohup keeps a run from SIGHUP")
    func nohup() throws {
        let run = try Program.shell(
            """
            nohup mediagraph run --json --duration 2 'videotestsrc is-live=true ! fakesink' 2>/dev/null >$TMPDIR/mg-nohup.$$ &
            until grep -q progress $TMPDIR/mg-nohup.$$; do sleep 0.05; done
            kill -HUP $!; wait $!; echo $?; tail -1 $TMPDIR/mg-nohup.$$; rm $TMPDIR/mg-nohup.$$
            """.replacingOccurrences(of: "$TMPDIR", with: FileManager.default.temporaryDirectory.path))
        #expect(run.output.hasPrefix("0\n"), "\(run)")
        #expect(run.output.contains("\"reason\":\"duration\""))
    }
}
