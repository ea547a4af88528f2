import Testing

@testable import MediaGraph

/// What `check` says of text that is correct, or nearly, but not what its author means.
@Suite struct AdviceTests {
    @Test(
        "GR-2 a pasted shell command is told once, with what to leave out",
        arguments: [
            ("gst-launch-1.0 -e videotestsrc ! \\\n  fakesink", "leave out `gst-launch-1.0 -e`"),
            (
                "$ GST_DEBUG=3 /usr/bin/gst-launch-1.0 -v -e videotestsrc ! 'video/x-raw' ! fakesink",
                "leave out `/usr/bin/gst-launch-1.0 -v -e`, and the quotes that only the shell needs"
            ),
            ("mediagraph run videotestsrc ! fakesink", "leave out `mediagraph run`"),
            ("sudo ./mediagraph run --load x.so videotestsrc ! fakesink", "leave out `./mediagraph run --load x.so`"),
            (
                "A1_b=3 gst-launch-1.0.exe --gst-debug-level 3 -e audiotestsrc ! fakesink",
                "leave out `gst-launch-1.0.exe --gst-debug-level 3 -e`"
            ),
            ("gst-launch-1.0 -e videotestsc ! fakesink", "leave out `gst-launch-1.0 -e`"),
        ])
    func shellCommand(text: String, hint: String) {
        let found = Description(text).diagnose()
        #expect(found.map(\.hint) == [hint])
        #expect(found.first?.message == "this is a shell command; keep only what follows its options")
    }

    @Test("GR-2 an element whose name begins as a program's does isn't a command")
    func noShellCommand() {
        #expect(Description("gst-launch-1.0x ! fakesink").diagnose().map(\.message) != [])
        #expect(Description("mediasession ! fakesink").diagnose().allSatisfy { !$0.message.contains("shell") })
    }

    @Test(
        "GR-2 raw video that x264enc refuses, or encodes for few players, is told before it runs",
        arguments: [
            (
                "videotestsrc ! video/x-raw,format=I420,width=321,height=240 ! x264enc ! fakesink",
                "can't encode 321×240: in 4:2:0, width and height must be even"
            ),
            (
                "videotestsrc ! video/x-raw,format=BGRx ! videoconvert ! queue ! x264enc ! fakesink",
                "will encode 4:4:4, which browsers, phones and most players can't play"
            ),
            ("videotestsrc ! x264enc name=e ! fakesink", "will encode 4:4:4"),
            ("videotestsrc ! video/x-raw,format=YUY2 ! videoconvert ! x264enc ! fakesink", "will encode 4:4:4"),
            ("videotestsrc ! video/x-raw,format=Y42B ! x264enc ! fakesink", "will encode 4:2:2"),
            ("videotestsrc ! video/x-raw,format=NV12 ! videoconvert ! x265enc ! fakesink", "will encode 4:4:4"),
            ("filesrc location=/dev/null ! pngdec ! videoconvert ! x264enc ! fakesink", "will encode 4:4:4"),
        ])
    func encoderFormat(text: String, message: String) {
        let found = Description(text).diagnose(isComplete: true)
        #expect(found.count == 1 && found[0].severity == .warning && found[0].message.contains(message), "\(found)")
    }

    @Test(
        "GR-2 raw video that x264enc takes is fine",
        arguments: [
            "videotestsrc ! video/x-raw,format=I420,width=320,height=240 ! x264enc ! fakesink",
            "videotestsrc ! x264enc ! video/x-h264,profile=high ! fakesink",
            "videotestsrc ! videoconvert ! video/x-raw,format=NV12 ! queue ! x264enc ! fakesink",
            "filesrc location=/dev/null ! decodebin ! videoconvert ! x264enc ! fakesink",
            "videotestsrc ! x264enc ! h264parse ! video/x-h264,profile={main,high} ! fakesink",
            "videotestsrc ! x264enc ! queue ! capsfilter caps=video/x-h264,profile=high ! fakesink",
            "videotestsrc ! video/x-raw,format=RGB ! jpegenc ! jpegdec ! x264enc ! fakesink",
            "videotestsrc ! video/x-raw,format=I420,width=321,height=240 ! videocrop left=1 ! x264enc ! fakesink",
            "videotestsrc ! video/x-raw,format=RGB ! videoconvert ! video/x-raw,format={I420,NV12} ! x264enc ! fakesink",
        ])
    func encoderFormatFine(text: String) {
        #expect(Description(text).diagnose(isComplete: true) == [])
    }
}
