import TestSupport
import Testing

@testable import MediaGraph

/// Tests the problems reported for formats that a description fixes.
@Suite struct CapsTests {
    @Test("GR-2 audio linked to a microphone whose handler generates audio is a warning at the handler")
    func ignoredInput() throws {
        #expect(
            try report(on: "audiotestsrc ! virtualmic handler=tone ! fakesink") == """
                a.pipeline:1:35: warning: virtualmic's handler tone generates its own sound, so the input is ignored
                   1 | audiotestsrc ! virtualmic handler=tone ! fakesink
                     |                                   ^~~~ to process the input, use handler=gain
                """)
        #expect(try report(on: "audiotestsrc ! virtualmic handler=gain ! fakesink") == "")
        #expect(try report(on: "audiotestsrc ! virtualmic ! fakesink") == "")
    }

    @Test("GR-2 an editing microphone without input, and stereo without `stereo=true`, are errors")
    func impossibleMicrophones() throws {
        #expect(
            try report(on: "virtualmic handler=gain ! fakesink") == """
                a.pipeline:1:20: error: virtualmic's handler gain processes input, but nothing is linked to its sink
                   1 | virtualmic handler=gain ! fakesink
                     |                    ^~~~ put a source before it: autoaudiosrc ! audioconvert ! virtualmic handler=gain
                """)
        #expect(
            try report(on: "virtualmic handler=tone options=channels=2 ! fakesink") == """
                a.pipeline:1:33: error: the handler sends two channels, but virtualmic has stereo=false
                   1 | virtualmic handler=tone options=channels=2 ! fakesink
                     |                                 ^~~~~~~~~~ add stereo=true
                """)
        #expect(try report(on: "virtualmic stereo=true handler=tone options=channels=2 ! fakesink") == "")
    }

    @Test("GR-2 a filter that a handler can't take is an impossible link, shown with both sides")
    func handlerAfterFilter() throws {
        #expect(
            try report(on: "videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor handler=blur ! fakesink") == """
                a.pipeline:1:14: error: preprocessor handler=blur can't accept video/x-raw, format=GRAY8
                   1 | videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor handler=blur ! fakesink
                     |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~ the filter allows format=GRAY8; it accepts format={ I420, NV12, NV21, Y42B, BGRA, RGBA, ARGB, ABGR, RGB, BGR…; \
                put videoconvert between them
                """)
    }

    @Test("GR-2 a filter's format is followed through queues, tees and other handlers")
    func carried() throws {
        let found = try report(
            on:
                "videotestsrc ! video/x-raw,format=I420 ! queue ! tee ! identity ! preprocessor handler=despill ! fakesink"
        )
        #expect(found.contains("error: identity can't be linked to preprocessor handler=despill"), "\(found)")
        #expect(found.contains("format=I420"), "\(found)")
        let after = try report(on: "videotestsrc ! preprocessor handler=despill ! video/x-raw,format=I420 ! fakesink")
        #expect(
            after.contains("error: preprocessor handler=despill can't produce video/x-raw, format=I420"), "\(after)")
        for text in [
            "videotestsrc ! video/x-raw,format=A420 ! queue ! preprocessor handler=background ! fakesink",
            "videotestsrc ! video/x-raw,format=GRAY8 ! videoconvert ! preprocessor handler=blur ! fakesink",
            "videotestsrc ! video/x-raw,format=GRAY8 ! preprocessor name=p ! fakesink",
            "videotestsrc ! video/x-raw,width=320 ! queue ! preprocessor handler=blur ! rawdatapipe handler=count",
        ] {
            #expect(try report(on: text) == "")
        }
    }

    @Test("GR-2 a pipe's format that its handler doesn't take is an error")
    func pipeFormat() throws {
        #expect(
            try report(on: "videotestsrc ! rawdatapipe format=NV12 handler=y4m options=location=/tmp/x.y4m") == """
                a.pipeline:1:35: error: handler y4m doesn't support NV12
                   1 | videotestsrc ! rawdatapipe format=NV12 handler=y4m options=location=/tmp/x.y4m
                     |                                   ^~~~ it supports I420, Y42B
                """)
        #expect(try report(on: "videotestsrc ! rawdatapipe format=yuv handler=y4m options=location=/tmp/x.y4m") == "")
    }

    @Test("GR-2 a mistyped field of raw caps is a warning that suggests the right field")
    func fields() throws {
        #expect(
            try report(on: "videotestsrc ! video/x-raw,format=I420,widht=320 ! fakesink") == """
                a.pipeline:1:40: warning: video/x-raw has no field "widht", so elements ignore it
                   1 | videotestsrc ! video/x-raw,format=I420,widht=320 ! fakesink
                     |                                        ^~~~~ did you mean "width"?
                """)
        #expect(
            try report(on: "audiotestsrc ! audio/x-raw, channel=2 ! fakesink").contains(
                "1:29: warning: audio/x-raw has no field \"channel\""))
        #expect(
            try report(on: "videotestsrc ! capsfilter caps=\"video/x-raw,heigth=2\" ! fakesink").contains(
                "did you mean \"height\"?"))
        // A custom field isn't close enough to a GStreamer field to be a mistyped one.
        #expect(try report(on: "videotestsrc ! video/x-raw,note=5 ! fakesink") == "")
    }

    @Test(
        "GR-2 an invalid value in raw caps is a single error that suggests the right value",
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
                "framerate=25/2"
            ),
            ("videotestsrc ! video/x-raw,framerate=30fps ! fakesink", "framerate must be a fraction", "framerate=30/1"),
            (
                "videotestsrc ! video/x-raw,framerate=30.0/1 ! fakesink", "framerate must be a fraction",
                "framerate=30/1"
            ),
            (
                "videotestsrc ! video/x-raw,pixel-aspect-ratio=1.5 ! fakesink", "pixel-aspect-ratio must be a fraction",
                "pixel-aspect-ratio=3/2"
            ),
            (
                "videotestsrc ! video/x-raw,pixel-aspect-ratio=1.0667 ! fakesink",
                "pixel-aspect-ratio must be a fraction", "pixel-aspect-ratio=16/15"
            ),
            (
                "audiotestsrc ! audio/x-raw,rate=48000.0 ! fakesink", "rate must be a whole number (int)",
                "rate=48000"
            ),
            ("audiotestsrc ! audio/x-raw,rate=48k ! fakesink", "rate must be a whole number (int)", "rate=48000"),
            ("audiotestsrc ! audio/x-raw,rate=44.1kHz ! fakesink", "rate must be a whole number (int)", "rate=44100"),
            ("videotestsrc ! video/x-raw,width=320.5 ! fakesink", "width must be a whole number (int)", "width=320"),
            (
                "filesrc location=/dev/null ! decodebin ! video/x-raw,framerate=29.97 ! fakesink",
                "framerate must be a fraction", "framerate=30000/1001"
            ),
            (
                "multifilesrc location=/dev/null caps=image/jpeg,framerate=5 ! jpegdec ! fakesink",
                "framerate must be a fraction", "framerate=5/1"
            ),
            ("appsrc caps=video/x-raw,framerate=30 ! fakesink", "framerate must be a fraction", "framerate=30/1"),
            ("appsrc caps=video/x-raw,format=i420 ! fakesink", "there is no video format \"i420\"", "format=I420"),
            ("videotestsrc ! video/x-raw,format=i420 ! fakesink", "there is no video format \"i420\"", "format=I420"),
            ("audiotestsrc ! audio/x-raw,format=S16 ! fakesink", "there is no audio format \"S16\"", "format=S16LE"),
            (
                "audiotestsrc ! audio/x-raw,format=f32le ! fakesink", "there is no audio format \"f32le\"",
                "format=F32LE"
            ),
        ])
    func values(text: String, message: String, meant: String) throws {
        let printed = try report(on: text)
        #expect(printed.contains("error: \(message)\n") && printed.contains("did you mean \(meant)?"), "\(printed)")
        #expect(printed.components(separatedBy: "error:").count == 2, "\(printed)")
    }

    @Test("GR-2 a decimal number for a fraction property is an error that suggests the fraction")
    func fractionProperties() throws {
        let text = "filesrc location=/dev/null ! rawvideoparse framerate=29.97 pixel-aspect-ratio=1.5 ! fakesink"
        let printed = try report(on: text)
        #expect(printed.contains("did you mean 30000/1001?") && printed.contains("did you mean 3/2?"), "\(printed)")
    }

    @Test("GR-2 existing formats and rates, and lists and ranges of them, cause no report")
    func goodValues() throws {
        for caps in [
            "video/x-raw,format={ I420, NV12 },framerate=[ 1/1, 60/1 ]",
            "video/x-raw,format=GRAY8,framerate=30000/1001",
            "video/x-raw(memory:SystemMemory),format=AYUV64", "video/x-raw,framerate=(fraction)25",
        ] {
            #expect(try report(on: "videotestsrc ! \(caps) ! fakesink") == "", "\(caps)")
        }
        #expect(try report(on: "audiotestsrc ! audio/x-raw,format=S24_32BE ! fakesink") == "")
    }

    @Test(
        "GR-2 options written beside options= are reported once, with the corrected text",
        arguments: [
            (
                "videotestsrc ! preprocessor handler=watermark options=text=a size=9 ! fakesink", "size",
                #"put all options into one quoted value: options="text=a,size=9""#
            ),
            (
                "videotestsrc ! preprocessor handler=pixelate options=block=8, x=0.5, y=0.5 ! fakesink", "x",
                #"put all options into one quoted value: options="block=8,x=0.5,y=0.5""#
            ),
            (
                #"videotestsrc ! preprocessor handler=watermark options="text=\"a,b\"" size=9 ! fakesink"#, "size",
                #"put all options into one quoted value: options="text=\"a,b\",size=9""#
            ),
            (
                "videotestsrc ! preprocessor handler=blur radius=5 ! fakesink", "radius",
                #"radius is an option of blur: options="radius=5""#
            ),
            (
                "videotestsrc ! preprocessor x=0.5 handler=blur options=radius=5 ! fakesink", "x",
                #"x is an option of blur: options="radius=5,x=0.5""#
            ),
            (
                "videotestsrc ! capsfilter caps=video/x-raw, width=320 ! fakesink", "width",
                #"put all fields into one quoted value: caps="video/x-raw,width=320""#
            ),
        ])
    func misplacedOptions(text: String, name: String, hint: String) throws {
        try Nodes.register()
        let found = Description(text).resolved().diagnose()
        #expect(found.count == 1 && found[0].message.hasSuffix("has no property \"\(name)\""), "\(found)")
        #expect(found.first?.hint == hint)
    }

    @Test(
        "GR-2 a value with spaces but no quotes is reported once, with the whole value in quotes",
        arguments: [
            ("filesrc location=my file.mp4 ! decodebin ! fakesink", #"location="my file.mp4""#),
            (
                "filesrc location=my file with spaces.mp4 ! decodebin ! videoconvert ! fakesink",
                #"location="my file with spaces.mp4""#
            ),
            ("videotestsrc ! textoverlay text=good morning! fakesink", #"text="good morning""#),
            ("uridecodebin uri=file:///tmp/my file.mp4 ! fakesink", #"uri="file:///tmp/my file.mp4""#),
            ("videotestsrc ! textoverlay text=a b c name=x ! fakesink", #"text="a b c""#),
        ])
    func spaces(text: String, value: String) throws {
        let found = try Graph.diagnose(Description(text))
        #expect(found.map(\.hint) == ["write \(value)"])
        #expect(found.allSatisfy { $0.severity == .error })
    }

    @Test("GR-2 a mistyped element behind a value isn't taken for a part of the value")
    func mistypedElement() throws {
        #expect(try report(on: "filesrc location=x decodbin ! fakesink").contains("did you mean \"decodebin\"?"))
        #expect(try report(on: "videotestsrc ! textoverlay text=a blur ! fakesink").contains("blur is a handler"))
        let reference = try report(on: "videotestsrc ! filesink location=a.yuv t. ! fakesink")
        #expect(reference.contains("\"t\"") && !reference.contains("quoted"), "\(reference)")
    }

    @Test("GR-2 an observer's mode that its handler doesn't support is an error with the fix")
    func observerMode() throws {
        #expect(
            try report(on: "videotestsrc ! frameobserver handler=invert ! fakesink") == """
                a.pipeline:1:38: error: handler invert edits frames, which frameobserver allows only with mode=read-write
                   1 | videotestsrc ! frameobserver handler=invert ! fakesink
                     |                                      ^~~~~~ add mode=read-write
                """)
        let counter = try report(on: "videotestsrc ! frameobserver handler=count mode=read-write ! fakesink")
        #expect(counter.contains("only reads frames, but mode is read-write"), "\(counter)")
        #expect(try report(on: "videotestsrc ! frameobserver handler=invert mode=read-write ! fakesink") == "")
        #expect(try report(on: "videotestsrc ! frameobserver handler=count ! fakesink") == "")
    }
}
