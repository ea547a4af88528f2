import Foundation
import TestSupport
import Testing

/// Screens and windows that are lost while they are captured. Each test runs separate processes, because Xlib ends a
/// process that loses its server.
@Suite struct ScreenLossTests {
    private let folder = TemporaryFolder()

    private func run(_ text: String, environment: [String: String] = [:]) throws -> LiveProgram {
        let own = ["XDG_RUNTIME_DIR": folder.url.path].merging(environment) { $1 }
        return try LiveProgram(arguments: ["run", "--json", text], environment: own)
    }

    /// Captures the screen of `DISPLAY`.
    private static let screen = "ximagesrc use-damage=false"

    private static func capture(_ display: VirtualDisplay, _ more: String = "") -> String {
        "ximagesrc display-name=\(display.name) use-damage=false \(more)"
    }

    /// What a run says that has lost its server.
    private static func loss(_ display: VirtualDisplay) -> String {
        "X screen \(display.name): the X server \(display.name) has ended, and so Xlib ends this process within 10 s. "
            + "To survive that, capture the screen in a process of its own, and read it from a room"
    }

    @Test(
        "DV-2 the end of an X server is an error with the screen's name and advice, whatever reconnect says",
        arguments: [
            "\(Self.screen)", "devicesource source=\"\(Self.screen)\"",
            "devicesource reconnect=gap source=\"\(Self.screen)\"",
            "devicesource reconnect=slate kind=screen",
        ])
    func server(source: String) throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let program = try run(
            "\(source) ! rawdatapipe handler=count",
            environment: ["DISPLAY": display.name, "XDG_SESSION_TYPE": "x11"])
        #expect(program.waits { self.count("progress", $0) >= 1 }, "\(program.output)\(program.errors)")
        display.end()
        #expect(program.end() == 1)
        #expect(program.output.contains(Self.loss(display)), "\(program.output)\(program.errors)")
        #expect(program.output.contains("\"event\":\"end\""), "\(program.output)\(program.errors)")
    }

    @Test(
        "DV-2 the files of a lost screen and of other branches are complete and playable",
        arguments: ["mp4mux", "matroskamux"], ["\(Self.screen)", "devicesource source=\"\(Self.screen)\""])
    func files(muxer: String, source: String) throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let files = ["screen", "other"].map { folder.path($0) }
        let encoding =
            "videoconvert ! video/x-raw,format=I420 ! x264enc tune=zerolatency ! \(muxer) ! filesink location="
        let program = try run(
            """
            \(source) ! \(encoding)"\(files[0])"
            videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! queue ! \(encoding)"\(files[1])"
            """, environment: ["DISPLAY": display.name])
        #expect(program.waits { self.count("progress", $0) >= 1 }, "\(program.output)\(program.errors)")
        display.end()
        #expect(program.end() == 1)
        #expect(program.output.contains(Self.loss(display)), "\(program.output)\(program.errors)")
        #expect(!program.output.contains("incomplete"), "\(program.output)")
        for file in files { try expectPlayable(file) }
    }

    /// Checks that a file has a length, and frames that can all be decoded.
    private func expectPlayable(_ file: String) throws {
        let probe = try ChildProcess.run(
            "ffprobe",
            [
                "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames:format=duration", "-of",
                "csv=p=0", file,
            ])
        #expect(probe.status == 0 && probe.errors.isEmpty, "\(probe.errors)")
        let numbers = probe.output.split(whereSeparator: \.isWhitespace).map { Double($0) ?? 0 }
        #expect(numbers.count == 2 && numbers.allSatisfy { $0 > 0 }, "\(probe.output)")
    }

    @Test("DV-2 another process of the room survives the end of an X server, and gets the screen back")
    func room() throws {
        var display = try VirtualDisplay(width: 160, height: 120)
        let file = folder.path("received.mkv")
        let reader = try run(
            """
            mediasession name=call room=desk user=alice  call.share_bob ! videoconvert !
            video/x-raw,format=I420 ! x264enc tune=zerolatency ! matroskamux ! filesink location="\(file)"
            """)
        func shares(_ isOn: Bool) -> Int {
            reader.output.components(
                separatedBy: "\"kind\":\"share\",\"node\":\"call\",\"on\":\(isOn),\"user\":\"bob\""
            )
            .count - 1
        }
        for round in 1...2 {
            let capturer = try run("mediasession name=call room=desk user=bob  \(Self.capture(display)) ! call.share")
            #expect(reader.waits { _ in shares(true) == round }, "\(reader.output)\(reader.errors)")
            let progress = count("progress", reader)
            #expect(reader.waits { self.count("progress", $0) >= progress + 2 }, "\(reader.output)")
            display.end()
            #expect(capturer.end() == 1)
            #expect(capturer.output.contains(Self.loss(display)), "\(capturer.output)\(capturer.errors)")
            #expect(reader.waits { _ in shares(false) == round }, "\(reader.output)\(reader.errors)")
            display = try VirtualDisplay(width: 160, height: 120, name: display.name)
        }
        reader.send(SIGINT)
        #expect(reader.end() == 0, "\(reader.output)\(reader.errors)")
        try expectPlayable(file)
    }

    @Test("DV-2 after an X server's end, Xlib ends a process that can't stop, when its time is over")
    func timeLimit() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        // gst-launch waits for the thread of the plain capture, which waits in Xlib.
        let launch = try LiveProgram(
            "gst-launch-1.0",
            arguments: Self.capture(display, "! fakesink devicesource source=\"\(Self.capture(display))\" ! fakesink")
                .split(separator: " ").map(String.init),
            environment: [
                "GST_PLUGIN_PATH": ChildProcess.buildFolder.path, "GST_REGISTRY": folder.path("registry"),
                "G_DEBUG": "",
            ])
        #expect(launch.waits { $0.output.contains("PLAYING") })
        display.end()
        #expect(launch.end() == 1)
        #expect(launch.errors.contains(Self.loss(display)), "\(launch.output)\(launch.errors)")
        // Xlib's own message, which depends on how it noticed the loss.
        #expect(["XIO: ", "X connection to "].contains { launch.errors.contains($0) }, "\(launch.errors)")
    }

    @Test(
        "DV-2 a missing X server is reported with its name",
        arguments: [
            ("ximagesrc ! fakesink", ":411", "X screen :411"),
            ("ximagesrc ! fakesink", "", "X screen (DISPLAY isn't set)"),
            ("ximagesrc display-name=:412 ! fakesink", ":411", "X screen :412"),
            ("videotestsrc ! videoconvert ! ximagesink", ":411", "X screen :411"),
        ])
    func absent(_ text: String, _ display: String, _ name: String) throws {
        let run = try Program.run("run", text, environment: ["DISPLAY": display])
        #expect(run.status == 1)
        #expect(run.errors.contains("0: \(name) "), "\(run.errors)")
        #expect(run.errors.contains("`mediagraph devices` lists the available devices"), "\(run.errors)")
    }

    @Test("DV-1 an X server that resets itself when its last client leaves is captured and shows windows")
    func resettingServer() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let proxy = try DisplayProxy(display, name: 4100, resetTime: .milliseconds(100))
        for text in [
            "ximagesrc ! videoconvert ! rawdatapipe handler=count",
            "devicesource source=ximagesrc ! videoconvert ! rawdatapipe handler=count",
            // autovideosink tries Xv first, which this server lacks.
            "videotestsrc num-buffers=4 ! videoconvert ! autovideosink",
        ] {
            let run = try Program.run("run", "--quiet", "--frames", "2", text, environment: ["DISPLAY": proxy.name])
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    @Test("GR-3 a hanging X server is reported with the sink that waits for it")
    func hangingServer() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        display.hang()
        let program = try run(
            "videotestsrc ! videoconvert ! ximagesink name=window", environment: ["DISPLAY": display.name])
        #expect(program.waits { $0.output.contains("is still starting after 3 s") })
        program.send(SIGTERM)
        #expect(program.end() == 143)
        let told = try RunEvent.all(program.output).filter { $0.element == "window" }.compactMap(\.message)
        #expect(told.contains("is still starting after 3 s") && told.contains("hangs while starting"), "\(told)")
    }

    @Test("DV-2 the end of an X server is an error of a video sink, and files of other branches are whole")
    func preview() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let file = folder.path("preview.mp4")
        let program = try run(
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! tee name=t ! queue ! videoconvert !
            ximagesink display=\(display.name)  t. ! queue ! x264enc tune=zerolatency ! mp4mux ! filesink location="\(file)"
            """)
        #expect(program.waits { self.count("progress", $0) >= 1 }, "\(program.output)\(program.errors)")
        display.end()
        #expect(program.end() == 1)
        #expect(program.output.contains(Self.loss(display)), "\(program.output)\(program.errors)")
        try expectPlayable(file)
    }

    @Test(
        "DV-4 if an X server ends while its screen is listed, the list is complete or lacks only that screen",
        arguments: [0, 1, 2, 3, 5, 8])
    func endsWhileAsked(pieces: Int) throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let proxy = try DisplayProxy(display, name: 4000 + pieces, pieces: pieces)
        let name = proxy.name
        let environment = ["DISPLAY": name, "XDG_SESSION_TYPE": "x11"]
        let list = try ChildProcess.run(
            Program.path, ["devices", "--json"], environment: environment.merging(Program.environment) { $1 })
        // The first piece has the screens.
        #expect(list.status == (pieces == 0 ? 1 : 0), "\(list.output)\(list.errors)")
        let isMissing = list.output.contains("the X server \(name) didn't answer")
        #expect(isMissing == (pieces == 0), "\(list.output)\(list.errors)")
        #expect(isMissing || list.output.contains("\"X screen \(name)\""), "\(list.output)\(list.errors)")
    }

    @Test(
        "DV-2 an X server that ends while devicesource connects to it is reported",
        arguments: [2, 3, 5, 8], ["never", "slate"])
    func endsWhileConnecting(pieces: Int, reconnect: String) throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let proxy = try DisplayProxy(display, name: 4000 + pieces, pieces: pieces)
        let program = try run(
            "devicesource kind=screen reconnect=\(reconnect) ! fakesink",
            environment: ["DISPLAY": proxy.name, "XDG_SESSION_TYPE": "x11"])
        #expect(program.end() == 1, "\(program.output)\(program.errors)")
        let text = "X screen \(proxy.name): the X server \(proxy.name) has ended"
        #expect(program.output.contains(text), "\(program.output)\(program.errors)")
    }

    // MARK: Events

    private func count(_ event: String, _ program: LiveProgram) -> Int {
        program.output.components(separatedBy: "\"event\":\"\(event)\"").count - 1
    }

    // MARK: Windows

    /// A window of 160×120 with its program's name, which is open until this is released.
    private final class Window {
        static let mine = "gst-launch-1.0"
        static let other = "mediagraph"
        private let process = Process()

        init(_ name: String, on display: VirtualDisplay) throws {
            process.executableURL = URL(fileURLWithPath: name == Self.other ? Program.path : "/usr/bin/env")
            process.arguments =
                (name == Self.other ? ["run", "--quiet"] : [name, "-q"]) + [
                    "videotestsrc", "!", "video/x-raw,width=160,height=120", "!", "ximagesink",
                    "display=\(display.name)",
                ]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.run()
        }

        func close() {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        deinit { close() }
    }

    /// Runs a capture until it finds its window, and returns the picture's width.
    private func width(of capture: String) throws -> String {
        let deadline = Date(timeIntervalSinceNow: 60)
        let file = folder.path("look.y4m")
        while Date() < deadline {
            let run = try Program.run(
                "run", "--quiet", "--frames", "1", "\(capture) ! rawdatapipe handler=y4m options=\"location=\(file)\"")
            guard run.status == 0 else { continue }
            let head = try FileHandle(forReadingFrom: URL(fileURLWithPath: file)).read(upToCount: 40) ?? Data()
            return String(decoding: head, as: UTF8.self).split(separator: " ").first { $0.hasPrefix("W") }
                .map(String.init) ?? ""
        }
        return ""
    }

    @Test(
        "DV-2 a missing window is an error that names it, and isn't replaced by the whole screen",
        arguments: ["xid=0x7777777", "xname=nobody"], ["", "devicesource"])
    func noWindow(window: String, node: String) throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let capture = Self.capture(display, window)
        let program = try run(
            (node.isEmpty ? capture : "devicesource source=\"\(capture)\"") + " ! rawdatapipe handler=count")
        #expect(program.end() == 1)
        let name = window.hasPrefix("xid") ? "0x7777777" : "\\\"nobody\\\""
        let text = "window \(name) of X screen \(display.name): the window was closed or can't be captured"
        #expect(program.output.contains(text), "\(program.output)")
        #expect(!program.output.contains("\"on\":true"), "\(program.output)")
    }

    @Test("DV-2 devicesource doesn't wait for a closed window by its number, which X gives to another window")
    func numberedWindow() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let window = try Window(Window.mine, on: display)
        // The numbers of clients differ by 1 << 21, and ximagesink's window is its client's third resource.
        func isThere(_ number: Int) throws -> Bool {
            let capture = Self.capture(display, "xid=\(number)")
            return try Program.run("run", "--quiet", "--frames", "1", "\(capture) ! fakesink").status == 0
        }
        #expect(try width(of: Self.capture(display, "xname=\(Window.mine)")) == "W160")
        let number = try #require(try (1...8).map { ($0 << 21) + 2 }.first(where: isThere))
        let capture = Self.capture(display, "xid=\(number)")
        let program = try run("devicesource reconnect=slate source=\"\(capture)\" ! fakesink")
        // Waits for progress too, because the format is reported before the window is open: a window that is closed
        // then counts as missing and ends the graph.
        #expect(
            program.waits { self.count("format", $0) == 1 && self.count("progress", $0) > 0 },
            "\(program.output)\(program.errors)")
        window.close()
        #expect(program.waits { self.count("lost", $0) == 1 }, "\(program.output)")
        #expect(
            program.output.contains("so the graph doesn't wait for this one; to wait for a window, set xname"),
            "\(program.output)")
        // The server gives the number of the closed client to one of these new clients.
        let others = try (0..<4).map { _ in try Window(Window.mine, on: display) }
        #expect(waitUntil { (try? isThere(number)) == true })
        let progress = count("progress", program)
        #expect(program.waits { self.count("progress", $0) >= progress + 4 })
        #expect(count("back", program) == 0, "\(program.output)")
        program.send(SIGINT)
        #expect(program.end() == 0, "\(program.output)")
        for other in others { other.close() }
    }

    @Test("DV-2 a closed window is an error of the capturing element")
    func window() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let window = try Window(Window.mine, on: display)
        let capture = Self.capture(display, "xname=\(Window.mine)")
        #expect(try width(of: capture) == "W160")
        let program = try run("\(capture) ! rawdatapipe name=p handler=count")
        #expect(program.waits { $0.output.contains("\"on\":true") }, "\(program.output)\(program.errors)")
        window.close()
        #expect(program.end() == 1)
        #expect(program.output.contains("the window was closed or can't be captured"), "\(program.output)")
    }

    @Test("DV-2 devicesource waits for a closed window, and doesn't show the screen or end other captures")
    func windowIsBack() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let first = try Window(Window.mine, on: display)
        let other = try Window(Window.other, on: display)
        #expect(try width(of: Self.capture(display, "xname=\(Window.mine)")) == "W160")
        #expect(try width(of: Self.capture(display, "xname=\(Window.other)")) == "W160")
        // Both captures have the same name, because a capture is made anew for each attempt.
        func node(_ name: String) -> String {
            "devicesource reconnect=slate source=\"\(Self.capture(display, "name=cap xname=\(name)"))\""
        }
        let program = try run("\(node(Window.mine)) ! fakesink  \(node(Window.other)) ! fakesink")
        func count(_ event: String) -> Int { self.count(event, program) }
        #expect(program.waits { _ in count("format") == 2 && count("progress") > 0 }, "\(program.output)")
        var window = first
        for round in 1...2 {
            window.close()
            #expect(program.waits { _ in count("lost") == round }, "\(program.output)")
            // devicesource tries once a second.
            let progress = count("progress")
            #expect(program.waits { _ in count("progress") >= progress + 3 })
            #expect(count("back") == round - 1)
            window = try Window(Window.mine, on: display)
            #expect(program.waits { _ in count("back") == round }, "\(program.output)")
        }
        program.send(SIGINT)
        #expect(program.end() == 0, "\(program.output)")
        #expect(count("lost") == 2 && count("back") == 2 && !program.output.contains("320×240"), "\(program.output)")
        let label = "\"device\":\"window \\\"\(Window.mine)\\\" of X screen \(display.name)\""
        #expect(program.output.contains(label), "\(program.output)")
        other.close()
    }
}
