import CMediaGraphABI
import GStreamer
import Testing

@testable import MediaGraphCore

@Suite struct OptionsTests {
    @Test(
        "GR-5 an option has the text that was written, quoted or not",
        arguments: [
            ("a=b", "b"), ("a = b ", "b"), ("a=shot-%05d.png", "shot-%05d.png"), ("a=007", "007"), ("a=2/4", "2/4"),
            ("a=yes", "yes"), ("a=\"7\"", "7"), (#"a="one, two""#, "one, two"), (#"a="say \"hi\"""#, #"say "hi""#),
            ("a=(string)5", "5"), ("a=/tmp/ü b.png", "/tmp/ü b.png"), ("a=x=y", "x=y"), ("b=1,a=2", "2"),
        ])
    func values(_ text: String, _ value: String) throws {
        #expect(try HandlerOptions(text, handler: "h").text("a") == value)
    }

    @Test("GR-5 text that isn't a list of options is an error", arguments: ["frames", "=5", "a=\"open", "a b=c", ","])
    func unreadable(_ text: String) {
        let error = #expect(throws: MediaGraphError.self) { try HandlerOptions(text, handler: "h") }
        #expect(error?.description == "options of h: expected \(HandlerOptions.syntax), got \"\(text)\"")
    }

    @Test("empty options are accepted", arguments: ["", "  "])
    func none(_ text: String) throws {
        #expect(try HandlerOptions(text, handler: "h").text("a") == nil)
    }

    @Test(
        "GR-5 unknown keys and bad values are errors with the valid ones",
        arguments: [
            (
                "framse=10",
                "options of counter: there is no option \"framse\"; available options: fps, frames, height, width"
            ),
            ("frames=-1", "option frames of counter: expected a whole number from 0 to 2147483647, got \"-1\""),
            ("frames=ten", "option frames of counter: expected a whole number from 0 to 2147483647, got \"ten\""),
            ("fps=30/0", "option fps of counter: expected a rate such as 30 or 30000/1001, got \"30/0\""),
            ("width=64", "options of counter: only one of width and height is set; set both, or neither"),
        ])
    func refused(_ options: String, _ message: String) {
        let error = #expect(throws: MediaGraphError.self) {
            _ = try HandlerRegistry.shared.make(MGVideoSource.self, "counter", options: options)
        }
        #expect(error?.description == message)
    }

    @Test("GR-5 a built-in handler reads exactly the options that it documents")
    func documented() {
        // An unknown option causes an error that lists the options that were read.
        let needed = [
            "y4m": "location=/dev/null,", "snapshot": "location=/dev/null,limit=1,",
            "contactsheet": "location=/dev/null,",
            "framemd5": "location=/dev/null,", "raw": "location=/dev/null,",
        ]
        for kind in [HandlerRegistry.Kind.processor, .consumer] {
            for handler in HandlerRegistry.shared.handlers(kind) where handler.library == nil {
                let options = (needed[handler.name] ?? "") + "unknown-option=1"
                let error = #expect(throws: MediaGraphError.self) {
                    if kind == .processor {
                        _ = try HandlerRegistry.shared.make(MGVideoProcessor.self, handler.name, options: options)
                    } else {
                        _ = try HandlerRegistry.shared.make(MGVideoConsumer.self, handler.name, options: options)
                    }
                }
                let known = handler.options.map(\.name).sorted().joined(separator: ", ")
                #expect(
                    error?.description == """
                        options of \(handler.name): there is no option "unknown-option"; \
                        \(known.isEmpty ? "the handler has no options" : "available options: \(known)")
                        """)
            }
        }
    }

    private struct Ranged: NamedHandler {
        static let name = "ranged"
        static let summary = "A handler without a validate of its own"
        static let options = [
            HandlerOption("rows", default: "10", in: 1...100, "rows"),
            HandlerOption("strength", default: "0.5", in: 0...1.5, "strength"),
            HandlerOption("text", default: "", "text"),
        ]
        init(options: HandlerOptions) {}
    }

    @Test(
        "GR-5 numbers out of an option's range are refused even without the handler's own validation",
        arguments: [
            ("text=a", nil), ("text=a,rows=100,strength=1.5", nil),
            ("", "option text of ranged is missing; add text=…"),
            ("text=a,rows=0", "option rows of ranged: expected a number from 1 to 100, got \"0\""),
            ("text=a,rows=x", "option rows of ranged: expected a number from 1 to 100, got \"x\""),
            ("text=a,strength=1.6", "option strength of ranged: expected a number from 0 to 1.5, got \"1.6\""),
        ])
    func range(_ text: String, _ message: String?) throws {
        var refusal: String?
        do { try Ranged.validate(HandlerOptions(text, handler: "ranged")) } catch { refusal = "\(error)" }
        #expect(refusal == message)
    }
}
