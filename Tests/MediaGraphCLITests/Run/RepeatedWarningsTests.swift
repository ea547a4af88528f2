import Foundation
import Testing

@testable import MediaGraphCLI

@Suite struct RepeatedWarningsTests {
    @Test("GR-3 a repeated warning of an element is shown once, and counted")
    func count() {
        var warnings = RepeatedWarnings()
        let given = [
            ("packet 1 is late", "a"), ("packet 22 is late", "a"), ("packet 1 is late", "b"), ("packet 3 is late", "a"),
            ("no packets", "c"), ("no packets", "c"), ("cam1 is interlaced", "d"), ("cam2 is interlaced", "d"),
        ]
        let areNew = given.map { warnings.record($0.0, of: $0.1) }
        #expect(areNew == [true, false, true, false, true, false, true, true])
        #expect(
            warnings.summaries == [
                "a repeated this warning 2 times: packet 1 is late", "c repeated this warning once: no packets",
            ])
    }

    @Test("GR-3 run shows a repeated warning once, with a count at the end; --json has each one")
    func run() throws {
        // srtsrc warns each time it can't connect, here five times a second.
        let description = "srtsrc uri=srt://127.0.0.1:9?conntimeo=200 ! fakesink"
        let text = try LiveProgram("run", description)
        #expect(text.waits { $0.errors.contains("warning: srtsrc0: ") }, "\(text.errors)")
        let json = try LiveProgram("run", "--json", description)
        // The text run began earlier, so it has at least two warnings when the JSON run has three.
        let warning = #""element":"srtsrc0","event":"warning""#
        #expect(json.waits { $0.output.components(separatedBy: warning).count > 3 }, "\(json.output)")
        for program in [text, json] {
            program.send(SIGINT)
            _ = program.end()
        }
        #expect(text.errors.components(separatedBy: "warning: srtsrc0: ").count == 2, "\(text.errors)")
        #expect(text.errors.contains("warning: srtsrc0 repeated this warning "), "\(text.errors)")
    }
}
