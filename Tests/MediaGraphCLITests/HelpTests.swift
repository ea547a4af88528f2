import Foundation
import TestSupport
import Testing

@testable import MediaGraphCLI

/// The texts of `--help` are correct.
@Suite struct HelpTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the lines of a help text that run the program or pipe text to it.
    private static func lines(of command: String) throws -> [String] {
        let arguments = command == "mediagraph" ? ["--help"] : [command, "--help"]
        let help = try ChildProcess.run(Program.path, arguments, environment: ["COLUMNS": "80"]).output
        return help.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.hasPrefix("mediagraph ") || $0.contains("| mediagraph ") }
    }

    @Test(
        "GR-4 every example in a help text is a description without an error or a warning",
        arguments: ["mediagraph", "run", "check", "graph"])
    func examples(_ command: String) throws {
        let folder = TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            at: folder.url.appendingPathComponent("Pipelines"),
            withDestinationURL: Self.root.appendingPathComponent("Pipelines"))
        for name in ["call.pipeline", "mine.pipeline"] {
            _ = try folder.write(
                "videotestsrc ! identity name=${ROOM:-x} ! preprocessor name=blur handler=invert ! fakesink", to: name)
        }
        _ = try folder.write("", to: "clip.mkv")
        let examples = try Self.lines(of: command).filter { !$0.hasPrefix("mediagraph inspect") }
        #expect(!examples.isEmpty)
        for example in examples {
            // Removes options that `check` doesn't have, and the commands before and after a pipe.
            var line = example.replacing(/^.*\| (?=mediagraph)/, with: "").replacing(/\ \| .*$/, with: "")
            line = line.replacing(/^mediagraph (run|graph|check)/, with: "mediagraph check")
            line = line.replacing(/\ (--frames|--duration|--load|--control|-o) \S+/, with: "").replacing(
                " --json", with: "")
            let check = try Program.shell("cd '\(folder.url.path)'; export DISPLAY=:0; \(line)")
            #expect(check.status == 0 && check.errors == "", "\(example): \(check.errors)")
        }
    }

    @Test("GR-4 every example in inspect's help succeeds")
    func inspectExamples() throws {
        let examples = try Self.lines(of: "inspect")
        #expect(examples.count == 4)
        for example in examples { #expect(try Program.shell(example).status == 0, "\(example)") }
    }

    @Test("GR-3 the help lists every event of --json with all its fields")
    func events() throws {
        let folder = TemporaryFolder()
        let control = try folder.write("get p.stats\nset p.resolution=90p\nget p.handler\nget n.x\n", to: "control")
        let mute = try folder.write("set call.camera-off=true\n", to: "mute")
        let runs = [
            [
                "--duration", "1200ms", "--control", mute,
                "videotestsrc is-live=true ! call.camera mediasession name=call room=muted user=dan",
            ],
            [
                "--duration", "1200ms", "--control", control,
                """
                videosource handler=counter ! alphachannel enabled=true ! videoconvert ! rawdatapipe name=p handler=count
                audiotestsrc is-live=true ! level ! fakesink
                """, "UNUSED=1",
            ],
            ["filesrc location=/no/such ! fakesink"], ["fakesnk"],
            ["devicesource source=\"videotestsrc is-live=true num-buffers=3\" ! fakesink"],
        ]
        var seen: [String: Set<String>] = [:]
        func add(_ line: Substring) throws {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let event = try #require(object["event"] as? String)
            seen[event, default: []].formUnion(object.keys)
        }
        for arguments in runs {
            let run = try LiveProgram(arguments: ["run", "--json"] + arguments)
            _ = run.end()
            for line in run.output.split(separator: "\n") { try add(line) }
        }
        // A user who joins, hangs and leaves.
        let session = try LiveProgram(
            "run", "--json",
            """
            mediasession name=alices room=help user=alice  sharesource handler=counter ! alices.share
            videosource handler=counter ! call.camera  mediasession name=call room=help user=carol
            call.video_bob ! rawdatapipe name=bobs handler=count
            sharesource handler=counter ! call.share
            """)
        let fifo = folder.path("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let bob = try LiveProgram(
            "run", "--control", fifo,
            """
            videosource handler=counter ! call.camera  audiotestsrc is-live=true ! call.mic
            mediasession name=call room=help user=bob display-name=Bob custom-data=blue
            """)
        // A command fails before the user has joined, and a name that is set before is part of `joined`.
        let joined = #"{"customData":"blue","displayName":"Bob","event":"joined","node":"call","user":"bob"}"#
        #expect(session.waits { $0.output.contains(joined) }, "\(session.output)\(session.errors)")
        let commands = try #require(FileHandle(forUpdatingAtPath: fifo))
        try commands.write(contentsOf: Data("set call.display-name=Bobby\nsend call hello\n".utf8))
        #expect(session.waits { $0.output.contains("\"speaking\"") }, "\(session.errors)")
        #expect(session.waits { $0.output.contains("\"profile\"") }, "\(session.errors)")
        #expect(session.waits { $0.output.contains("\"command\"") }, "\(session.errors)")
        #expect(session.waits { $0.output.contains("\"streams\"") }, "\(session.errors)")
        #expect(session.waits { $0.output.contains("\"refused\"") }, "\(session.errors)")
        #expect(session.waits { $0.output.contains("\"status\"") }, "\(session.errors)")
        bob.send(SIGSTOP)
        #expect(session.waits { $0.output.contains("\"stalled\"") }, "\(session.errors)")
        bob.send(SIGKILL)
        #expect(session.waits { $0.output.contains("\"left\"") }, "\(session.errors)")
        session.send(SIGINT)
        #expect(session.end() == 0)
        for line in session.output.split(separator: "\n") { try add(line) }
        // A device that appears late.
        let late = folder.url.appendingPathComponent("device").path
        let waiting = try LiveProgram(
            "run", "--json",
            "devicesource reconnect=gap source=\"filesrc location=\(late) do-timestamp=true\" ! fakesink")
        #expect(waiting.waits { $0.output.contains("\"lost\"") }, "\(waiting.errors)")
        _ = try folder.write("data", to: "device")
        #expect(waiting.waits { $0.output.contains("\"end\"") }, "\(waiting.errors)")
        _ = waiting.end()
        for line in waiting.output.split(separator: "\n") { try add(line) }
        // A file that lacks a stream.
        let sound = folder.url.appendingPathComponent("sound.wav").path
        _ = try Program.run("run", "--quiet", "audiotestsrc num-buffers=2 ! wavenc ! filesink location=\"\(sound)\"")
        let silent = try Program.run(
            "run", "--json", "filesrc location=\"\(sound)\" ! decodebin ! videoconvert ! fakesink")
        #expect(silent.status == 3, "\(silent)")
        for line in silent.output.split(separator: "\n") { try add(line) }
        #expect(Set(seen.keys) == Set(JSONEvent.allCases.map(\.rawValue)), "\(seen.keys)")
        let help = try Program.run("help", "run", environment: ["COLUMNS": "80"]).output
        for event in JSONEvent.allCases {
            #expect(help.contains("\n  \(TextWidth.padded(event.rawValue, to: 12))"), "\(event)")
            for field in seen[event.rawValue, default: []] where field != "event" {
                #expect(event.fields.contains(field), "\(event) \(field)")
            }
        }
    }
}
