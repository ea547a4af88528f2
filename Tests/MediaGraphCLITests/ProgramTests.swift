import Testing

@Suite struct ProgramTests {
    @Test("GR-4 --version prints the versions of the program and of GStreamer")
    func version() throws {
        let run = try Program.run("--version")
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("mediagraph 0.1.0 (GStreamer 1."))
    }

    @Test("GR-4 help fits 80 columns, except for the usage line", arguments: ["run", "check", "inspect", "graph"])
    func help(_ command: String) throws {
        let run = try Program.run("help", command, environment: ["COLUMNS": "80"])
        #expect(run.status == 0)
        #expect(run.output.contains("\nEXAMPLES\n"))
        for line in run.output.split(separator: "\n") where !line.hasPrefix("USAGE") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(
        "GR-4 a mistyped command gets the nearest command as a hint, and a description how to run it",
        arguments: [
            ("rnu x", "there is no command \"rnu\"; did you mean \"run\"?"),
            (
                "videotestsrc ! fakesink",
                "there is no command \"videotestsrc\"; to run a description, write mediagraph run before it"
            ),
            (
                "run -e videotestsrc ! fakesink",
                "Unknown option '-e'; leave it out: Ctrl-C ends the streams and finishes files"
            ),
            ("run -v x", "Unknown option '-v'; use --messages; `mediagraph graph` shows the formats of all links"),
            ("help chekc", "there is no command \"chekc\"; did you mean \"check\"?"),
            (
                "call.pipeline",
                "there is no command \"call.pipeline\"; to run the description, write mediagraph run call.pipeline"
            ),
            (
                "nonsense",
                "there is no command \"nonsense\"; the commands are run, check, inspect, graph, devices, doctor, help"
            ),
        ])
    func mistyped(_ arguments: String, _ message: String) throws {
        let run = try Program.shell("mediagraph \(arguments)")
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("error: \(message)\nUsage: mediagraph "), "\(run.errors)")
    }

    @Test("GR-4 the program prints completion scripts for three shells", arguments: ["bash", "zsh", "fish"])
    func completions(_ shell: String) throws {
        let run = try Program.run("--generate-completion-script", shell)
        #expect(run.status == 0)
        #expect(run.output.contains("mediagraph"))
        #expect(run.output.contains("inspect --names"))
    }

    @Test("GR-4 a reader that closes the output early causes no message")
    func brokenPipe() throws {
        let run = try Program.shell("mediagraph inspect videotestsrc | head -1")
        #expect(run.errors == "")
    }
}
