import Foundation
import Testing

@Suite struct CheckTests {
    @Test("GR-2 check shows each problem in its line, and counts the problems")
    func rendered() throws {
        let folder = TemporaryFolder()
        let file = try folder.write(
            """
            # a call
            videotestsrc ! preprocesor handler=blur ! fakesink
            videotestsrc ! rawdatapipe resolution=auto handler=count
            """, to: "call.pipeline")
        let check = try Program.run("check", file)
        #expect(check.status == 2)
        #expect(check.output == "")
        #expect(
            check.errors.replacingOccurrences(of: file, with: "call.pipeline") == """
                call.pipeline:2:16: error: no element "preprocesor"
                   2 | videotestsrc ! preprocesor handler=blur ! fakesink
                     |                ^~~~~~~~~~~ did you mean "preprocessor"?
                call.pipeline:3:39: error: "auto" isn't a valid value for resolution of rawdatapipe
                   3 | videotestsrc ! rawdatapipe resolution=auto handler=count
                     |                                       ^~~~ native, 90p, 180p, 360p, 720p, 1080p, or another number of lines from 1p to 32767p, such as 480p
                2 errors

                """)
    }

    @Test("GR-2 check reports which of several descriptions are fine")
    func fine() throws {
        let folder = TemporaryFolder()
        let good = try folder.write("videotestsrc ! videoconvert ! ${SINK:-fakesink}", to: "good.pipeline")
        let bad = try folder.write("videotestsrc ! nosuchthing", to: "bad.pipeline")
        let check = try Program.run("check", good, "fakesrc ! fakesink", bad, "SINK=fakevideosink")
        #expect(check.status == 2)
        #expect(check.output == "\(good): fine, 3 elements\ndescription: fine, 2 elements\n")
        #expect(check.errors.hasSuffix("\n1 error\n"))
        let missing = try Program.run("check", good, folder.path("none.pipeline"))
        #expect(missing.status == 2)
        #expect(missing.output == "\(good): fine, 3 elements\n")
        #expect(missing.errors == "error: there is no file \"\(folder.path("none.pipeline"))\"\n")
    }

    @Test("GR-2 check --json prints a line for each description")
    func json() throws {
        struct Record: Decodable {
            struct Diagnostic: Decodable {
                var severity: String
                var line: Int
                var column: Int
                var length: Int
                var hint: String?
            }
            var file: String
            var ok: Bool
            var elements: Int
            var diagnostics: [Diagnostic]
        }
        let check = try Program.run("check", "--json", "fakesrc ! fakesink", "fakesrc !\n fakesnk")
        #expect(check.status == 2)
        #expect(check.errors == "")
        let records = try check.output.split(separator: "\n").map {
            try JSONDecoder().decode(Record.self, from: Data($0.utf8))
        }
        #expect(records.map(\.ok) == [true, false])
        #expect(records[0].elements == 2)
        let diagnostic = try #require(records[1].diagnostics.first)
        #expect((diagnostic.line, diagnostic.column, diagnostic.length) == (2, 2, 7))
        #expect(diagnostic.hint == "did you mean \"fakesink\"?")
    }

    @Test("GR-2 a huge description is checked; a directory and bytes that aren't text are refused")
    func odd() throws {
        let folder = TemporaryFolder()
        let many = Array(repeating: "fakesrc ! fakesink", count: 2000).joined(separator: "\n")
        let check = try Program.run("check", try folder.write(many, to: "many.pipeline"))
        #expect(check.status == 0)
        #expect(check.output.hasSuffix("fine, 4000 elements\n"))
        let directory = try Program.run("check", folder.url.path + "/")
        #expect(directory.status == 2)
        #expect(directory.errors.contains("is a folder"))
        let binary = try Program.shell("head -c 4000 '\(Program.path)' | mediagraph check -")
        #expect(binary.status == 2)
        #expect(binary.errors == "error: standard input isn't a description (UTF-8 text)\n")
    }

    @Test("GR-2 in a pasted command, an environment variable isn't taken for a description's variable")
    func pastedWithVariable() throws {
        let check = try Program.run("check", "GST_DEBUG=3 gst-launch-1.0 -v videotestsrc ! fakesink")
        #expect(check.status == 2)
        #expect(
            check.errors.contains(
                "leave out `GST_DEBUG=3 gst-launch-1.0 -v`; GST_DEBUG=3 goes before `mediagraph`"),
            "\(check.errors)")
    }

    @Test(
        "GR-2 a description in another encoding is reported as such, not as a media file",
        arguments: [
            (#"# f\374r\nfakesrc ! fakesink\n"#, "isn't UTF-8 text (line 1): save it as UTF-8 in your editor"),
            (#"fakesrc !\nfakesink name=\374\n"#, "isn't UTF-8 text (line 2): save it as UTF-8 in your editor"),
            (#"\377\376f\0a\0k\0e\0s\0r\0c\0"#, "is UTF-16 text: save it as UTF-8 in your editor"),
            (#"\376\377\0f\0a\0k\0e\0s\0r\0c"#, "is UTF-16 text: save it as UTF-8 in your editor"),
            (#"\032E\377\243\001\0\0\0"#, "isn't a description (UTF-8 text); to play a media file, write"),
        ])
    func encodings(bytes: String, message: String) throws {
        let folder = TemporaryFolder()
        let file = folder.path("a.pipeline")
        let check = try Program.shell("printf '\(bytes)' >'\(file)'; mediagraph check '\(file)'")
        #expect(check.status == 2)
        #expect(check.errors.hasPrefix("error: \"\(file)\" \(message)"), "\(check.errors)")
        let input = try Program.shell("printf '\(bytes)' | mediagraph check -")
        #expect(input.errors.hasPrefix("error: standard input is"), "\(input.errors)")
    }

    @Test("GR-5 the program ends with status 2 if a library can't be loaded")
    func libraries() throws {
        let option = try Program.run("check", "--load", "/no/such.so", "fakesrc ! fakesink")
        #expect(option.status == 2)
        #expect(option.errors.contains("/no/such.so"))
        let variable = try Program.run(
            "check", "fakesrc ! fakesink", environment: ["MEDIAGRAPH_HANDLERS": "/no/other.so"])
        #expect(variable.status == 2)
        #expect(variable.errors.contains("/no/other.so"))
    }

    @Test("GR-5 a library's name without a folder refers to the current folder")
    func libraryHere() throws {
        let folder = TemporaryFolder()
        _ = try folder.write("no library", to: "mine.so")
        let here = try Program.shell("cd '\(folder.url.path)'; mediagraph check --load mine.so 'fakesrc ! fakesink'")
        #expect(here.status == 2)
        #expect(here.errors.contains("./mine.so: file too short"), "\(here.errors)")
    }

    @Test("GR-2 check --json reports a missing file in JSON")
    func missingJSON() throws {
        struct Record: Decodable {
            var file: String
            var ok: Bool
            var error: String?
        }
        let check = try Program.run("check", "--json", "/no/such.pipeline", "fakesrc ! fakesink")
        #expect(check.status == 2)
        #expect(check.errors == "")
        let records = try check.output.split(separator: "\n").map {
            try JSONDecoder().decode(Record.self, from: Data($0.utf8))
        }
        #expect(records.map(\.ok) == [false, true])
        #expect(records[0].file == "/no/such.pipeline")
        #expect(records[0].error == "there is no file \"/no/such.pipeline\"")
    }

    @Test("GR-2 check warns of autovideosink only if there is no display")
    func display() throws {
        func errors(_ display: String) throws -> String {
            try Program.run(
                "check", "videotestsrc ! autovideosink", environment: ["DISPLAY": display, "WAYLAND_DISPLAY": ""]
            ).errors
        }
        #expect(try errors("").contains("description:1:16: warning: autovideosink needs a display"))
        #expect(try errors(":0") == "")
    }

    @Test("GR-2 check and run refuse an unlinked sink, which would wait forever")
    func unlinked() throws {
        for command in ["check", "run"] {
            let program = try Program.run(command, "videotestsrc ! tee name=t  fakesink", timeout: 20)
            #expect(program.status == 2)
            #expect(
                program.errors.hasPrefix(
                    "description:1:28: error: nothing is linked to fakesink, so it would wait forever\n"),
                "\(program.errors)")
        }
        #expect(try Program.run("run", "rawdatapipe handler=count", timeout: 20).status == 2)
    }

    @Test(
        "GR-2 the error of a path with ~ shows the whole path",
        arguments: [
            ("videotestsrc ! filesink location=~/a", 34), ("filesrc location=~/a ! fakesink", 18),
            ("videosource handler=y4m options=\"location=~/a\" ! fakesink", 34),
        ])
    func homeFolder(text: String, column: Int) throws {
        for command in ["check", "run"] {
            let program = try Program.run(command, text, environment: ["HOME": "/home/me"])
            #expect(program.status == 2)
            #expect(
                program.errors.contains(
                    ":1:\(column): error: GStreamer doesn't expand ~: there is no folder \"~\" here\n"))
            #expect(
                program.errors.contains("~ write the full path: /home/me/a, or $HOME/a in double quotes in a shell\n"))
            #expect(program.errors.contains("\n1 error\n"), "\(program.errors)")
        }
    }

    @Test("GR-2 check warns of a pattern that no file matches, including an element's default pattern")
    func patterns() throws {
        let folder = TemporaryFolder()
        let pattern = folder.path("f-%03d.png")
        func errors(_ text: String) throws -> String { try Program.run("check", text).errors }
        let text = "multifilesrc location=\(pattern) ! fakesink"
        #expect(try errors(text).contains("1:23: warning: no file matches \"\(pattern)\"\n"))
        _ = try folder.write("x", to: "f-007.png")
        #expect(try errors(text) == "")
        #expect(try errors("splitmuxsrc location=\(folder.path("*.mp4")) ! fakesink").contains("no file matches"))
        let own = try Program.shell("cd '\(folder.url.path)'; mediagraph check 'multifilesrc ! fakesink'")
        #expect(own.errors.contains("1:1: warning: no file matches \"%05d\"\n"), "\(own.errors)")
    }

    @Test("GR-2 check warns of missing files and suggests the nearest, and run names them in its error")
    func files() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("x", to: "clip.mkv")
        let wrong = folder.path("clpi.mkv")
        let check = try Program.run("check", "filesrc location=\(wrong) ! fakesink")
        #expect(check.status == 0)
        #expect(check.errors.contains("1:18: warning: there is no file \"\(wrong)\"\n"), "\(check.errors)")
        #expect(check.errors.contains("did you mean \"\(file)\"?"), "\(check.errors)")
        let handler = try Program.run(
            "check", "videotestsrc ! preprocessor handler=watermark options=\"size=0.1,image=none.png\" ! fakesink")
        #expect(handler.errors.contains("1:65: warning: there is no file \"none.png\""), "\(handler.errors)")
        let run = try Program.run(
            "run", "videotestsrc ! preprocessor handler=watermark options=image=none.png ! fakesink")
        #expect(run.status == 1)
        #expect(run.errors.contains("none.png can't be read: No such file or directory"), "\(run.errors)")
        #expect(!run.errors.contains("warning"))
        // Foundation's path functions trap on this path.
        #expect(try Program.run("check", "filesrc location=b ! fakesink").errors.contains("there is no file \"b\""))
        let folderGiven = try Program.run("check", "videosource handler=y4m options=location=/tmp ! fakesink")
        #expect(folderGiven.errors.contains("warning: \"/tmp\" is a folder"), "\(folderGiven.errors)")
    }
}
