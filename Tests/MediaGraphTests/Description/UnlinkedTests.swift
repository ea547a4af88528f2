import GStreamer
import Testing

@testable import MediaGraph

/// Tests elements that a description leaves unlinked. GStreamer runs them, and an unlinked sink waits forever.
@Suite struct UnlinkedTests {
    init() throws { try Nodes.register() }

    private func check(_ text: String) -> String {
        Description(text, name: "a.pipeline").resolved().diagnose(isComplete: true).map { $0.rendered(color: false) }
            .joined(separator: "\n")
    }

    @Test("GR-2 a sink without an input is an error")
    func lonelySink() {
        #expect(
            check("fakesink") == """
                a.pipeline:1:1: error: nothing is linked to fakesink, so it would wait forever
                   1 | fakesink
                     | ^~~~~~~~ link an element to it: … ! fakesink
                """)
    }

    @Test("GR-2 a missing link between two elements is reported once, at the second one")
    func missingLink() {
        #expect(
            check("videotestsrc ! tee name=t  fakesink") == """
                a.pipeline:1:28: error: nothing is linked to fakesink, so it would wait forever
                   1 | videotestsrc ! tee name=t  fakesink
                     |                            ^~~~~~~~ is a "!" missing before it? Or link it by name: t. ! fakesink
                """)
        #expect(
            check("videotestsrc fakesink").hasSuffix("             ^~~~~~~~ is a \"!\" missing before it?"))
    }

    @Test("GR-2 a filter without an input is an error if something reads from it, otherwise a warning")
    func lonelyFilter() {
        #expect(
            check("identity ! fakesink").contains(
                "1:1: error: nothing is linked to identity, so elements downstream would wait forever"))
        #expect(
            check("fakesrc ! fakesink identity name=i").contains(
                "1:20: warning: identity \"i\" isn't linked to anything: it does nothing"))
        #expect(
            check("matroskamux ! fakesink").contains(
                "1:1: warning: nothing is linked to matroskamux, so it outputs nothing"))
    }

    @Test("GR-2 an output that isn't linked is a warning")
    func unread() {
        #expect(
            check("fakesrc ! identity name=i") == """
                a.pipeline:1:11: warning: the output of identity "i" isn't linked: its stream will fail with not-linked
                   1 | fakesrc ! identity name=i
                     |           ^~~~~~~~ link it: i. ! …
                """)
        #expect(check("fakesrc ! tee").contains("1:11: warning: the output of tee isn't linked"))
        #expect(check("fakesrc ! tee allow-not-linked=true") == "")
        // A sink with async=false blocks nothing, and a compositor with force-live=true needs no input.
        #expect(check("fakesrc ! fakesink fakesink async=false").contains("1:20: warning: fakesink isn't linked"))
        #expect(check("compositor force-live=true ! fakesink") == "")
    }

    @Test("GR-2 a speaker without an input and a microphone without an output are reported")
    func sound() {
        #expect(
            check("virtualspeaker handler=count").contains(
                "1:1: warning: nothing is linked to virtualspeaker: there is nothing to hear"))
        #expect(
            check("virtualspeaker handler=count ! fakesink").contains(
                "1:1: error: nothing is linked to virtualspeaker, so elements downstream would wait forever"))
        #expect(
            check("virtualmic handler=tone").contains(
                "1:1: warning: the output of virtualmic isn't linked: its stream will fail with not-linked"))
        #expect(check("virtualmic handler=tone ! virtualspeaker handler=count") == "")
    }

    @Test(
        "GR-2 elements that are linked later, by name, through a bin or on request aren't reported",
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

    @Test("GR-2 an undefined variable may stand for the missing link")
    func unknown() {
        #expect(!check("${A} fakesink").contains("nothing is linked"))
    }

    @Test("GR-6 a program may link elements that its description leaves unlinked")
    func programs() throws {
        _ = try Graph("fakesink name=s")
        #expect(try Graph.diagnose(Description("fakesink name=s")).map(\.severity) == [.error])
    }

    @Test("GR-2 two inputs that may both link to the same mixer pad are a warning")
    func delayedLinks() {
        #expect(
            check(
                "filesrc location=/dev/zero ! decodebin ! c. uridecodebin uri=file:///a name=u ! c. compositor name=c ! fakesink"
            )
                == """
                a.pipeline:1:79: warning: decodebin and uridecodebin "u" may link their streams to the same pad of compositor "c" \
                while the graph starts; one stream would then be lost
                   1 | filesrc location=/dev/zero ! decodebin ! c. uridecodebin uri=file:///a name=u ! c. compositor name=c ! fakesink
                     |                                                                               ^ put a queue before c in each branch: ! queue ! c.
                """)
        for accepted in [
            "decodebin ! queue ! c. decodebin ! queue ! c.", "decodebin ! c.sink_0 decodebin ! c.sink_1",
            "decodebin ! c. videotestsrc ! c.", "decodebin name=d ! c. d. ! c.",
        ] {
            let text = "\(accepted) compositor name=c ! fakesink".replacing(
                "decodebin", with: "filesrc location=/dev/zero ! decodebin")
            #expect(check(text) == "", "\(accepted)")
        }
    }

    @Test("GR-2 GR-13 linking only one of a demuxer's streams to a muxer is a warning")
    func remux() {
        let from = "filesrc location=/dev/zero"
        #expect(
            check("\(from) ! qtdemux ! h264parse ! mpegtsmux ! fakesink") == """
                a.pipeline:1:38: warning: only one stream of qtdemux goes into mpegtsmux; if the input has others, they are lost
                   1 | filesrc location=/dev/zero ! qtdemux ! h264parse ! mpegtsmux ! fakesink
                     |                                      ^ link each by name: qtdemux name=d d.video_0 ! queue ! m. d.audio_0 ! queue ! m., with name=m on mpegtsmux
                """)
        for (text, hint) in [
            (
                "qtdemux ! h264parse ! mp4mux name=x",
                "qtdemux name=d d.video_0 ! queue ! x.video_0 d.audio_0 ! queue ! x.audio_0"
            ),
            ("matroskademux ! splitmuxsink name=x", "d.video_0 ! queue ! x.video d.audio_0 ! queue ! x.audio_0"),
            ("flvdemux ! h264parse ! matroskamux name=x", "d.video ! queue ! x.video_0 d.audio ! queue ! x.audio_0"),
            ("tsdemux ! h264parse ! matroskamux name=x", "`mediagraph inspect tsdemux` lists them"),
        ] {
            let found = check("\(from) ! \(text)")
            #expect(found.contains(hint), "\(found)")
        }
        for accepted in [
            "qtdemux name=d d.video_0 ! mpegtsmux ! fakesink", "qtdemux ! avdec_h264 ! x264enc ! mpegtsmux ! fakesink",
            "qtdemux name=d mpegtsmux name=m ! fakesink d. ! queue ! m. d. ! queue ! m.",
            "qtdemux ! h264parse ! fakesink",
            "wavparse ! wavenc ! fakesink",
        ] {
            #expect(!check("\(from) ! \(accepted)").contains("only one stream"), "\(accepted)")
        }
    }

    @Test("GR-2 branches of a tee that would wait for each other forever are a warning")
    func teeWithoutQueues() {
        #expect(
            check("videotestsrc ! tee name=t t. ! fakesink t. ! fakesink") == """
                a.pipeline:1:16: warning: a branch of tee "t" has no queue, so the branches block each other
                   1 | videotestsrc ! tee name=t t. ! fakesink t. ! fakesink
                     |                ^~~ put a queue at the head of each branch: t. ! queue ! …
                """)
        for accepted in [
            "t. ! queue ! fakesink t. ! fakesink", "t. ! fakesink t. ! queue ! rawdatapipe handler=count",
            "t. ! rawdatapipe handler=count t. ! rawdatapipe handler=count",
            "t. ! queue ! identity ! fakesink t. ! queue ! fakesink", "t. ! fakesink t. ! fakesink async=false",
        ] {
            #expect(check("videotestsrc ! tee name=t \(accepted)") == "", "\(accepted)")
        }
    }

    @Test(
        "GR-2 a missing file name or URI is an error with the text to write",
        arguments: [
            ("fakesrc ! filesink name=f", "filesink \"f\" has no location", "write filesink location=FILE"),
            ("filesrc ! fakesink", "filesrc has no location", "write filesrc location=FILE"),
            ("uridecodebin ! fakesink", "uridecodebin has no uri", "write uridecodebin uri=file:///…"),
            (
                "videotestsrc ! x264enc ! splitmuxsink", "splitmuxsink has no location",
                "write splitmuxsink location=part-%02d.mp4"
            ),
        ])
    func unsetFile(text: String, message: String, hint: String) {
        let found = Description(text).resolved().diagnose(isComplete: true)
        #expect(
            found.contains { $0.severity == .error && $0.hint == hint && $0.message.hasPrefix(message) }, "\(found)")
        // Without `isComplete`, a program may set the property later.
        #expect(!Description(text).resolved().diagnose().contains { $0.hint == hint })
    }

    @Test(
        "GR-13 an appsink that nobody reads is a warning that tells the effect on the graph",
        arguments: [
            ("appsink", "they fill the memory, and the graph never ends"),
            ("appsink wait-on-eos=false", "they fill the memory"),
            ("appsink max-buffers=3", "the graph stalls once max-buffers=3 is reached"),
            ("appsink max-buffers=3 drop=true", "the graph never ends, since appsink waits until they are read"),
        ])
    func unreadSink(text: String, effect: String) {
        let found = Description("fakesrc ! \(text)").resolved().diagnose(isComplete: true)
        #expect(found.map(\.message) == ["nothing reads the samples of appsink: \(effect)"])
        #expect(found.allSatisfy { $0.severity == .warning })
        #expect(Description("fakesrc ! \(text)").resolved().diagnose() == [])
    }

    @Test("GR-2 an element whose file or limits are set is accepted")
    func setFile() {
        for text in [
            "fakesrc ! filesink location=x", "uridecodebin uri=file:///x ! fakesink",
            "videotestsrc ! appsink max-buffers=1 drop=true wait-on-eos=false",
        ] {
            #expect(check(text) == "")
        }
    }
}
