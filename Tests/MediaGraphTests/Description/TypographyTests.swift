import GStreamer
import Testing

@testable import MediaGraph

/// Tests characters from web pages and word processors that replace ASCII ones.
@Suite struct TypographyTests {
    init() throws { try Nodes.register() }

    private func messages(_ text: String) -> [String] {
        Description(text).resolved().diagnose(isComplete: true).filter { $0.severity == .error }
            .map { "\($0.range.column) \($0.message): \($0.hint ?? "")" }
    }

    @Test("GR-2 typographic characters in a variable's value are kept")
    func variable() {
        for value in ["clip – one.mp4", "clip „x“ two.mp4", "l’été.mp4"] {
            let found = Description("filesrc location=\"${FILE}\" ! fakesink").resolved(with: ["FILE": value]).diagnose(
                isComplete: true)
            #expect(found.filter { $0.severity == .error } == [], "\(value)")
        }
    }

    @Test(
        "GR-2 a misplaced typographic character is the only problem, with the one to write",
        arguments: [
            (
                "videotestsrc\u{A0}num-buffers=1 ! fakesink",
                ["13 there is a no-break space (U+00A0) here: write an ordinary space"]
            ),
            (
                "videotestsrc num-buffers=1 ! \u{202F}fakesink",
                ["30 there is a no-break space (U+202F) here: write an ordinary space"]
            ),
            (
                "videotestsrc num-buffers=1\u{A0}! fakesink",
                ["27 there is a no-break space (U+00A0) here: write an ordinary space"]
            ),
            (
                "videotestsrc ! video/x-raw,width=320,\u{A0}height=240 ! fakesink",
                ["38 there is a no-break space (U+00A0) here: write an ordinary space"]
            ),
            ("videotestsrc \u{FEFF}! fakesink", ["14 there is an invisible character (U+FEFF) here: delete it"]),
            ("videotestsrc !\u{200B} fakesink", ["15 there is an invisible character (U+200B) here: delete it"]),
            (
                "filesrc location=“a.mp4” ! fakesink",
                ["18 there is a typographic quote (U+201C) here: write \""]
            ),
            (
                "videotestsrc name=${A} ! fakesink name=“x”",
                [
                    "19 undefined variable \"A\": set it with A=value, or write a default: ${A:-default}",
                    "40 there is a typographic quote (U+201C) here: write \"",
                ]
            ),
            (
                "videotestsrc num-buffers=–1 ! fakesink",
                ["26 there is a typographic dash (U+2013) here: write -"]
            ),
        ])
    func misplaced(text: String, expected: [String]) { #expect(messages(text) == expected) }

    @Test(
        "GR-2 typographic characters in quotes and within a name are accepted",
        arguments: [
            "videotestsrc ! textoverlay text=\"l’été – “ça”\u{A0}!\" ! fakesink",
            "fakesrc ! filesink location=/tmp/it’s–a\u{A0}film.bin", "fakesrc ! fakesink name=é",
            #"fakesrc ! filesink location=clip\ –\ one.bin"#,
        ])
    func meant(text: String) { #expect(messages(text).filter { $0.contains("there is a") } == []) }
}
