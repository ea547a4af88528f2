import GStreamer
import Testing

@testable import MediaGraph

/// Elements that the text leaves unlinked: GStreamer runs them, and a sink waits for ever.
@Suite struct UnlinkedTests {
    init() throws { try Nodes.register() }

    private func check(_ text: String) -> String {
        Description(text, name: "a.pipeline").diagnose(isComplete: true).map { $0.rendered(color: false) }
            .joined(separator: "\n")
    }

    @Test("GR-2 a sink that nothing is linked to is an error")
    func lonelySink() {
        #expect(
            check("fakesink") == """
                a.pipeline:1:1: error: nothing is linked to fakesink: it would wait for ever
                   1 | fakesink
                     | ^~~~~~~~ something goes before it: … ! fakesink
                """)
    }

    @Test("GR-2 a link that is missing between two elements is told once, at the second one")
    func missingLink() {
        #expect(
            check("videotestsrc ! tee name=t  fakesink") == """
                a.pipeline:1:28: error: nothing is linked to fakesink: it would wait for ever
                   1 | videotestsrc ! tee name=t  fakesink
                     |                            ^~~~~~~~ is a "!" missing before it? Or link it by name: t. ! fakesink
                """)
        #expect(
            check("videotestsrc fakesink").hasSuffix("             ^~~~~~~~ is a \"!\" missing before it?"))
    }

    @Test("GR-2 a filter without an input is an error where something reads from it, and else a warning")
    func lonelyFilter() {
        #expect(
            check("identity ! fakesink").contains(
                "1:1: error: nothing is linked to identity: what reads from it would wait for ever"))
        #expect(
            check("fakesrc ! fakesink identity name=i").contains(
                "1:20: warning: identity \"i\" isn't linked to anything: it does nothing"))
        #expect(
            check("matroskamux ! fakesink").contains(
                "1:1: warning: nothing is linked to matroskamux, which makes nothing of its own"))
    }

    @Test("GR-2 a stream that leads nowhere is a warning")
    func unread() {
        #expect(
            check("fakesrc ! identity name=i") == """
                a.pipeline:1:11: warning: nothing is linked from identity "i": its stream ends with an error, not-linked
                   1 | fakesrc ! identity name=i
                     |           ^~~~~~~~ link it on: i. ! …
                """)
        #expect(check("fakesrc ! tee").contains("1:11: warning: nothing is linked from tee"))
        #expect(check("fakesrc ! tee allow-not-linked=true") == "")
        // What holds nothing up, and what makes something by itself.
        #expect(check("fakesrc ! fakesink fakesink async=false").contains("1:20: warning: fakesink isn't linked"))
        #expect(check("compositor force-live=true ! fakesink") == "")
    }

    @Test("GR-2 a speaker that hears nothing, and a microphone that nobody hears, are told")
    func sound() {
        #expect(
            check("virtualspeaker handler=count").contains(
                "1:1: warning: nothing is linked to virtualspeaker: there is nothing to hear"))
        #expect(
            check("virtualspeaker handler=count ! fakesink").contains(
                "1:1: error: nothing is linked to virtualspeaker: what reads from it would wait for ever"))
        #expect(
            check("virtualmic handler=tone").contains(
                "1:1: warning: nothing is linked from virtualmic: its stream ends with an error, not-linked"))
        #expect(check("virtualmic handler=tone ! virtualspeaker handler=count") == "")
    }

    @Test(
        "GR-2 what is linked later, by name, through a bin or on request isn't unlinked",
        arguments: [
            "filesrc location=/dev/null ! decodebin name=d  d. ! fakesink",
            "filesrc location=/dev/null ! matroskademux name=d  d.video_0 ! fakesink  d.audio_0 ! fakesink",
            "fakesrc ! tee name=t  t. ! fakesink  t. ! queue ! fakesink",
            "fakesink name=s  fakesrc ! s.", "fakesink name=s  fakesrc ! s.sink",
            "( fakesrc ! identity ) ! fakesink", "fakesrc ! ( identity ! fakesink )",
            "bin.( name=b identity name=i )  fakesrc ! i.  i. ! fakesink",
            "fakesrc : fakesink", "videotestsrc ! textoverlay ! fakesink", "playbin", "videotestsrc ! fakevideosink",
            "compositor name=c ! fakesink  videotestsrc ! c.", "fakesrc name=fakesrc7 ! identity ! fakesink",
            "file:///dev/null ! fakesink", "fakesrc ! fakesink name=x  identity name=y ! fakesink  x0. ! y.",
        ])
    func linked(_ text: String) {
        #expect(!check(text).contains("nothing is linked"), "\(check(text))")
        #expect(!check(text).contains("isn't linked to anything"), "\(check(text))")
    }

    @Test("GR-2 what an undefined variable stands for may link anything")
    func unknown() {
        #expect(!check("${A} fakesink").contains("nothing is linked"))
    }

    @Test("GR-6 a program may link what its description doesn't")
    func programs() throws {
        _ = try Graph("fakesink name=s")
        #expect(try Graph.diagnose(Description("fakesink name=s")).map(\.severity) == [.error])
    }

    @Test("GR-2 branches of a tee that wait for each other for ever are a warning")
    func teeWithoutQueues() {
        #expect(
            check("videotestsrc ! tee name=t t. ! fakesink t. ! fakesink") == """
                a.pipeline:1:16: warning: the branches of tee "t" wait for each other: one has no queue
                   1 | videotestsrc ! tee name=t t. ! fakesink t. ! fakesink
                     |                ^~~ put one at the head of each: t. ! queue ! …
                """)
        for fine in [
            "t. ! queue ! fakesink t. ! fakesink", "t. ! fakesink t. ! queue ! rawdatapipe handler=count",
            "t. ! rawdatapipe handler=count t. ! rawdatapipe handler=count",
            "t. ! queue ! identity ! fakesink t. ! queue ! fakesink", "t. ! fakesink t. ! fakesink async=false",
        ] {
            #expect(check("videotestsrc ! tee name=t \(fine)") == "", "\(fine)")
        }
    }
}
