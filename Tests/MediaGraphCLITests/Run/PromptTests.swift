import Foundation
import TestSupport
import Testing

@testable import MediaGraphCLI

/// The prompt of `run --control -` on a terminal.
@Suite struct PromptTests {
    private func type(_ keys: String, _ line: inout PromptLine) -> [PromptLine.Event] {
        keys.utf8.compactMap { line.type($0) }
    }

    @Test("GR-10 a prompt's line can be edited with the usual keys of terminals")
    func editing() {
        var line = PromptLine()
        #expect(type("get camer\u{7F}\u{8}era.pattern\r", &line) == [.line("get camera.pattern")])
        #expect(type("set a.b=grün 🎥\u{7F}ß", &line) == [] && line.text == "set a.b=grün ß")
        #expect(type("\u{17}", &line) == [] && line.text == "set a.b=grün ")
        #expect(type("\u{17}", &line) == [] && line.text == "set ")
        #expect(type("\u{15}", &line) == [] && line.text == "")
        #expect(type("\u{4}", &line) == [.endOfInput])
        #expect(type("a\u{4}\n\n", &line) == [.line("a"), .line("")])
        // Several pasted lines, and bytes that aren't UTF-8.
        #expect(type("one\ntwo\nthr", &line) == [.line("one"), .line("two")] && line.text == "thr")
        for byte: UInt8 in [0xFF, 0xC3, 0x28, 0x01] { #expect(line.type(byte) == nil) }
        #expect(type(String(repeating: "x", count: 10_000), &line) == [])
        #expect(line.text.utf8.count <= PromptLine.longest)
    }

    @Test(
        "GR-10 bytes that aren't UTF-8 are dropped at a prompt, and the characters after them aren't",
        arguments: [
            // é in Latin-1.
            ([0xE9, 0x61, 0x62, 0x63], "abc"),
            // Backspace, Ctrl-U and the key "up" end an incomplete character, too.
            ([0x61, 0xC3, 0x7F, 0xA9, 0x62], "b"), ([0xC3, 0x15, 0xA9, 0x62], "b"),
            ([0xC3, 0x1B, 0x5B, 0x41, 0xA9, 0x62], "b"),
            ([0xC3, 0xC3, 0xA9], "é"), ([0xF0, 0x9F, 0x8E, 0xA5, 0x62], "🎥b"),
        ] as [([UInt8], String)])
    func invalidBytes(_ bytes: [UInt8], _ text: String) {
        var line = PromptLine()
        for byte in bytes { #expect(line.type(byte) == nil) }
        #expect(line.text == text)
    }

    @Test("GR-10 up and down bring back earlier lines; other keys do nothing")
    func history() {
        var line = PromptLine()
        _ = type("one\ntwo\ntwo\n\n", &line)
        let up = "\u{1B}[A"
        let down = "\u{1B}OB"
        #expect(type(up, &line) == [] && line.text == "two")
        #expect(type(up + up + up, &line) == [] && line.text == "one")
        #expect(type(down + "!", &line) == [] && line.text == "two!")
        #expect(type(down + down, &line) == [] && line.text == "")
        // A single Esc does nothing, regardless of the next key.
        #expect(type("x\u{1B}y\u{1B}\u{1B}z\u{1B}\n", &line) == [.line("xyz")])
        #expect(type("one\u{1B}\u{1B}[A", &line) == [] && line.text == "xyz")
        // An incomplete escape sequence doesn't swallow later keys.
        #expect(type("\u{15}a\u{1B}[\n", &line) == [.line("a")])
        #expect(type("\u{1B}[\u{1B}[A", &line) == [] && line.text == "a")
        #expect(type("\u{15}\u{1B}[[Ab\n", &line) == [.line("b")])
        #expect(type("\u{15}a\u{1B}[1;5Cb\u{1B}[3~c\u{1B}OPd\n", &line) == [.line("abcd")])
    }

    @Test("GR-10 the prompt shows the end of a line that is wider than the window")
    func width() {
        let prompt = Prompt()
        #expect(prompt.rendered(width: 80, style: .plain).text == "> set NODE.PROPERTY=VALUE, get, send, help, quit")
        _ = prompt.type("set camera.pattern=ball".utf8)
        #expect(prompt.rendered(width: 80, style: .plain).text == "> set camera.pattern=ball_")
        let short = prompt.rendered(width: 12, style: .plain)
        #expect(short.text == "> tern=ball_" && short.columns == 12)
    }

    @Test("GR-10 on a terminal, commands are typed at a prompt, and quit ends the run as Ctrl-C does")
    func terminal() throws {
        let folder = TemporaryFolder()
        let settings = folder.path("settings")
        // `script` runs the program on a new terminal.
        let result = try Program.shell(
            """
            printf 'get camera.pattern\nset camera.pattern=ball\nquit\n' \
            | TERM=xterm script -qec "mediagraph run 'videotestsrc is-live=true name=camera ! fakesink' --control -; \
            echo status=\\$?; stty -a > \(settings)" /dev/null
            """)
        #expect(result.output.contains("camera.pattern = smpte"), "\(result.output)")
        #expect(result.output.contains("camera.pattern = ball") && result.output.contains("status=0"))
        let after = try String(contentsOfFile: settings, encoding: .utf8)
        #expect(
            after.contains(" icanon") && after.contains(" echo "),
            "the terminal's settings weren't restored: \(after)")
    }
}
