import Foundation
import GStreamer
import Testing

@testable import MediaGraph

/// Tests the problems that are found in descriptions, and how they are printed.
@Suite struct DiagnosticTests {
    private func check(_ text: String, _ variables: [String: String] = [:]) -> String {
        renderedProblems(of: text, with: variables)
    }

    @Test("GR-2 an unknown element is reported with file, line, column, caret and the nearest name")
    func unknownElement() {
        #expect(
            check("# a comment\nvideotestsrc !\n\tvideoconvret name=c ! fakesink") == """
                a.pipeline:3:2: error: no element "videoconvret"
                   3 | \tvideoconvret name=c ! fakesink
                     | \t^~~~~~~~~~~~ did you mean "videoconvert"?
                """)
    }

    @Test("GR-2 an unknown property is reported with the nearest name")
    func unknownProperty() {
        #expect(
            check("videotestsrc patern=snow ! fakesink") == """
                a.pipeline:1:14: error: videotestsrc has no property "patern"
                   1 | videotestsrc patern=snow ! fakesink
                     |              ^~~~~~ did you mean "pattern"?
                """)
    }

    @Test("GR-2 a property without a value is distinguished from an element")
    func propertyAsElement() {
        #expect(check("fakesrc silent ! fakesink").contains("to set the property of fakesrc, write silent=…"))
        #expect(check("fakesrc silent=").contains("1:9: error: property \"silent\" has no value"))
    }

    @Test("GR-2 setting a read-only property is an error")
    func notWritable() {
        #expect(
            check("fakesrc ! fakesink last-sample=x") == """
                a.pipeline:1:20: error: property "last-sample" of fakesink can't be set
                   1 | fakesrc ! fakesink last-sample=x
                     |                    ^~~~~~~~~~~ remove it: the property is read-only
                """)
    }

    @Test("GR-2 a value of the wrong type is reported with what the property takes")
    func wrongType() {
        #expect(
            check("fakesrc num-buffers=ten ! fakesink sync=perhaps") == """
                a.pipeline:1:21: error: "ten" isn't a valid value for num-buffers of fakesrc
                   1 | fakesrc num-buffers=ten ! fakesink sync=perhaps
                     |                     ^~~ an integer from -1 to 2147483647
                a.pipeline:1:41: error: "perhaps" isn't a valid value for sync of fakesink
                   1 | fakesrc num-buffers=ten ! fakesink sync=perhaps
                     |                                         ^~~~~~~ true or false
                """)
    }

    @Test("GR-2 a value out of range is reported with the range")
    func outOfRange() {
        #expect(
            check("fakesrc num-buffers=-5 ! fakesink") == """
                a.pipeline:1:21: error: -5 is out of range for num-buffers of fakesrc
                   1 | fakesrc num-buffers=-5 ! fakesink
                     |                     ^~ an integer from -1 to 2147483647
                """)
    }

    @Test("GR-2 a bad enum value is reported with the nearest nick, or all of them")
    func badEnum() {
        #expect(check("videotestsrc pattern=snwo ! fakesink").hasSuffix("^~~~ did you mean \"snow\"?"))
        #expect(
            check("fakesrc sizetype=enormous ! fakesink") == """
                a.pipeline:1:18: error: "enormous" isn't a valid value for sizetype of fakesrc
                   1 | fakesrc sizetype=enormous ! fakesink
                     |                  ^~~~~~~~ one of empty, fixed, random
                """)
    }

    @Test("GR-2 a pad's property is checked before the pad exists")
    func padProperty() {
        let text = check("compositor sink_0::xpso=5 sink_1::alpha=7 ! fakesink")
        #expect(text.contains("pad sink_0 of compositor has no property \"xpso\""))
        #expect(text.contains("7 is out of range for alpha of pad sink_1 of compositor"))
        #expect(check("compositor sink_0::xpos=5 ! fakesink") == "")
    }

    @Test("GR-2 an undefined variable is reported once, and what depends on its value isn't")
    func undefinedVariable() {
        #expect(
            check("${CAMERA} ! videoconvert ${REST} ! fakesink name=\"${NAME}\" c. ! identity", ["CAMRA": "x"]) == """
                a.pipeline:1:1: error: undefined variable "CAMERA"
                   1 | ${CAMERA} ! videoconvert ${REST} ! fakesink name="${NAME}" c. ! identity
                     | ^~~~~~~~~ did you mean "CAMRA"? Otherwise set it with CAMERA=value, or write a default: ${CAMERA:-default}
                a.pipeline:1:26: error: undefined variable "REST"
                   1 | ${CAMERA} ! videoconvert ${REST} ! fakesink name="${NAME}" c. ! identity
                     |                          ^~~~~~~ set it with REST=value, or write a default: ${REST:-default}
                a.pipeline:1:51: error: undefined variable "NAME"
                   1 | ${CAMERA} ! videoconvert ${REST} ! fakesink name="${NAME}" c. ! identity
                     |                                                   ^~~~~~~ set it with NAME=value, or write a default: ${NAME:-default}
                """)
    }

    @Test(
        "GR-2 a malformed variable is an error",
        arguments: ["${1X}", "${}", "${A-b}", "${A", "${A:-b"])
    func malformedVariable(_ text: String) {
        #expect(check("fakesrc name=\(text) ! fakesink").contains("error: not a variable: \"${"))
    }

    @Test("GR-2 an error in a variable's value points at the variable, one in its default at the default")
    func insideVariable() {
        #expect(
            check("${CAMERA:-v4l2src} ! fakesink", ["CAMERA": "videotestscr is-live=true"]) == """
                a.pipeline:1:1: error: no element "videotestscr"
                   1 | ${CAMERA:-v4l2src} ! fakesink
                     | ^~~~~~~~~~~~~~~~~~ did you mean "videotestsrc"? (${CAMERA} is "videotestscr is-live=true")
                """)
        #expect(
            check("${CAMERA:-videotestscr} ! fakesink") == """
                a.pipeline:1:11: error: no element "videotestscr"
                   1 | ${CAMERA:-videotestscr} ! fakesink
                     |           ^~~~~~~~~~~~ did you mean "videotestsrc"?
                """)
    }

    @Test("GR-2 a name given twice in a bin is an error, and in two bins it isn't")
    func duplicateName() {
        #expect(
            check("fakesrc name=a ! fakesink name=a") == """
                a.pipeline:1:32: error: two elements have the name "a"
                   1 | fakesrc name=a ! fakesink name=a
                     |                                ^ choose another name; names are unique in a bin
                """)
        #expect(check("( identity name=a ) ( identity name=a )") == "")
        #expect(check("fakesink name=a name=b").contains("property \"name\" is set twice"))
        // GStreamer calls the second one fakesink0.
        #expect(
            check("fakesrc name=fakesink0 ! fakesink").contains("GStreamer may name another element \"fakesink0\" too"))
    }

    @Test("GR-2 an unclosed quote ends with its line, and the next line is still checked")
    func unbalancedQuote() {
        #expect(
            check("fakesrc ! filesink location=\"a ! b\nfakesrc ! fakesnik") == """
                a.pipeline:1:29: error: this quote isn't closed
                   1 | fakesrc ! filesink location="a ! b
                     |                             ^ close it with " after the value; if the character is part of the value, write \\"
                a.pipeline:2:11: error: no element "fakesnik"
                   2 | fakesrc ! fakesnik
                     |           ^~~~~~~~ did you mean "fakesink"?
                """)
        // The second line's quote would close the first line's.
        #expect(
            check("filesink location=\"a\nfilesink location=\"b\"").contains("1:19: error: this quote isn't closed"))
        #expect(check("filesink location=a\"b c\"").contains("1:20: error: a quote must enclose the whole value"))
        #expect(
            check("fakesrc ! video/x-raw,a=\"b ! c\" ! fakesink").contains(
                "1:25: error: this quote isn't closed before the filter ends"))
    }

    @Test("GR-2 unbalanced parentheses are errors")
    func unbalancedParenthesis() {
        #expect(
            check("( fakesrc ! fakesink") == """
                a.pipeline:1:1: error: this parenthesis isn't closed
                   1 | ( fakesrc ! fakesink
                     | ^ write ")" after the bin's last element
                """)
        #expect(
            check("fakesrc ! fakesink )") == """
                a.pipeline:1:20: error: this parenthesis closes no bin
                   1 | fakesrc ! fakesink )
                     |                    ^ remove it, or write "(" before the bin's first element
                """)
        #expect(check("( )").contains("1:1: error: this bin is empty"))
        #expect(check("fakesink.( identity )").contains("1:1: error: fakesink isn't a bin"))
    }

    @Test(
        "GR-2 a syntax error is reported once, with its position",
        arguments: [
            ("fakesrc ! ! fakesink", 9, "there is no element between these two links"),
            ("! fakesink", 1, "there is no element before this link"),
            ("fakesrc !", 9, "there is no element after this link"),
            ("name=a fakesrc", 1, "property \"name\" follows no element"),
            ("", 1, "the description is empty"), ("# nothing", 1, "the description is empty"),
            ("fakesrc . ! fakesink", 9, "unexpected \".\""), ("fakesrc } ! fakesink", 9, "unexpected \"}\""),
            ("a. ! fakesink identity name=a b.", 31, "reference \"b.\" isn't linked"),
            ("fakesrc ! a. ! fakesink identity name=a", 14, "a chain can't continue after a reference"),
            ("fakesrc .src", 10, "pad \"src\" isn't linked"),
            ("fakesrc größe=1 ! fakesink", 9, "\"größe=1\" isn't a valid name"),
            ("fakesrc ! ü", 11, "unexpected \"ü\""),
            ("fakesrc ! video/x-raw,w=[ ! fakesink", 11, "these aren't caps: \"video/x-raw,w=[\""),
        ])
    func badSyntax(_ text: String, _ column: Int, _ message: String) {
        let lines = check(text).split(separator: "\n")
        #expect(lines.first.map(String.init) == "a.pipeline:1:\(column): error: \(message)")
    }

    @Test("GR-2 one pass finds each problem once, in the order of the text")
    func severalInOnePass() {
        let text = """
            videotestscr ! videoconvert patern=1 ! c.sink
            audiotestsrc ! videoconvert ! fakesink sync=maybe
            filesink location="x
            ( fakesrc
            """
        let found = Description(text).resolved().diagnose().map { "\($0.range.line):\($0.range.column) \($0.message)" }
        #expect(
            found == [
                "1:1 no element \"videotestscr\"", "1:29 videoconvert has no property \"patern\"",
                "1:40 no element is named \"c\"", "2:14 audiotestsrc can't be linked to videoconvert",
                "2:45 \"maybe\" isn't a valid value for sync of fakesink", "3:19 this quote isn't closed",
                "4:1 this parenthesis isn't closed",
            ])
    }

    @Test("GR-2 a description in a property's value is checked too")
    func nested() {
        #expect(
            check("playbin video-sink=\"videoconvert ! fakesnk\"").contains("in video-sink: no element \"fakesnk\""))
    }

    @Test("GR-2 a URI that no element handles is an error")
    func uris() {
        #expect(check("/dev/video0 ! fakesink").contains("for a file, write filesrc location=/dev/video0"))
        #expect(check("nonsense://x ! fakesink").contains("1:1: error: no element reads from \"nonsense\" URIs"))
        #expect(check("file:///tmp/x ! fakesink") == "")
    }

    @Test("GR-2 a long line is shown in part, and control characters don't reach the terminal")
    func excerpt() {
        let long = "fakesrc ! " + String(repeating: "identity ! ", count: 40) + "fakesnk ! \u{1B}"
        let lines = check(long).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[1].unicodeScalars.count <= 125)
        let caret = lines[2].unicodeScalars.prefix { $0 != "^" }.count
        #expect(String(String.UnicodeScalarView(lines[1].unicodeScalars.dropFirst(caret).prefix(7))) == "fakesnk")
        #expect(!check(long).unicodeScalars.contains("\u{1B}"))
    }

    @Test("GR-2 colors are printed only on request")
    func color() {
        let diagnostic = Description("fakesnk").resolved().diagnose()[0]
        #expect(diagnostic.rendered(color: true).contains("\u{1B}[1;31merror:\u{1B}[0m"))
        #expect(!diagnostic.rendered(color: false).contains("\u{1B}"))
    }

    @Test("GR-2 custom checks see each element with its decoded values, and give problems a position")
    func additionalChecks() {
        struct NoAuto: DescriptionCheck {
            func problems(in element: DescribedElement) -> [Diagnostic] {
                guard element.factory == "filesrc", let location = element.property("location"), location.value == "a b"
                else { return [] }
                return [location.diagnostic("no \"a b\" here", hint: "\(element.name ?? "?")")]
            }
        }
        let found = Description("filesrc name=f location=a\\ b ! fakesink").resolved().diagnose(additionalChecks: [
            NoAuto()
        ])
        #expect(
            found.map(\.description) == [
                """
                description:1:25: error: no "a b" here
                   1 | filesrc name=f location=a\\ b ! fakesink
                     |                         ^~~~ f
                """
            ])
    }

    @Test("GR-2 a description file that can't be read is a typed error")
    func files() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("description-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("a.pipeline").path
        #expect(throws: Description.FileError.notFound(path: path)) { try Description(contentsOfFile: path) }
        #expect(throws: Description.FileError.isDirectory(path: directory.path)) {
            try Description(contentsOfFile: directory.path)
        }
        try Data([0x61, 0x0A, 0xFF, 0xFE]).write(to: URL(fileURLWithPath: path))
        #expect(throws: Description.FileError.notUTF8(path: path, line: 2)) { try Description(contentsOfFile: path) }
        try Data("fakesnk".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try Description(contentsOfFile: path).resolved().diagnose().first?.range.file == path)
    }
}

/// Returns the problems of a description as `check` prints them, without colors.
func renderedProblems(of text: String, with variables: [String: String] = [:]) -> String {
    do { try Nodes.register() } catch { return "\(error)" }
    return Description(text, name: "a.pipeline").resolved(with: variables).diagnose().map { $0.rendered(color: false) }
        .joined(separator: "\n")
}
