import Testing

@testable import MediaGraph

/// What `check` says about the formats that a description fixes.
@Suite struct CapsTests {
    private func check(_ text: String) throws -> String {
        try Graph.diagnose(Description(text, name: "a.pipeline")).map { $0.rendered(color: false) }
            .joined(separator: "\n")
    }

    @Test("GR-2 sound into a microphone that makes its own is a warning at the handler")
    func unheardInput() throws {
        #expect(
            try check("audiotestsrc ! virtualmic handler=tone ! fakesink") == """
                a.pipeline:1:35: warning: virtualmic's handler tone makes a sound of its own: nobody hears what comes in
                   1 | audiotestsrc ! virtualmic handler=tone ! fakesink
                     |                                   ^~~~ what edits it is handler=gain
                """)
        #expect(try check("audiotestsrc ! virtualmic handler=gain ! fakesink") == "")
        #expect(try check("audiotestsrc ! virtualmic ! fakesink") == "")
    }

    @Test("GR-2 what edits sound that doesn't come, and two channels that may not leave, are errors at their words")
    func impossibleMicrophones() throws {
        #expect(
            try check("virtualmic handler=gain ! fakesink") == """
                a.pipeline:1:20: error: virtualmic's handler gain edits what comes in, and nothing does
                   1 | virtualmic handler=gain ! fakesink
                     |                    ^~~~ put a source before it: autoaudiosrc ! audioconvert ! virtualmic handler=gain
                """)
        #expect(
            try check("virtualmic handler=tone options=channels=2 ! fakesink") == """
                a.pipeline:1:33: error: two channels are sent, and virtualmic has stereo=false
                   1 | virtualmic handler=tone options=channels=2 ! fakesink
                     |                                 ^~~~~~~~~~ add stereo=true
                """)
        #expect(try check("virtualmic stereo=true handler=tone options=channels=2 ! fakesink") == "")
    }

    @Test("GR-2 a filter that a handler can't take is an impossible link, with both sides")
    func handlerAfterFilter() throws {
        #expect(
            try check("videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor handler=blur ! fakesink") == """
                a.pipeline:1:14: error: preprocessor handler=blur can't take video/x-raw, format=GRAY8
                   1 | videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor handler=blur ! fakesink
                     |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~ the filter allows format=GRAY8, it takes format={ I420, NV12, NV21, Y42B, BGRA, RGBA, ARGB, ABGR, RGB, BGR…
                """)
    }

    @Test("GR-2 what a filter fixes goes through queues, tees and other handlers")
    func carried() throws {
        let found = try check(
            "videotestsrc ! video/x-raw,format=I420 ! queue ! tee ! identity ! preprocessor handler=despill ! fakesink"
        )
        #expect(found.contains("error: identity can't be linked to preprocessor handler=despill"), "\(found)")
        #expect(found.contains("format=I420"), "\(found)")
        let after = try check("videotestsrc ! preprocessor handler=despill ! video/x-raw,format=I420 ! fakesink")
        #expect(
            after.contains("error: preprocessor handler=despill can't give video/x-raw, format=I420"), "\(after)")
        for text in [
            "videotestsrc ! video/x-raw,format=A420 ! queue ! preprocessor handler=background ! fakesink",
            "videotestsrc ! video/x-raw,format=GRAY8 ! videoconvert ! preprocessor handler=blur ! fakesink",
            "videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor ! fakesink",
            "videotestsrc ! video/x-raw,width=320 ! queue ! preprocessor handler=blur ! rawdatapipe handler=count",
        ] {
            #expect(try check(text) == "")
        }
    }

    @Test("GR-2 a pipe's format that its handler doesn't take is an error")
    func pipeFormat() throws {
        #expect(
            try check("videotestsrc ! rawdatapipe format=NV12 handler=y4m options=location=/tmp/x.y4m") == """
                a.pipeline:1:35: error: handler y4m doesn't take NV12
                   1 | videotestsrc ! rawdatapipe format=NV12 handler=y4m options=location=/tmp/x.y4m
                     |                                   ^~~~ it takes I420, Y42B
                """)
        #expect(try check("videotestsrc ! rawdatapipe format=yuv handler=y4m options=location=/tmp/x.y4m") == "")
    }

    @Test("GR-2 a mistyped field of raw caps is a warning with the field that was meant")
    func fields() throws {
        #expect(
            try check("videotestsrc ! video/x-raw,format=I420,widht=320 ! fakesink") == """
                a.pipeline:1:40: warning: video/x-raw has no field "widht", and nothing here looks at one
                   1 | videotestsrc ! video/x-raw,format=I420,widht=320 ! fakesink
                     |                                        ^~~~~ did you mean "width"?
                """)
        #expect(
            try check("audiotestsrc ! audio/x-raw, channel=2 ! fakesink").contains(
                "1:29: warning: audio/x-raw has no field \"channel\""))
        #expect(
            try check("videotestsrc ! capsfilter caps=\"video/x-raw,heigth=2\" ! fakesink").contains(
                "did you mean \"height\"?"))
        // A field of one's own is none of GStreamer's mistyped.
        #expect(try check("videotestsrc ! video/x-raw,note=5 ! fakesink") == "")
    }

    @Test(
        "GR-2 a value of raw caps that nothing has is an error with the value that was meant, and the only one",
        arguments: [
            ("videotestsrc ! video/x-raw,framerate=30 ! fakesink", "framerate must be a fraction", "framerate=30/1"),
            (
                "videotestsrc ! video/x-raw,framerate=29.97 ! fakesink", "framerate must be a fraction",
                "framerate=30000/1001"
            ),
            (
                "videotestsrc ! video/x-raw,framerate=23.976 ! fakesink", "framerate must be a fraction",
                "framerate=24000/1001"
            ),
            (
                "videotestsrc ! video/x-raw,framerate=12.5 ! fakesink", "framerate must be a fraction",
                "framerate=12500/1000"
            ),
            ("videotestsrc ! video/x-raw,format=i420 ! fakesink", "there is no video format \"i420\"", "format=I420"),
            ("audiotestsrc ! audio/x-raw,format=S16 ! fakesink", "there is no audio format \"S16\"", "format=S16LE"),
            (
                "audiotestsrc ! audio/x-raw,format=f32le ! fakesink", "there is no audio format \"f32le\"",
                "format=F32LE"
            ),
        ])
    func values(text: String, message: String, meant: String) throws {
        let said = try check(text)
        #expect(said.contains("error: \(message)\n") && said.contains("did you mean \(meant)?"), "\(said)")
        #expect(said.components(separatedBy: "error:").count == 2, "\(said)")
    }

    @Test("GR-2 formats and rates that there are, lists and ranges of them, are fine")
    func goodValues() throws {
        for caps in [
            "video/x-raw,format={ I420, NV12 },framerate=[ 1/1, 60/1 ]",
            "video/x-raw,format=GRAY8,framerate=30000/1001",
            "video/x-raw(memory:SystemMemory),format=AYUV64", "video/x-raw,framerate=(fraction)25",
        ] {
            #expect(try check("videotestsrc ! \(caps) ! fakesink") == "", "\(caps)")
        }
        #expect(try check("audiotestsrc ! audio/x-raw,format=S24_32BE ! fakesink") == "")
    }

    @Test("GR-2 a value with a space and no quotes, and an option outside of options=, are told as that")
    func quotes() throws {
        let name = try check("filesrc location=my file.mp4 ! decodebin ! fakesink")
        #expect(name.contains("a value with a space needs quotes: location=\"my …\""), "\(name)")
        let word = try check("videotestsrc ! textoverlay text=good morning ! fakesink")
        #expect(word.contains("a value with a space needs quotes: text=\"good …\""), "\(word)")
        let option = try check("videotestsrc ! preprocessor handler=watermark options=text=a size=9 ! fakesink")
        #expect(option.contains("put all options into one quoted value: options=\"text=a,size=9\""), "\(option)")
    }
}
