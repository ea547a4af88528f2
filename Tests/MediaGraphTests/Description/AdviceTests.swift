import Testing

@testable import MediaGraph

/// Tests the warnings about descriptions that are valid, or nearly, but don't do what their authors intend.
@Suite struct AdviceTests {
    @Test(
        "GR-2 a pasted shell command is reported once, with the part to leave out",
        arguments: [
            ("gst-launch-1.0 -e videotestsrc ! \\\n  fakesink", "leave out `gst-launch-1.0 -e`"),
            (
                "$ GST_DEBUG=3 /usr/bin/gst-launch-1.0 -v -e videotestsrc ! 'video/x-raw' ! fakesink",
                "leave out `$ GST_DEBUG=3 /usr/bin/gst-launch-1.0 -v -e`, and the quotes that only the shell needs; "
                    + "GST_DEBUG=3 goes before `mediagraph`"
            ),
            ("sudo gst-launch-1.0 -e videotestsrc ! \\\n  fakesink", "leave out `sudo gst-launch-1.0 -e`"),
            ("sudo -E gst-launch-1.0 –v videotestsrc ! fakesink", "leave out `sudo -E gst-launch-1.0 –v`"),
            (
                "GST_DEBUG=3 gst-launch-1.0 videotestsrc ! fakesink",
                "leave out `GST_DEBUG=3 gst-launch-1.0`; GST_DEBUG=3 goes before `mediagraph`"
            ),
            ("mediagraph run videotestsrc ! fakesink", "leave out `mediagraph run`"),
            (
                "sudo ./mediagraph run --load x.so videotestsrc ! fakesink",
                "leave out `sudo ./mediagraph run --load x.so`"
            ),
            (
                "A1_b=3 gst-launch-1.0.exe --gst-debug-level 3 -e audiotestsrc ! fakesink",
                "leave out `A1_b=3 gst-launch-1.0.exe --gst-debug-level 3 -e`; A1_b=3 goes before `mediagraph`"
            ),
            ("gst-launch-1.0 -e videotestsc ! fakesink", "leave out `gst-launch-1.0 -e`"),
        ])
    func shellCommand(text: String, hint: String) {
        let found = Description(text).resolved().diagnose()
        #expect(found.map(\.hint) == [hint])
        #expect(found.first?.message == "this is a shell command; keep only what follows its options")
    }

    @Test("GR-2 an element whose name starts like a program's isn't taken for a command")
    func noShellCommand() {
        #expect(Description("gst-launch-1.0x ! fakesink").resolved().diagnose().map(\.message) != [])
        #expect(
            Description("mediasession ! fakesink").resolved().diagnose().allSatisfy { !$0.message.contains("shell") })
    }

    @Test(
        "GR-2 raw video that x264enc refuses, or encodes for few players, is reported before the run",
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
        let found = Description(text).resolved().diagnose(isComplete: true)
        #expect(found.count == 1 && found[0].severity == .warning && found[0].message.contains(message), "\(found)")
    }

    @Test("GR-2 the size suggested instead of one that can't be encoded is never 0")
    func smallestSize() {
        let found = Description("videotestsrc ! video/x-raw,format=I420,width=1,height=1 ! x264enc ! fakesink")
            .resolved().diagnose(isComplete: true)
        #expect(found.map(\.hint) == ["write `videoscale ! video/x-raw,width=2,height=2` before it"])
    }

    @Test(
        "GR-2 raw video that x264enc accepts causes no report",
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
        #expect(Description(text).resolved().diagnose(isComplete: true) == [])
    }

    @Test(
        "GR-2 a byte source linked to an element for raw media is an error that names the decoder",
        arguments: [
            (
                "filesrc location=v.mp4 ! videoconvert ! fakesink",
                "24: filesrc produces the bytes of a file, but videoconvert accepts raw video; put decodebin between them: "
                    + "filesrc … ! decodebin ! videoconvert; for headerless data, use rawvideoparse"
            ),
            (
                "filesrc location=v.mp4 ! queue ! tee ! rawdatapipe handler=count",
                "38: filesrc produces the bytes of a file, but rawdatapipe accepts raw video; put decodebin between them: "
                    + "filesrc … ! decodebin ! rawdatapipe; for headerless data, use rawvideoparse"
            ),
            (
                "fdsrc ! audioconvert ! fakesink",
                "7: fdsrc produces bytes, but audioconvert accepts raw audio; put decodebin between them: "
                    + "fdsrc … ! decodebin ! audioconvert; for headerless data, use rawaudioparse"
            ),
            (
                "giosrc location=file:///v name=s s. ! x264enc ! fakesink",
                "37: giosrc \"s\" produces the bytes of a file, but x264enc accepts raw video; put decodebin between them: "
                    + "giosrc … ! decodebin ! x264enc; for headerless data, use rawvideoparse"
            ),
        ])
    func missingDecoder(text: String, expected: String) throws {
        try Nodes.register()
        let found = Description(text).resolved().diagnose().map {
            "\($0.range.column): \($0.message); \($0.hint ?? "")"
        }
        #expect(found == [expected])
    }

    @Test(
        "GR-2 a byte source before a decoder, a filter or an element that takes anything is accepted",
        arguments: [
            "filesrc location=v ! decodebin ! videoconvert ! fakesink", "filesrc location=v ! queue ! fakesink",
            "filesrc location=v ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! audioconvert ! fakesink",
            "filesrc location=v ! rawvideoparse ! videoconvert ! fakesink", "filesrc location=v ! appsink",
            "filesrc location=v ! rawaudioparse ! audioconvert ! fakesink", "filesrc location=v ! h264parse ! fakesink",
            "filesrc location=v ! capsfilter caps=video/x-raw,format=RGB ! identity ! videoconvert ! fakesink",
        ])
    func decoderOrFilter(text: String) {
        #expect(Description(text).resolved().diagnose() == [])
    }
}
