import Foundation
import TestSupport
import Testing

/// A screen or a window that goes while it is captured. In processes of their own: Xlib ends the process by default.
@Suite struct ScreenLossTests {
    private let folder = TemporaryFolder()

    private func run(_ text: String) throws -> LiveProgram {
        try LiveProgram(arguments: ["run", "--json", text], environment: ["XDG_RUNTIME_DIR": folder.url.path])
    }

    private static func capture(_ display: VirtualDisplay, _ more: String = "") -> String {
        "ximagesrc display-name=\(display.name) use-damage=false \(more)"
    }

    @Test("DV-2 an X server that ends is an error of what captures its screen, with the screen's name")
    func server() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let program = try run("\(Self.capture(display)) ! rawdatapipe handler=count")
        #expect(program.waits { $0.output.contains("\"on\":true") }, "\(program.output)\(program.errors)")
        display.end()
        #expect(program.end() == 1)
        let text = "X screen \(display.name): expected an X server that runs, got a connection that it closed"
        #expect(program.output.contains(text), "\(program.output)\(program.errors)")
    }

    @Test("DV-2 an X server that ends is the end of a user's share, and the session goes on")
    func share() throws {
        let display = try VirtualDisplay(width: 160, height: 120)
        let program = try run(
            """
            mediasession name=call room=r user=bob  \(Self.capture(display)) ! call.share
            videosource handler=counter options="width=64,height=36" ! call.camera
            """)
        #expect(program.waits { $0.output.contains("\"kind\":\"share\",\"node\":\"call\",\"on\":true") })
        display.end()
        #expect(program.waits { $0.output.contains("\"kind\":\"share\",\"node\":\"call\",\"on\":false") })
        #expect(program.output.contains("a connection that it closed: the share ends"), "\(program.output)")
        let progress = program.output.components(separatedBy: "\"progress\"").count
        #expect(program.waits { $0.output.components(separatedBy: "\"progress\"").count >= progress + 2 })
        program.send(SIGINT)
        #expect(program.end() == 0, "\(program.output)")
    }

    @Test("DV-2 a window that is closed is an error of what captures it")
    func window() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        // The server ends with its last client.
        let keeper = try run("\(Self.capture(display)) ! fakesink")
        #expect(keeper.waits { $0.output.contains("\"progress\"") }, "\(keeper.output)\(keeper.errors)")
        let window = Process()
        window.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        window.arguments = [
            "gst-launch-1.0", "-q", "videotestsrc", "!", "video/x-raw,width=160,height=120", "!", "ximagesink",
            "display=\(display.name)",
        ]
        try window.run()
        defer { window.terminate() }
        let capture = Self.capture(display, "xname=gst-launch-1.0")
        // As long as no window has the name, it is the whole screen.
        let deadline = Date(timeIntervalSinceNow: 60)
        var size = ""
        while size != "W160", Date() < deadline {
            let file = folder.path("look.y4m")
            _ = try Program.run(
                "run", "--quiet", "--frames", "1", "\(capture) ! rawdatapipe handler=y4m options=\"location=\(file)\"")
            let head = try FileHandle(forReadingFrom: URL(fileURLWithPath: file)).read(upToCount: 40) ?? Data()
            size =
                String(decoding: head, as: UTF8.self).split(separator: " ").first { $0.hasPrefix("W") }.map(String.init)
                ?? ""
        }
        #expect(size == "W160")
        let program = try run("\(capture) ! rawdatapipe name=p handler=count")
        #expect(program.waits { $0.output.contains("\"on\":true") }, "\(program.output)\(program.errors)")
        kill(window.processIdentifier, SIGKILL)
        #expect(program.end() == 1)
        #expect(program.output.contains("expected a window that is open, got none"), "\(program.output)")
        keeper.send(SIGTERM)
        #expect(keeper.end() == 0)
    }
}
