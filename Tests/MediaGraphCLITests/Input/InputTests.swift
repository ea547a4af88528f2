import Foundation
import Testing

@testable import MediaGraphCLI

@Suite struct InputTests {
    private static func exists(_ path: String) -> Bool { path == "plain" || path == "a b.txt" }

    @Test(
        "GR-3 a word is recognized as a file or as a description",
        arguments: [
            ("-", DescriptionInput.standardInput), ("plain", .file("plain")), ("a b.txt", .file("a b.txt")),
            ("call.pipeline", .file("call.pipeline")), ("my call.pipeline", .file("my call.pipeline")),
            ("./call", .file("./call")), ("call.txt", .file("call.txt")), ("videotestsrc", .text("videotestsrc")),
            ("videotestsrc!fakesink", .text("videotestsrc!fakesink")), ("", .text("")),
            ("file:///a.mkv", .text("file:///a.mkv")), ("filesrc location=/a", .text("filesrc location=/a")),
            ("${CAMERA:-x.y}", .text("${CAMERA:-x.y}")), ("a !\nb.pipeline", .text("a !\nb.pipeline")),
        ])
    func kind(_ word: String, _ expected: DescriptionInput) {
        #expect(DescriptionInput(word: word, fileExists: Self.exists) == expected)
    }

    @Test("GR-3 words are joined as gst-launch joins them")
    func joined() {
        #expect(
            DescriptionInput.joined(["filesrc", "location=a b", "!", "fakesink"]) == "filesrc location=a\\ b ! fakesink"
        )
        #expect(DescriptionInput.joined(["x", "text=\"a b\""]) == "x text=\"a b\"")
        #expect(DescriptionInput.joined(["x", #"text="a \" b" c"#]) == #"x text="a \" b"\ c"#)
    }

    @Test("GR-3 a command takes one input, or several of the same kind")
    func several() throws {
        #expect(throws: InputError.missing) { try DescriptionInput.single([]) }
        #expect(throws: InputError.tooMany(after: "a.pipeline", "b")) {
            try DescriptionInput.single(["a.pipeline", "b"])
        }
        #expect(try DescriptionInput.single(["a", "!", "b"]) == .text("a ! b"))
        #expect(
            try DescriptionInput.several(["a.pipeline", "b.pipeline"]) == [.file("a.pipeline"), .file("b.pipeline")])
        #expect(try DescriptionInput.several(["a ! b", "c ! d"]) == [.text("a ! b"), .text("c ! d")])
        #expect(try DescriptionInput.several(["a", "!", "b"]) == [.text("a ! b")])
        #expect(throws: InputError.self) { try DescriptionInput.several(["a.pipeline", "fakesink"]) }
    }

    @Test("GR-3 only words in capital letters are variables")
    func variables() {
        let words = CommandWords(["a", "CAMERA=/dev/video0", "width=3", "_X1=", "1A=b", "Ab=c", "URL=a=b"])
        #expect(words.rest == ["a", "width=3", "1A=b", "Ab=c"])
        #expect(words.variables == ["CAMERA": "/dev/video0", "_X1": "", "URL": "a=b"])
    }

    @Test(
        "GR-3 a duration has units, or is written like a clock",
        arguments: [
            ("10", 10), ("2.5", 2.5), ("90s", 90), ("500ms", 0.5), ("1m30s", 90), ("1h", 3600), ("1:30", 90),
            ("1:02:30.5", 3750.5), ("90:00", 5400),
        ])
    func durations(_ text: String, _ seconds: Double) throws {
        #expect(try CommandDuration(parsing: text).seconds == seconds)
    }

    @Test(
        "GR-3 the error of an invalid duration shows valid ones",
        arguments: [
            ("0", .notPositive), ("0s", .notPositive), ("-1", .notPositive), ("-1m30s", .notPositive),
            ("99999999999", .tooLong), ("", .unreadable), ("1x", .unreadable), ("1m30", .unreadable),
            ("nan", .unreadable), ("1e3", .unreadable), (".", .unreadable), ("-", .unreadable), ("--json", .unreadable),
            ("1:60", .unreadable), ("1:2:3:4", .unreadable), ("1:", .unreadable), ("1.5:00", .unreadable),
        ] as [(String, CommandDuration.Problem)])
    func wrongDurations(_ text: String, _ problem: CommandDuration.Problem) throws {
        #expect(throws: problem) { try CommandDuration(parsing: text) }
        let run = try Program.run("run", "--duration", text, "fakesrc ! fakesink")
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("error: The value '\(text)' is invalid for '--duration <time>': \(problem)\n"))
    }

    @Test("GR-13 --from may be 0")
    func beginning() throws {
        #expect(try CommandDuration(parsing: "0", mayBeZero: true).seconds == 0)
        #expect(throws: CommandDuration.Problem.notPositive) { try CommandDuration(parsing: "-1", mayBeZero: true) }
        #expect(try Program.run("run", "fakesrc num-buffers=3 ! fakesink", "--from", "0").status == 0)
    }

    @Test(
        "GR-3 the error of an invalid number of frames shows valid ones",
        arguments: [
            ("0", .zero), ("-5", .unreadable), ("ten", .unreadable), ("2.5", .unreadable), ("10s", .time("10s")),
        ]
            as [(String, FrameCount.Problem)])
    func wrongFrameCounts(_ text: String, _ problem: FrameCount.Problem) throws {
        let run = try Program.run("run", "--frames", text, "fakesrc ! fakesink")
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("error: The value '\(text)' is invalid for '--frames <count>': \(problem)\n"))
    }

    @Test("GR-3 spaces around the = of a variable are reported as one mistake")
    func spacedVariable() {
        #expect(throws: InputError.spacedVariable("FILE", value: "a.mp4")) {
            try DescriptionInput.single(["x.pipeline", "FILE", "=", "a.mp4"])
        }
        #expect(throws: InputError.spacedVariable("FILE", value: "a.mp4")) {
            try DescriptionInput.several(["filesrc", "location=${FILE}", "!", "fakesink", "FILE", "=", "a.mp4"])
        }
        #expect(throws: Never.self) {
            try DescriptionInput.single(["fakesrc", "num-buffers", "=", "3", "!", "fakesink"])
        }
    }

    @Test("GR-3 a word after a quoted description is an error, and isn't joined to it")
    func wordBehindDescription() {
        #expect(throws: InputError.tooMany(after: "a ! b", "c")) { try DescriptionInput.single(["a ! b", "c"]) }
    }

    @Test("GR-3 check warns of a variable with two values, and of one that the description lacks")
    func variableWarnings() throws {
        let twice = try Program.run("check", "fakesrc num-buffers=${N} ! fakesink", "N=1", "N=2", "M=3")
        #expect(twice.errors.contains("warning: N was given twice; the last value, \"2\", is used\n"))
        #expect(twice.errors.contains("warning: the description has no variable \"M\"; its variables: N\n"))
        let missing = try Program.run("check", "fakesrc num-buffers=${n} ! fakesink", "N=1")
        #expect(!missing.errors.contains("warning:"), "\(missing.errors)")
    }

    @Test("GR-3 run reads a file, standard input and plain words, with variables")
    func sources() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("# one frame\nvideotestsrc num-buffers=${COUNT:-1} ! ${SINK}\n", to: "one.pipeline")
        let fromFile = try Program.run("run", file, "SINK=fakesink", "COUNT=3")
        #expect(fromFile.status == 0)
        #expect(fromFile.errors.hasPrefix("one: one frame\n"))
        #expect(fromFile.errors.contains("3 frames in"))
        let fromInput = try Program.shell("mediagraph run - SINK='fakesink name=x' < '\(file)'")
        #expect(fromInput.status == 0)
        #expect(fromInput.errors.contains("1 frame in"))
        let closed = try Program.shell("mediagraph run - <&-")
        #expect(closed.status == 2)
        #expect(closed.errors.hasPrefix("<stdin>:1:1: error: the description is empty\n"))
        let words = try Program.shell("mediagraph run videotestsrc num-buffers=2 ! 'video/x-raw, width=64' ! fakesink")
        #expect(words.status == 0)
        #expect(words.errors.contains("2 frames in"))
    }

    @Test("VM-2 the wav handler plays a file that is redirected to standard input")
    func soundFromInput() throws {
        let folder = TemporaryFolder()
        let (input, output) = (folder.path("in.wav"), folder.path("out.wav"))
        let made = try Program.run(
            "run",
            "virtualmic pace=fast handler=tone options=\"seconds=0.2,rate=48000\" ! wavenc ! filesink location=\(input)"
        )
        #expect(made.status == 0)
        let played = try Program.shell(
            "mediagraph run 'virtualmic pace=fast handler=wav options=location=- ! wavenc ! filesink location=\(output)' "
                + "< '\(input)'")
        #expect(played.status == 0, "\(played.errors)")
        #expect(!played.errors.contains("warning:"), "\(played.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Data(contentsOf: URL(fileURLWithPath: input)))
    }

    @Test("GR-3 pipes, FIFOs and /dev/stdin are read to their end, and an empty file is an error")
    func pipes() throws {
        let substitution = try Program.shell("mediagraph check <(echo 'fakesrc !'; echo fakesink)")
        #expect(substitution.output.hasSuffix(": fine, 2 elements\n"), "\(substitution.errors)")
        let input = try Program.shell("echo 'fakesrc ! fakesink' | mediagraph check /dev/stdin")
        #expect(input.output == "/dev/stdin: fine, 2 elements\n", "\(input.errors)")
        let folder = TemporaryFolder()
        let fifo = folder.path("fifo")
        let named = try withExtendedLifetime(folder) {
            try Program.shell(
                "mkfifo '\(fifo)'; echo 'fakesrc ! fakesink' >'\(fifo)' & mediagraph check '\(fifo)'")
        }
        #expect(named.output == "\(fifo): fine, 2 elements\n", "\(named.errors)")
        let nothing = try Program.run("check", "/dev/null")
        #expect(nothing.status == 2)
        #expect(nothing.errors.hasPrefix("/dev/null:1:1: error: the description is empty\n"))
    }

    @Test("GR-3 the message about a mistyped variable or file suggests the nearest name")
    func nearMisses() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("${CAMERA:-videotestsrc num-buffers=1} ! fakesink", to: "call.pipeline")
        let variable = try Program.run("run", file, "CAMRA=x")
        #expect(variable.status == 0)
        #expect(
            variable.errors.hasPrefix("warning: the description has no variable \"CAMRA\"; did you mean \"CAMERA\"?\n"))
        let missing = try Program.run("run", folder.path("cal.pipeline"))
        #expect(missing.status == 2)
        #expect(
            missing.errors
                == "error: there is no file \"\(folder.path("cal.pipeline"))\"; did you mean \"\(file)\"?\n")
        let undefined = try Program.run("run", "${SOURCE} ! fakesink")
        #expect(undefined.status == 2)
    }

    @Test("GR-3 a wrong command line ends with status 64 and the command's usage")
    func usage() throws {
        for arguments in [
            ["run"], ["run", "a.pipeline", "b"], ["run", "--frames", "0", "x"], ["run", "--duration", "no", "x"],
        ] {
            let run = try Program.shell("mediagraph \(arguments.joined(separator: " "))")
            #expect(run.status == 64)
            #expect(run.errors.contains("Usage: mediagraph run "), "\(run.errors)")
        }
    }
}
