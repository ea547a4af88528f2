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
        // The number of frames shows that the file is whole. The live pipe may have dropped frames on a busy machine,
        // which the file has.
        let pipe = try #require(end.nodes?.first { $0.name == "seen" })
        let seen = try #require(pipe.frames) + (pipe.dropped ?? 0)
        let read = try ChildProcess.run(
            "mediagraph",
            ["run", "--json", "filesrc location=\"\(file)\" ! matroskademux ! vp8dec ! fakesink sync=false"],
            environment: Program.environment.merging(["PATH": ChildProcess.buildFolder.path + ":/usr/bin:/bin"]) { $1 })
        #expect(read.status == 0)
        #expect(try RunEvent.all(read.output).last?.frames == seen)
    }

    @Test("GR-11 an existing file is kept if the run ends before writing to it", arguments: [SIGKILL, SIGINT])
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
        #expect(program.waits(until: Self.hasProgress))
        program.send(SIGINT)
        #expect(program.sendAgain(SIGINT))
        #expect(program.end() == 130)
        #expect(try RunEvent.all(program.output).last?.reason == "forced")
    }

    @Test("GR-3 two simultaneous signals count as one, as timeout sends them to a process and its group")
    func doubled() throws {
        let program = try LiveProgram("run", "--json", "videotestsrc is-live=true ! fakesink")
        #expect(program.waits(until: Self.hasProgress))
        program.send(SIGINT)
        program.send(SIGINT)
        #expect(program.end() == 0)
        #expect(try RunEvent.all(program.output).last?.reason == "interrupted")
    }

    @Test("GR-3 a run ends when the reader of its standard output closes the pipe")
    func readerGone() throws {
        let run = try Program.shell(
            "mediagraph run --json 'videotestsrc is-live=true ! fakesink' | head -1; echo ${PIPESTATUS[0]}")
        #expect(run.output.hasSuffix("\n0\n"))
        #expect(run.output.contains("\"start\""))
    }

    @Test("GR-3 a closed standard stream isn't replaced by a file of the graph")
    func closedStreams() throws {
        let folder = TemporaryFolder()
        let file = folder.path("raw")
        let run = try Program.shell(
            "mediagraph run 'videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48,format=GRAY8 ! filesink location=\(file)' <&- >&- 2>&-"
        )
        #expect(run.status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count == 2 * 64 * 48)
    }

    @Test("GR-3 a second SIGTERM stops at once with status 143, SIGQUIT with 131, without a backtrace")
    func statuses() throws {
        let cases = try [([SIGTERM, SIGTERM], 143 as Int32), ([SIGHUP, SIGTERM], 143), ([SIGQUIT], 131)].map {
            (
                try LiveProgram(
                    "run", "--json",
                    "videotestsrc is-live=true ! identity sleep-time=60000000 ! rawdatapipe handler=count"), $0, $1
            )
        }
        for (program, signals, status) in cases {
            // In PLAYING, a frame is stuck in the sleeping element, with end-of-stream after it.
            #expect(program.waits(until: Self.hasProgress))
            program.send(signals[0])
            if signals.count > 1 { #expect(program.sendAgain(signals[1])) }
            #expect(program.end() == status)
            #expect(try RunEvent.all(program.output).last?.reason == "forced")
            #expect(!program.errors.contains("Crash") && !program.errors.contains("backtrace"), "\(program.errors)")
        }
    }

    @Test("GR-11 a forced stop names the file that may be incomplete", arguments: [[SIGQUIT], [SIGINT, SIGINT]])
    func incompleteFile(signals: [Int32]) throws {
        let folder = TemporaryFolder()
        let file = folder.path("cut.mp4")
        let program = try LiveProgram(
            "run", "--json",
            """
            videotestsrc is-live=true ! video/x-raw,format=I420 ! x264enc tune=zerolatency ! mp4mux ! filesink location=\(file)
            videotestsrc is-live=true ! identity sleep-time=60000000 ! fakesink async=false
            """)
        #expect(program.waits(until: Self.hasProgress))
        #expect(program.waits { _ in (try? Data(contentsOf: URL(fileURLWithPath: file)).count) ?? 0 > 0 })
        program.send(signals[0])
        if signals.count > 1 {
            // The first signal ends the file's branch. The second must not come before the file is whole.
            #expect(
                program.waits { _ in
                    (try? Data(contentsOf: URL(fileURLWithPath: file)))?.range(of: Data("moov".utf8)) != nil
                })
            #expect(program.sendAgain(signals[1]))
        }
        _ = program.end()
        // The first signal ends the file's branch, so after the second signal the file is whole.
        let warns = program.output.contains("cut.mp4 may be incomplete: its stream hadn't ended")
        #expect(warns == (signals.count == 1), "\(program.output)")
    }

    @Test("GR-11 the error of a full disk names the file")
    func fullDisk() throws {
        let run = try Program.run("run", "--quiet", "videotestsrc num-buffers=9 ! filesink name=f location=/dev/full")
        #expect(run.status == 1)
        #expect(run.errors.contains("(writing /dev/full, which is incomplete)"), "\(run.errors)")
    }

    @Test("GR-11 a forced stop keeps the recordings of other branches, even small ones", arguments: [1, 2])
    func recordings(signals: Int) throws {
        let folder = TemporaryFolder()
        let file = folder.path("recording.mkv")
        let program = try LiveProgram(
            "run", "--json",
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! tee name=t
            t. ! queue ! jpegenc ! matroskamux ! filesink async=false location=\(file)
            t. ! identity sleep-time=60000000 ! fakesink async=false
            """)
        #expect(program.waits(until: Self.hasProgress))
        program.send(SIGINT)
        if signals > 1 { #expect(program.sendAgain(SIGINT)) }
        #expect(program.end() == 130)
        let written = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(written.starts(with: [0x1A, 0x45, 0xDF, 0xA3]))
    }

    @Test("GR-3 a run under nohup ignores SIGHUP")
    func nohup() throws {
        let run = try Program.shell(
            """
            log=\(FileManager.default.temporaryDirectory.path)/mg-nohup.$$
            nohup mediagraph run --json 'videotestsrc is-live=true ! fakesink' 2>/dev/null >$log &
            reports() { for _ in $(seq 1200); do if [ "$(grep -c progress $log)" -ge $1 ]; then break; fi; sleep 0.05; done; }
            reports 1
            kill -HUP $!
            # The run goes on.
            reports 3
            kill -TERM $!; wait $!; echo $?; tail -1 $log; rm $log
            """)
        #expect(run.output.hasPrefix("0\n"), "\(run)")
        #expect(run.output.contains("\"reason\":\"terminated\""))
    }

    @Test("GR-11 a forced stop names handlers' files too")
    func incompleteHandlerFile() throws {
        let folder = TemporaryFolder()
        let file = folder.path("call-%s.wav")
        let program = try LiveProgram(
            "run", "--json",
            "virtualspeaker name=s handler=wav options=location=\(file) audiotestsrc is-live=true ! s.user_a")
        #expect(program.waits(until: Self.hasProgress))
        program.send(SIGQUIT)
        _ = program.end()
        #expect(program.output.contains("call-%s.wav may be incomplete"), "\(program.output)")
    }
}
