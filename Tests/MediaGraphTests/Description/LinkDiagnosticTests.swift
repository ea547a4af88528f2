import Foundation
import GStreamer
import Testing

@testable import MediaGraph

/// Tests the problems that are found in a description's links, pads and caps.
@Suite struct LinkDiagnosticTests {
    private func check(_ text: String) -> String { renderedProblems(of: text) }

    @Test("GR-2 an impossible link is reported with both sides' caps")
    func impossibleLink() {
        #expect(
            check("audiotestsrc ! jpegenc ! fakesink") == """
                a.pipeline:1:14: error: audiotestsrc can't be linked to jpegenc
                   1 | audiotestsrc ! jpegenc ! fakesink
                     |              ^ audiotestsrc produces audio/x-raw; jpegenc accepts video/x-raw
                """)
    }

    @Test("GR-2 a devicesource gives what its `source` or its kind gives")
    func deviceLinks() {
        #expect(
            check("devicesource kind=microphone ! videoconvert ! fakesink").contains(
                "devicesource can't be linked to videoconvert"))
        #expect(
            check("devicesource ! audioconvert ! fakesink").contains("devicesource can't be linked to audioconvert"))
        #expect(
            check("devicesource source=\"audiotestsrc is-live=true\" ! jpegenc ! fakesink").contains(
                "devicesource can't be linked to jpegenc"))
        // The devicesource converts formats that the camera doesn't have.
        for text in [
            "devicesource ! videoconvert ! fakesink", "devicesource ! jpegdec ! fakesink",
            "devicesource source=\"multifilesrc ! jpegparse\" ! videoconvert ! fakesink",
            "devicesource source=\"videotestsrc ! jpegenc\" ! videoconvert ! fakesink",
            "devicesource kind=microphone ! audioconvert ! fakesink",
            "devicesource kind=screen ! videoconvert ! fakesink",
        ] {
            #expect(check(text) == "", "\(text)")
        }
    }

    @Test("GR-2 an impossible link between equal media types is reported with the fields that differ")
    func impossibleFilter() {
        #expect(
            check("videotestsrc ! video/x-raw,format=GRAY8 ! jpegparse ! fakesink").contains(
                "jpegparse can't accept video/x-raw, format=GRAY8"))
        #expect(
            check("audiotestsrc ! audio/x-raw,channels=0 ! fakesink") == """
                a.pipeline:1:14: error: audiotestsrc can't produce audio/x-raw, channels=0
                   1 | audiotestsrc ! audio/x-raw,channels=0 ! fakesink
                     |              ^~~~~~~~~~~~~~~~~~~~~~~~~~ it produces channels=[ 1, 2147483647 ]; the filter allows channels=0
                """)
    }

    @Test(
        "GR-2 caps that GStreamer would misread with a warning on the terminal are errors",
        arguments: [
            ("video/x-raw,width=[5,1]", "the range [5,1] must start with the smaller value"),
            ("video/x-raw,width=\"320\"", "GStreamer reads \"320\" as a gint"),
            ("video/x-raw-yuv", "this is the syntax of GStreamer 0.10; write video/x-raw,format=…"),
            ("video/x-raw(DMABuf)", "caps features have a prefix, as in memory:DMABuf"),
            ("video/x-raw,a=(GstIntRange)5", "a value of type GstIntRange can't be written as text"),
            ("video/x-raw,width=[0,10,3]", "both ends of the range [0,10,3] must be multiples of the step"),
        ])
    func misreadCaps(_ caps: String, _ hint: String) {
        let filter = check("fakesrc ! \(caps) ! fakesink")
        #expect(filter.contains("1:11: error: these aren't caps"))
        #expect(filter.contains(hint))
        let property = check("capsfilter caps=\(caps.replacing("\"", with: "\\\""))")
        #expect(property.contains("1:17: error:"))
        #expect(property.contains(hint))
    }

    @Test("GR-2 linking an element on a side where it has no pad is an error")
    func noPad() {
        #expect(
            check("fakesrc ! fakesrc").contains(
                "1:11: error: fakesrc has no sink pad, so nothing can be linked before it"))
        #expect(
            check("fakesink ! fakesink").contains(
                "1:1: error: fakesink has no source pad, so nothing can be linked after it"))
    }

    @Test("GR-2 a pad that matches no template is reported with the pads that exist")
    func unknownPad() {
        #expect(check("tee name=t ! fakesink t.foo ! fakesink").contains("tee \"t\" has no pad \"foo\""))
        // GStreamer would wait forever for this pad.
        #expect(
            check("decodebin name=d d.video_0 ! fakesink") == """
                a.pipeline:1:20: error: decodebin "d" has no pad "video_0"
                   1 | decodebin name=d d.video_0 ! fakesink
                     |                    ^~~~~~~ its source pads: src_%u
                """)
        #expect(check("fakesrc .src ! .src identity").contains("isn't a sink pad"))
    }

    @Test("GR-2 a second link to a pad is an error")
    func occupiedPad() {
        #expect(
            check("fakesrc ! identity name=x ! fakesink x. ! fakesink").contains(
                "1:41: error: identity \"x\" is already linked"))
        #expect(check("fakesrc ! tee name=x ! fakesink x. ! fakesink") == "")
    }

    @Test("GR-2 a request pad that is named twice is reported where it is named again")
    func occupiedRequest() throws {
        try Nodes.register()
        #expect(
            check("audiotestsrc ! m.sink_0 audiotestsrc ! m.sink_0 audiomixer name=m ! fakesink") == """
                a.pipeline:1:42: error: pad "sink_0" of audiomixer "m" is already linked
                   1 | audiotestsrc ! m.sink_0 audiotestsrc ! m.sink_0 audiomixer name=m ! fakesink
                     |                                          ^~~~~~ each pad takes one stream; name another one (sink_%u), or leave the pads' names out
                """)
        #expect(check("audiotestsrc ! e.user_a audiotestsrc ! e.user_b virtualspeaker name=e") == "")
    }

    @Test("GR-2 audio linked to a rawdatapipe is an impossible link, without a warning by GLib")
    func audioIntoPipe() throws {
        try Nodes.register()
        #expect(
            check("virtualmic handler=tone ! rawdatapipe handler=count") == """
                a.pipeline:1:25: error: virtualmic can't be linked to rawdatapipe
                   1 | virtualmic handler=tone ! rawdatapipe handler=count
                     |                         ^ virtualmic produces audio/x-raw; rawdatapipe accepts video/x-raw
                """)
    }

    @Test("GR-2 a reference to an unknown name is reported with the nearest name")
    func undefinedName() {
        #expect(
            check("fakesrc ! tee name=split splt. ! fakesink") == """
                a.pipeline:1:26: error: no element is named "splt"
                   1 | fakesrc ! tee name=split splt. ! fakesink
                     |                          ^~~~ did you mean "split"?
                """)
    }

    @Test("GR-2 links that templates can't decide are checked by GStreamer's parser, with a position")
    func undecidedByTemplates() {
        #expect(
            check("bin.( name=b identity ) b. ! fakesink") == """
                a.pipeline:1:28: error: bin "b" can't be linked to fakesink
                   1 | bin.( name=b identity ) b. ! fakesink
                     |                            ^ reported by GStreamer
                """)
        // GStreamer's parser finds nothing wrong with a description that is correct.
        #expect(check("videotestsrc ! fakesink") == "")
    }

    @Test("GR-2 elements linked in a loop are named, however long the loop is")
    func loops() {
        #expect(
            check("identity name=a ! queue ! a.") == """
                a.pipeline:1:25: error: these elements are linked in a loop: identity "a" → queue → identity "a"
                   1 | identity name=a ! queue ! a.
                     |                         ^ GStreamer can't run a loop; to feed frames back, use intervideosink and intervideosrc
                """)
        let long = "funnel name=f ! " + Array(repeating: "identity", count: 500).joined(separator: " ! ")
        #expect(check("fakesrc ! \(long) ! tee name=t ! fakesink t. ! f.").contains("loop: funnel \"f\" → identity"))
    }

    @Test("GR-2 a stream that splits and joins again isn't taken for a loop")
    func diamonds() {
        #expect(
            check("fakesrc ! tee name=t ! queue ! funnel name=f ! fakesink t. ! queue ! f. t. ! identity ! f.") == "")
    }
}
