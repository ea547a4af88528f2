import Foundation
import TestSupport
import Testing

/// Graphs that don't start or don't stop.
@Suite struct StandstillTests {
    /// Makes a FIFO without a writer. Opening it for reading never returns.
    private static func pipe(in folder: TemporaryFolder) -> String {
        let path = folder.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        return path
    }

    @Test(
        "GR-3 one signal ends a graph that hangs while starting, and the error names the element",
        arguments: [(SIGINT, 130 as Int32, "interrupted"), (SIGTERM, 143, "terminated")])
    func signal(_ signal: CInt, _ status: Int32, _ reason: String) throws {
        let folder = TemporaryFolder()
        let program = try LiveProgram(
            "run", "--json", "filesrc name=reader location=\(Self.pipe(in: folder)) ! fakesink")
        #expect(program.waits { $0.output.contains("\"start\"") })
        program.send(signal)
        #expect(program.end() == status)
        let events = try RunEvent.all(program.output)
        try #require(events.map(\.event) == ["start", "finishing", "error", "end"], "\(program.output)")
        #expect(events.map(\.reason) == [nil, reason, nil, "forced"])
        #expect(events[2].element == "reader")
        #expect(events[2].message == "hangs while starting")
        #expect(events[3].exitStatus == status)
    }

    @Test("GR-3 the error of a handler that hangs while starting names its node")
    func handler() throws {
        let folder = TemporaryFolder()
        let program = try LiveProgram(
            "run",
            """
            videotestsrc is-live=true ! preprocessor name=mark handler=watermark
            options="image=\(Self.pipe(in: folder))" ! fakesink
            """)
        #expect(program.waits { $0.errors.contains("fakesink\n") })
        program.send(SIGTERM)
        #expect(program.end() == 143)
        #expect(program.errors.contains("\nfinishing …\n"), "\(program.errors)")
        #expect(program.errors.contains("\nerror: mark (preprocessor) hangs while starting\n"), "\(program.errors)")
    }

    @Test("GR-3 a warning during a slow start names the element it waits for", arguments: ["--json", "--quiet"])
    func delay(format: String) throws {
        let folder = TemporaryFolder()
        let program = try LiveProgram(
            "run", format, "filesrc name=reader location=\(Self.pipe(in: folder)) ! fakesink")
        #expect(program.waits { ($0.output + $0.errors).contains("is still starting after 3 s") })
        program.send(SIGTERM)
        #expect(program.end() == 143)
        guard format == "--json" else {
            let line = "warning: reader (filesrc) is still starting after 3 s: a FIFO opens only when another program"
            #expect(program.errors.contains(line), "\(program.errors)")
            return
        }
        let warning = try #require(try RunEvent.all(program.output).first { $0.event == "warning" })
        #expect(warning.element == "reader" && warning.message == "is still starting after 3 s")
    }

    @Test(
        "GR-12 the reason for which a graph doesn't play is reported while it waits and when it stops",
        arguments: ["--json", "--quiet"])
    func standstill(format: String) throws {
        let program = try LiveProgram(
            "run", format,
            "videotestsrc ! tee name=t t. ! queue ! valve name=v drop=true ! fakesink name=a "
                + "t. ! queue ! fakesink")
        let text =
            "a hasn't received any data: v is closed. Set drop=false on v; or, to play the other branches without a, set async=false on a"
        #expect(program.waits { ($0.output + $0.errors).contains(text) })
        program.send(SIGINT)
        #expect(program.end() == 130)
        guard format == "--json" else {
            let error = "error: the graph was stopped before it was running. \(text)"
            #expect(program.errors.contains(error), "\(program.errors)")
            return
        }
        let warning = try #require(try RunEvent.all(program.output).first { $0.event == "warning" })
        #expect(warning.element == "a" && warning.message?.hasPrefix(text) == true)
    }

    @Test("GR-3 --duration ends a graph that never starts, and the run fails")
    func duration() throws {
        let folder = TemporaryFolder()
        let program = try LiveProgram(
            "run", "--json", "--duration", "1ms", "filesrc name=reader location=\(Self.pipe(in: folder)) ! fakesink")
        #expect(program.end() == 1)
        let events = try RunEvent.all(program.output)
        #expect(events.map(\.event) == ["start", "warning", "finishing", "error", "end"], "\(program.output)")
        #expect(events.map(\.reason) == [nil, nil, "duration", nil, "forced"])
        #expect(events.first { $0.event == "error" }?.element == "reader")
    }

    @Test("GR-3 streams that don't end are reported with a remedy")
    func unended() throws {
        let program = try LiveProgram(
            "run", "--quiet", "--duration", "1ms", "videotestsrc ! queue ! identity sleep-time=1000000 ! fakesink")
        #expect(program.end() == 1)
        let errors = program.errors
        let told = "error: the streams didn't end within 5 s: files may be incomplete"
        #expect(errors.contains(told), "\(errors)")
        #expect(program.errors.contains("leaky=downstream"))
    }

    @Test("GR-3 a run ends despite an element that can't be stopped, and the error names an element")
    func stopping() throws {
        let program = try LiveProgram(
            "run", "--json",
            "videotestsrc is-live=true ! identity name=sleeper sleep-time=600000000 ! rawdatapipe handler=count")
        #expect(program.waits { $0.output.contains("\"progress\"") })
        program.send(SIGINT)
        #expect(program.end() == 130)
        let error = try #require(try RunEvent.all(program.output).first { $0.event == "error" })
        #expect(error.message == "hangs while stopping")
        // The streaming thread sleeps in `sleeper`. Any element whose pad this thread is in may be the one that waits.
        #expect(error.element != nil)
        #expect(try RunEvent.all(program.output).last?.reason == "forced")
    }

    @Test("GR-13 a run whose udpsink had nobody to send to fails with a warning that names the sink")
    func unsent() throws {
        let run = try Program.run("run", "videotestsrc num-buffers=3 ! udpsink clients=\"\"")
        #expect(run.status == 3 && run.errors.contains("udpsink0 sent nothing: it has no receiver"), "\(run.errors)")
    }
}
