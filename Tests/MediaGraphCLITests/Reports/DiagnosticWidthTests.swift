import GStreamer
import MediaGraph
import Testing

@testable import MediaGraphCLI

@Suite struct DiagnosticWidthTests {
    /// Returns a description with a misspelled sink between this many other elements.
    private static func description(before: Int, after: Int) -> String {
        "fakesrc ! " + String(repeating: "identity ! ", count: before) + "fakesnk"
            + String(repeating: " ! identity", count: after)
    }

    @Test(
        "GR-2 in a window of any width, the caret is below the word and no line is wrapped",
        arguments: [20, 60, 80, 100, 120],
        [(before: 0, after: 20), (3, 20), (6, 0), (20, 20), (20, 0)])
    func window(_ columns: Int, _ others: (before: Int, after: Int)) throws {
        let text = Self.description(before: others.before, after: others.after)
        let diagnostic = try #require(Description(text).resolved().diagnose().first)
        let lines = diagnostic.rendered(color: false, columns: columns).split(separator: "\n")
        let indent = lines[2].prefix { $0 != "^" }.count
        #expect(lines[1].dropFirst(indent).hasPrefix("fakesnk"), "\(lines)")
        // The gutter, two ellipses and twenty columns are always needed.
        #expect(lines[1].count < max(columns, 32), "\(lines[1])")
    }

    @Test("GR-2 without a window, a line isn't shortened")
    func whole() throws {
        let text = Self.description(before: 40, after: 40)
        let run = try Program.run("check", text)
        #expect(run.errors.contains("\n   1 | \(text)\n"))
    }
}
