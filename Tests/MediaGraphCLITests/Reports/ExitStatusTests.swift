import TestSupport
import Testing

/// Each cause of failure has the same exit status in all commands.
@Suite struct ExitStatusTests {
    @Test(
        "GR-3 the exit status is 2 if something that the command line names doesn't exist",
        arguments: [
            ["run", "/no/such.pipeline"], ["check", "/no/such.pipeline"], ["graph", "/no/such.pipeline"],
            ["run", "--load", "/no/such.so", "fakesrc ! fakesink"],
            ["check", "--load", "/no/such.so", "fakesrc ! fakesink"],
            ["graph", "--load", "/no/such.so", "fakesrc ! fakesink"], ["inspect", "--load", "/no/such.so"],
            ["run", "--control", "/no/such", "fakesrc ! fakesink"], ["inspect", "/no/such"],
        ])
    func missing(_ arguments: [String]) throws {
        let run = try ChildProcess.run(Program.path, arguments, environment: Program.environment)
        #expect(run.status == 2)
        #expect(run.errors.hasPrefix("error: ") && run.errors.contains("/no/such"), "\(run.errors)")
    }

    @Test("GR-3 the help of every command lists its exit statuses", arguments: ["run", "check", "inspect", "graph"])
    func documented(_ command: String) throws {
        let help = try Program.run("help", command).output
        #expect(help.contains("EXIT STATUS\n"))
        for status in ["0", "2", "64"] { #expect(help.contains("\n  \(status)  "), "\(status)") }
    }

    @Test("GR-3 closed or full standard output is an error of a handler that writes to it")
    func closedOutput() throws {
        for handler in ["framemd5", "y4m options=location=-"] {
            for output in ["&-", "/dev/full"] {
                let run = try Program.shell(
                    "mediagraph run 'videotestsrc num-buffers=5 ! rawdatapipe handler=\(handler)' >\(output)")
                #expect(run.status == 1, "\(handler) \(output)")
                #expect(run.errors.contains("writing standard output: "), "\(run.errors)")
            }
        }
        #expect(try Program.shell("mediagraph run 'videotestsrc num-buffers=5 ! fakesink' >&-").status == 0)
    }

    @Test(
        "GR-3 the status is 141, without an error, if the reader of an element's output closes the pipe",
        arguments: ["rawdatapipe handler=framemd5", "fdsink"])
    func readerGone(_ sink: String) throws {
        let run = try Program.shell("mediagraph run 'videotestsrc ! \(sink)' | head -c 1; echo \" ${PIPESTATUS[0]}\"")
        #expect(run.output.hasSuffix(" 141\n"), "\(run.errors)")
        #expect(!run.errors.contains("error"), "\(run.errors)")
    }

    @Test("GR-4 it is an error if text can't be written", arguments: ["--help", "help run", "--version", "inspect"])
    func full(_ arguments: String) throws {
        for output in ["/dev/full", "&-"] {
            let run = try Program.shell("mediagraph \(arguments) >\(output)")
            #expect(run.status == 1)
            #expect(run.errors.hasPrefix("error: can't write to standard output: "), "\(run.errors)")
        }
    }
}
