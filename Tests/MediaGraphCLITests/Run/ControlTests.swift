import Foundation
import TestSupport
import Testing

@testable import MediaGraphCLI

/// `run --control`, which changes a graph while it runs.
@Suite struct ControlTests {
    struct Reply: Decodable {
        var event: String
        var command: String?
        var message: String?
        var node: String?
        var property: String?
        var value: String?
        var fields: [String: JSONScalar]?
        var error: String?
        var frames: UInt64?
        var reason: String?
    }

    private static func events(_ output: String) throws -> [Reply] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(Reply.self, from: Data($0.utf8)) }
    }

    @Test("GR-10 a line is a command: set, get, send, help or quit; empty lines and comments are ignored")
    func lines() throws {
        #expect(try ControlCommand("set a.b=c d") == .set(node: "a", property: "b", value: "c d"))
        #expect(try ControlCommand("  set  a.b = x=1,y=2 ") == .set(node: "a", property: "b", value: "x=1,y=2"))
        #expect(try ControlCommand("set a.b=") == .set(node: "a", property: "b", value: ""))
        #expect(try ControlCommand("get a.b.c") == .get(node: "a.b", property: "c"))
        #expect(try ControlCommand("send a.bob  b. c ") == .send(node: "a", user: "bob", text: "b. c"))
        #expect(try ControlCommand("send a.b.J_C3_B6rg x") == .send(node: "a.b", user: "Jörg", text: "x"))
        #expect(try ControlCommand("send a.Jörg_1 x") == .send(node: "a", user: "Jörg_1", text: "x"))
        #expect(try ControlCommand("send a b.c") == .send(node: "a", user: nil, text: "b.c"))
        #expect(try ControlCommand("help") == .help)
        #expect(try ControlCommand("quit") == .quit)
        #expect(try ControlCommand("") == nil)
        #expect(try ControlCommand(" # set a.b=c") == nil)
    }

    @Test(
        "GR-10 the error of an invalid line shows what was expected",
        arguments: [
            ("set a.b", "expected set NODE.PROPERTY=VALUE"), ("set =1", "expected set NODE.PROPERTY=VALUE"),
            ("set a=1", "expected set NODE.PROPERTY=VALUE"), ("get", "expected get NODE.PROPERTY"),
            ("get a b.c", "expected get NODE.PROPERTY"), ("sett a.b=c", "no command \"sett\"; did you mean \"set\"?"),
            ("send", "expected send NODE.USER TEXT or send NODE TEXT"),
            ("send a.bob", "expected send NODE.USER TEXT or send NODE TEXT"),
            ("send a. x", "expected send NODE.USER TEXT or send NODE TEXT"),
            ("stop", "no command \"stop\"; try set, get, send, help or quit"),
        ])
    func wrongLines(line: String, message: String) {
        let error = #expect(throws: ControlError.self) { try ControlCommand(line) }
        #expect(error.map { "\($0)" } == message)
    }

    @Test("GR-10 commands change handlers and properties during a run; each is answered, refused ones too")
    func whileRunning() throws {
        let folder = TemporaryFolder()
        let fifo = folder.path("control")
        #expect(mkfifo(fifo, 0o600) == 0)
        let program = try LiveProgram(
            "run", "--json", "--control", fifo,
            """
            videotestsrc is-live=true name=camera ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 !
            preprocessor name=mark ! rawdatapipe name=seen handler=count
            """)
        #expect(program.waits { $0.output.contains("\"progress\"") })
        let control = try #require(FileHandle(forWritingAtPath: fifo))
        let lines = [
            "set mark.handler=pixelate", "set mark.options=block=8", "get mark.handler", "set mark.handler=grayscale",
            "get mark.options", "set mark.handler=pixelat", "set camera.pattern=ball", "set seen.resolution=90p",
            "set mrk.handler=invert", "set mark.handlr=invert", "nonsense", "get mark.handler",
        ]
        // Two writers, one after the other. The control stays open when the first writer closes the FIFO.
        try control.write(contentsOf: Data((lines.prefix(6).joined(separator: "\n") + "\n").utf8))
        try control.close()
        let second = try #require(FileHandle(forWritingAtPath: fifo))
        try second.write(contentsOf: Data((lines.dropFirst(6).joined(separator: "\n") + "\n").utf8))
        #expect(
            program.waits {
                $0.output.components(separatedBy: "\"event\":\"control\"").count == lines.count + 1
            })
        try second.close()
        program.send(SIGINT)
        #expect(program.end() == 0)
        let replies = try Self.events(program.output).filter { $0.event == "control" }
        let answers = replies.map { $0.error ?? "\($0.node ?? "").\($0.property ?? "") = \($0.value ?? "")" }
        #expect(
            answers.prefix(5) == [
                "mark.handler = pixelate", "mark.options = block=8", "mark.handler = pixelate",
                "mark.handler = grayscale", "mark.options = ",
            ])
        #expect(answers[5].contains("expected one of"), "\(answers[5])")
        #expect(answers[6].hasPrefix("camera.pattern = "), "\(answers[6])")
        #expect(answers[7].contains("locked while the element is running"), "\(answers[7])")
        #expect(answers[8] == "no element is named \"mrk\"; did you mean \"mark\"?")
        #expect(answers[9] == "preprocessor has no property \"handlr\"; did you mean \"handler\"?")
        #expect(answers[10] == "no command \"nonsense\"; try set, get, send, help or quit")
        #expect(answers[11] == "mark.handler = grayscale")
    }

    @Test("SE-11 GR-10 two programs send each other commands, and see each other's display names")
    func commands() throws {
        let folder = TemporaryFolder()
        func program(_ user: String, _ properties: String) throws -> (LiveProgram, FileHandle) {
            let fifo = folder.path(user)
            #expect(mkfifo(fifo, 0o600) == 0)
            let program = try LiveProgram(
                "run", "--json", "--control", fifo,
                "mediasession name=call room=commands-by-control user=\(user) \(properties)")
            #expect(program.waits { $0.output.contains("\"start\"") })
            return (program, try #require(FileHandle(forWritingAtPath: fifo)))
        }
        let (alice, toAlice) = try program("alice", "display-name=\"Alice Ä.\" custom-data=red")
        let (bob, toBob) = try program("bob", "")
        let joined = #"{"customData":"red","displayName":"Alice Ä.","event":"joined","node":"call","user":"alice"}"#
        #expect(bob.waits { $0.output.contains(joined) }, "\(bob.output)")
        #expect(alice.waits { $0.output.contains(#"{"event":"joined","node":"call","user":"bob"}"#) })
        let lines = [
            "set call.display-name=Al", "send call.bob  hello, \"bob\" ", "send call to everybody", "send call.carol x",
            "send cal x",
        ]
        try toAlice.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
        for line in [
            #"{"customData":"red","displayName":"Al","event":"profile","node":"call","user":"alice"}"#,
            #"{"event":"command","forAll":false,"node":"call","text":"hello, \"bob\"","user":"alice"}"#,
            #"{"event":"command","forAll":true,"node":"call","text":"to everybody","user":"alice"}"#,
        ] {
            #expect(bob.waits { $0.output.contains(line) }, "\(line) \(bob.output)")
        }
        for reply in [
            #"{"command":"send","event":"control","node":"call","user":"bob"}"#,
            #"{"command":"send","event":"control","node":"call"}"#,
            #""error":"user \"carol\" isn't in the room; other users there: bob""#,
            #""error":"no element is named \"cal\"; did you mean \"call\"?""#,
        ] {
            #expect(alice.waits { $0.output.contains(reply) }, "\(reply) \(alice.output)")
        }
        for (program, control) in [(alice, toAlice), (bob, toBob)] {
            try control.write(contentsOf: Data("quit\n".utf8))
            #expect(program.end() == 0)
        }
    }

    @Test("GR-10 commands are read from standard input, whose end doesn't end the run")
    func standardInput() throws {
        let run = try Program.shell(
            """
            printf 'get p.handler\\nhelp' | mediagraph run --json --control - \
                'videotestsrc is-live=true ! preprocessor name=p handler=invert ! fakesink' | sed '/"help"/q'
            echo ${PIPESTATUS[1]}
            """)
        #expect(run.output.contains("\"value\":\"invert\""), "\(run.output) \(run.errors)")
        #expect(run.output.hasSuffix("\n0\n"))
    }

    @Test("GR-11 a graph can't write the command's input, and a picture can't replace the graph's input")
    func ownFiles() throws {
        let folder = TemporaryFolder()
        for name in ["control", "text.pipeline"] {
            _ = try folder.write("videotestsrc num-buffers=1 ! filesink location=\(folder.path(name))", to: name)
        }
        _ = try folder.write("filesrc location=\(folder.path("x.svg")) ! fakesink", to: "read.pipeline")
        _ = try folder.write("videotestsrc ! fakesink", to: "own.svg")
        for (command, message) in [
            ("run --control control \"$(cat control)\"", "which --control reads"),
            ("run - <text.pipeline", "which this command reads"),
            ("graph read.pipeline -o x.svg", "which --output writes"),
            ("graph own.svg -o own.svg", "is the description itself: draw to another file"),
        ] {
            let run = try Program.shell("cd '\(folder.url.path)' && mediagraph \(command)")
            #expect(run.status == 2 && run.errors.contains(message), "\(command): \(run.errors)")
        }
        #expect(try folder.text("own.svg") == "videotestsrc ! fakesink")
        let open = try Self.answer(
            "set f.location=\(folder.path("b"))",
            "videotestsrc is-live=true ! filesink name=f location=\(folder.path("a"))")
        #expect(open.0.contains("f's location can't change while its file is open"), "\(open.0)")
    }

    @Test("GR-10 an unreadable control is an error before anything runs")
    func unreadable() throws {
        let missing = try Program.run("run", "--control", "/nonexistent/control", "videotestsrc ! fakesink")
        #expect(missing.status == 2)
        #expect(missing.errors.contains("No such file or directory"))
        let folder = TemporaryFolder()
        let directory = try Program.run("run", "--control", folder.url.path, "videotestsrc ! fakesink")
        #expect(directory.status == 2)
        #expect(directory.errors == "error: --control \(folder.url.path): Is a directory\n")
        let twice = try Program.run("run", "--control", "-", "-")
        #expect(twice.status == 64)
        #expect(twice.errors.contains("standard input is already the description"))
    }

    @Test("GR-3 only one of the description, the control and the elements may read standard input")
    func standardInputOnce() throws {
        let raw = "virtualmic handler=raw options=location=- ! fakesink"
        let reader = "virtualmic can't read standard input, which"
        let control = try Program.run("run", "--control", "-", raw)
        #expect(
            control.status == 2 && control.errors.contains("\(reader) is already read by --control"),
            "\(control.errors)")
        let text = try Program.shell("echo '\(raw)' | mediagraph run -")
        #expect(
            text.status == 2 && text.errors.contains("\(reader) already contains the description"), "\(text.errors)")
        for command in ["check", "run"] {
            let twice = try Program.run(command, "\(raw)  fdsrc ! fakesink")
            let second = "fdsrc can't read standard input, which is already read by another element (virtualmic)"
            #expect(twice.status == 2 && twice.errors.contains(second))
        }
        #expect(try Program.run("check", raw).status == 0)
    }

    @Test("SE-8 --control turns a session's camera off and on, and the JSON lines say who is muted")
    func mute() throws {
        struct Line: Decodable, Equatable {
            var event: String
            var user: String?
            var kind: String?
            var muted: Bool?
        }
        let folder = TemporaryFolder()
        let fifo = folder.path("control")
        #expect(mkfifo(fifo, 0o600) == 0)
        let program = try LiveProgram(
            "run", "--json", "--control", fifo,
            """
            videotestsrc is-live=true ! video/x-raw,width=16,height=16,framerate=30/1 ! call.camera
            mediasession name=call room=\(folder.url.lastPathComponent) user=alice
            """)
        #expect(program.waits { $0.output.contains("\"event\":\"stream\"") })
        let control = try #require(FileHandle(forWritingAtPath: fifo))
        try control.write(contentsOf: Data("set call.camera-off=true\n".utf8))
        #expect(program.waits { $0.output.contains("\"muted\":true") })
        try control.write(contentsOf: Data("set call.camera-off=false\nget call.camera-off\n".utf8))
        #expect(program.waits { $0.output.contains("\"muted\":false") })
        #expect(program.waits { $0.output.components(separatedBy: "\"event\":\"control\"").count == 4 })
        try control.close()
        program.send(SIGINT)
        #expect(program.end() == 0)
        let lines = try program.output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        #expect(
            lines.filter { $0.event == "muted" }
                == [true, false].map {
                    Line(event: "muted", user: "alice", kind: "video", muted: $0)
                })
        let replies = try Self.events(program.output).filter { $0.event == "control" }
        #expect(replies.map(\.value) == ["true", "false", "false"])
    }

    @Test("GR-10 a read error of the control during a run is reported, and the run continues")
    func unreadableMidway() throws {
        let run = try Program.shell(
            "mediagraph run --control - 'videotestsrc num-buffers=60 is-live=true ! fakesink' < /")
        #expect(run.status == 0)
        #expect(run.errors.contains("\nerror: --control: standard input: Is a directory\n"), "\(run.errors)")
        #expect(run.errors.contains("60 frames in"))
    }

    @Test("GR-10 a line that is too long is reported and skipped, and later lines are executed")
    func longLine() throws {
        let folder = TemporaryFolder()
        let lines = "get s.sync\n\(String(repeating: "x", count: 70_000))\nget s.async\nquit\n"
        let file = try folder.write(lines, to: "control")
        let run = try Program.run(
            "run", "--json", "--control", file, "videotestsrc is-live=true ! fakesink name=s")
        let replies = try Self.events(run.output).filter { $0.event == "control" && $0.command != "quit" }
        #expect(replies.map(\.property) == ["sync", nil, "async"], "\(run.output)")
        #expect(replies.dropFirst().first?.error == "\(file): ignored a line longer than 65536 bytes")
    }

    @Test("GR-10 no answer follows the end event")
    func end() throws {
        let folder = TemporaryFolder()
        let file = try folder.write(String(repeating: "get s.sync\n", count: 5000), to: "control")
        let run = try Program.run(
            "run", "--json", "--control", file, "videotestsrc num-buffers=1 ! fakesink name=s")
        #expect(try Self.events(run.output).last?.event == "end")
    }

    /// Returns a run's answer to one line, as text and as JSON.
    private static func answer(_ line: String, _ description: String) throws -> (text: String, json: [Reply]) {
        let folder = TemporaryFolder()
        let file = try folder.write(line + "\nquit\n", to: "control")
        let text = try LiveProgram("run", "--control", file, description)
        let json = try LiveProgram("run", "--json", "--control", file, description)
        for program in [text, json] { _ = program.end() }
        let answers = try events(json.output).filter {
            ["control", "warning"].contains($0.event) && $0.command != "quit"
                // The run may end before the first frame.
                && $0.message?.hasSuffix("received no data") != true
        }
        return (text.errors, answers)
    }

    @Test("GR-10 a structure is printed with a line for each field, and as an object in JSON")
    func structures() throws {
        let description = "videotestsrc is-live=true ! preprocessor name=p handler=invert ! fakesink"
        let (text, json) = try Self.answer("get p.stats", description)
        #expect(text.contains("\np.stats:\n"), "\(text)")
        #expect(text.contains("\n  dropped=0\n"), "\(text)")
        #expect(json.map(\.fields?["dropped"]) == [.number(0)])
        #expect(json.map(\.value) == [nil])
    }

    @Test("GR-10 a value that a node refuses is reported once, without the node's warning")
    func refusedOnce() throws {
        let description = "videotestsrc is-live=true ! preprocessor name=p handler=invert ! fakesink"
        let (text, json) = try Self.answer("set p.handler=pixelat", description)
        #expect(text.components(separatedBy: "expected one of").count == 2, "\(text)")
        #expect(json.map(\.event) == ["control"])
    }

    @Test("GR-10 the error of an unknown node or property suggests the nearest, or where they are listed")
    func nearest() throws {
        let hints = [
            ("get pipee.stats", "did you mean \"pipe\"?"), ("set pip.stats=1", "did you mean \"pipe\"?"),
            ("get nothing.stats", "named elements: fakesink0, pipe, videotestsrc0"),
            ("get pipe.stat", "did you mean \"stats\"?"), ("set pipe.handlr=x", "did you mean \"handler\"?"),
            ("get pipe.color", "mediagraph inspect preprocessor lists them"),
        ]
        let (text, _) = try Self.answer(
            hints.map(\.0).joined(separator: "\n"), "videotestsrc is-live=true ! preprocessor name=pipe ! fakesink")
        let lines = text.split(separator: "\n")
        for (line, hint) in hints {
            #expect(lines.contains { $0.hasPrefix("error: \(line): ") && $0.hasSuffix("; \(hint)") }, "\(text)")
        }
    }
}
