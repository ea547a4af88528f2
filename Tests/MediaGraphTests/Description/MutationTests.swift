import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Tests that every text gives diagnostics or a valid description: no crash, and no warning by GLib on the terminal.
/// The suite runs with `G_DEBUG=fatal_warnings`, so such a warning is a crash.
@Suite struct MutationTests {
    private static let fragments = [
        "!", " ! ", "\"", "'", "(", ")", "\\", "=", ".", ",", ";", ":", "#", "${", "}", "$${", "${A:-", "\n", " ",
        "[5,1]", "-1",
        "99999999999999999999", "name=a", "@preset=x", "::", "{", "<", "\u{0}", "ü", "\u{FFFD}", "%", "/", "fakesink",
        "bin.(", "a.",
        "video/x-raw", "(int)", "(GstIntRange)", "NULL", "0", "e308",
    ]

    @Test("GR-2 no invalid text crashes, tested with mutations of valid descriptions", arguments: 0..<8)
    func mutations(_ part: UInt64) throws {
        var random = SplitMix(seed: 0x6772_3210 + part)
        for round in 0..<Soak.count(40, soak: 150) {
            var scalars = Array(DifferentialTests.corpus.randomElement(using: &random)!.unicodeScalars)
            for _ in 0...(round % 3) {
                let place = Int.random(in: 0...scalars.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    scalars.removeSubrange(place..<min(scalars.count, place + Int.random(in: 1...4, using: &random)))
                case 1:
                    scalars.insert(contentsOf: Self.fragments.randomElement(using: &random)!.unicodeScalars, at: place)
                case 2 where place < scalars.count: scalars[place] = scalars.randomElement(using: &random)!
                default:
                    let other = DifferentialTests.corpus.randomElement(using: &random)!.unicodeScalars
                    scalars.replaceSubrange(
                        place..., with: other.suffix(Int.random(in: 0...other.count, using: &random)))
                }
            }
            let text = String(String.UnicodeScalarView(scalars))
            let description = Description(text)
            let diagnostics = description.resolved(with: ["A": "\" ! \\"]).diagnose()
            for diagnostic in diagnostics {
                #expect(diagnostic.range.line >= 1 && diagnostic.range.column >= 1)
                #expect(!diagnostic.rendered(color: false).isEmpty)
            }
            #expect(Set(diagnostics).count == diagnostics.count)
            let all = description.resolved(with: ["A": "\" ! \\"]).diagnose(
                additionalChecks: NodeChecks.all(isBeforeRun: false, isComplete: true, besides: []),
                parses: false, isComplete: true)
            #expect(Set(all).count == all.count)
            if diagnostics.allSatisfy({ $0.severity == .warning }) {
                let expanded = try description.resolved(with: ["A": "\" ! \\"]).text
                #expect(DescriptionProbe.parse(expanded)?.message == nil, "\(text.debugDescription)")
            }
        }
    }

    @Test("GR-2 deep nesting and long text give a diagnostic and no stack overflow")
    func extremes() {
        let deep = String(repeating: "( ", count: 30_000)
        #expect(Description(deep).resolved().diagnose().contains { $0.message.contains("nested more than") })
        let braces = "fakesrc ! video/x-raw,a=" + String(repeating: "{", count: 30_000) + " ! fakesink"
        #expect(!Description(braces).resolved().diagnose().isEmpty)
        let defaults = String(repeating: "${A:-", count: 30_000)
        #expect(!Description(defaults).resolved().diagnose().isEmpty)
        #expect(!Description(String(repeating: "fakesnk ! ", count: 300)).resolved().diagnose().isEmpty)
        #expect(!Description(String(repeating: "\"", count: 10_000)).resolved().diagnose().isEmpty)
        #expect(
            !Description("fakesrc name=" + String(repeating: "\\", count: 10_001)).resolved().diagnose().contains {
                $0.severity == .error
            })
    }
}
