import Foundation
import GStreamer
import MediaGraph
import TestSupport
import Testing

/// Tests text that GStreamer accepts, but reads differently than its author intends. Each place is reported once, with
/// the text to write.
@Suite struct TextSuggestionTests {
    @Test(
        "GR-2 a bit rate in the wrong unit is reported with the number to write",
        arguments: [
            (
                "video/x-raw,format=I420 ! x264enc bitrate=2000000",
                "bitrate of x264enc is in kbit/s: this is 2 Gbit/s; for 2 Mbit/s write bitrate=2000"
            ),
            (
                "video/x-raw,format=I420 ! x264enc bitrate=8000000",
                "8000000 is out of range for bitrate of x264enc; it is in kbit/s: for 8 Mbit/s write bitrate=8000"
            ),
            (
                "vp8enc target-bitrate=2500",
                "target-bitrate of vp8enc is in bit/s: this is 2.5 kbit/s; for 2.5 Mbit/s write target-bitrate=2500000"
            ),
        ])
    func bitRate(text: String, expected: String) throws {
        let found = try problems(in: "videotestsrc ! \(text) ! fakesink")
        #expect(found.count == 1 && found[0].hasSuffix(expected), "\(found)")
    }

    @Test(
        "GR-2 a number with a unit is an error with the number in the property's unit",
        arguments: [
            ("queue max-size-time=2s", "it is in nanoseconds: write 2000000000"),
            ("queue max-size-time=1.5ms", "it is in nanoseconds: write 1500000"),
            ("rtpjitterbuffer latency=1s", "it is in milliseconds: write 1000"),
            ("queue max-size-bytes=64k", "did you mean 64000?"),
            ("videorate max-rate=30s", "an integer from 1 to 2147483647"),
            ("video/x-raw,format=I420 ! x264enc bitrate=2000k", "did you mean 2000?"),
            ("videocrop top=1s", "an integer from -1 to 2147483647"),
        ])
    func unit(text: String, hint: String) throws {
        let found = try problems(in: "videotestsrc ! \(text) ! fakesink").filter { $0.contains("isn't a valid value") }
        #expect(found.count == 1 && found[0].hasSuffix("; \(hint)"), "\(found)")
    }

    @Test(
        "GR-2 RP-1 a size in pixels is an error with the resolution to write",
        arguments: [("360", "360p"), ("640x360", "360p"), ("1080P", "1080p")])
    func resolution(text: String, meant: String) throws {
        let found = try problems(in: "videotestsrc ! rawdatapipe handler=count resolution=\(text)")
        #expect(found.count == 1 && found[0].hasSuffix("; did you mean \"\(meant)\"?"), "\(found)")
    }

    @Test(
        "GR-2 an unknown element is an error that suggests the right one",
        arguments: [("mp3enc", "lamemp3enc"), ("x246enc", "x264enc"), ("vidoetestsrc", "videotestsrc")])
    func element(text: String, meant: String) throws {
        let found = try problems(in: "audiotestsrc ! \(text) ! fakesink")
        #expect(found.first?.hasSuffix("no element \"\(text)\"; did you mean \"\(meant)\"?") == true, "\(found)")
    }

    @Test(
        "GR-2 a plausible bit rate is accepted",
        arguments: [
            "video/x-raw,format=I420 ! x264enc bitrate=2048", "video/x-raw,format=I420 ! x264enc bitrate=300000",
            "video/x-raw,format=I420 ! x264enc bitrate=8", "vp8enc target-bitrate=0", "vp8enc target-bitrate=64000",
        ])
    func bitRateFine(text: String) throws {
        #expect(try problems(in: "videotestsrc ! \(text) ! fakesink") == [])
    }

    @Test(
        "GR-2 a time of a node below 0.1 ms is a warning with the number to write",
        arguments: [
            ("devicesource stall-timeout=500 ! fakesink", "stall-timeout of devicesource", 500),
            ("devicesource ! preprocessor handler=invert max-time=20 ! fakesink", "max-time of preprocessor", 20),
            ("videosource handler=counter stop-timeout=999 ! fakesink", "stop-timeout of videosource", 999),
            ("virtualmic handler=tone jitter=60 ! virtualspeaker handler=level", "jitter of virtualmic", 60),
            ("virtualmic handler=tone ! virtualspeaker handler=level latency=9", "latency of virtualspeaker", 9),
        ])
    func shortTime(text: String, property: String, value: Int) throws {
        let found = try Graph.diagnose(Description(text))
        #expect(found.map(\.message) == ["\(property) is in nanoseconds, so this is only \(value) ns"])
        #expect(found.first?.hint?.hasPrefix("for \(value) ms write ") == true && found.first?.severity == .warning)
    }

    @Test(
        "GR-2 a time of a node from 0.1 ms on, a special 0, and other elements' times are accepted",
        arguments: [
            "devicesource stall-timeout=100000 ! fakesink", "devicesource stall-timeout=0 ! fakesink",
            "videosource handler=counter block-timeout=18446744073709551615 ! fakesink",
            "videosource handler=counter max-frames=500 ! queue max-size-time=500 ! fakesink",
        ])
    func timeFine(text: String) throws {
        #expect(try problems(in: text) == [])
    }

    @Test("GR-2 a property that is set twice to different values is a warning at the second")
    func repeated() throws {
        #expect(
            try problems(in: "videotestsrc pattern=ball pattern=snow ! fakesink") == [
                "27: property \"pattern\" is set twice, and only the last value counts; remove one of them"
            ])
        #expect(try problems(in: "videotestsrc pattern=ball pattern=ball ! fakesink") == [])
    }

    @Test(
        "GR-2 shell variables and quotes in a value are reported with the text to write",
        arguments: [
            (
                "filesrc location=$FILE ! fakesink",
                "18: $FILE isn't expanded: a variable needs braces; write ${FILE}, and set FILE=… on the command line"
            ),
            (
                "filesrc location=\"$HOME/a.mkv\" ! fakesink",
                "18: $HOME isn't expanded: a variable needs braces; write ${HOME}, and set HOME=… on the command line"
            ),
            (
                "filesrc location='a b' ! fakesink",
                "18: the single quotes are part of the value of location; write location=\"a b\""
            ),
            (
                "videotestsrc pattern='ball' ! fakesink",
                "22: \"'ball'\" isn't a valid value for pattern of videotestsrc; write pattern=ball"
            ),
            ("$CAMERA ! fakesink", "1: unexpected \"$CAMERA\"; write the variable as ${CAMERA}"),
        ])
    func shellText(text: String, expected: String) throws { #expect(try problems(in: text) == [expected]) }

    @Test("GR-2 a dollar sign or a single quote in a text is accepted")
    func shellTextFine() throws {
        #expect(
            try problems(in: #"videotestsrc ! textoverlay text="from $US 5, it's 'new'" ! fakesink"#)
                .allSatisfy { !$0.contains("write") })
    }

    @Test("GR-2 a variable whose name differs only in case is reported with the given name")
    func variableCase() {
        let found = Description("filesrc location=${file} ! fakesink").resolved(with: ["FILE": "x"]).diagnose()
        #expect(found.map(\.hint) == ["its value was set as FILE: write ${FILE}"])
    }

    @Test(
        "GR-2 a file name instead of a URI is an error with the URI",
        arguments: ["av.mp4", "file://av.mp4", "./av.mp4"])
    func uri(value: String) throws {
        let uri = URL(fileURLWithPath: "av.mp4").absoluteString
        #expect(
            try problems(in: "uridecodebin uri=\(value) ! fakesink") == [
                "18: \"\(value)\" isn't a file URI; write uri=\(uri)"
            ])
    }

    @Test("GR-2 a URI of a file, a server or a device is accepted")
    func uriFine() throws {
        for uri in ["file:///dev/null", "file://localhost/dev/null", "https://a.example/av.mp4", "v4l2:///dev/video0"] {
            #expect(try problems(in: "uridecodebin uri=\(uri) ! fakesink") == [])
        }
    }

    @Test("GR-2 a file called - is a warning with the element for the standard stream")
    func dash() throws {
        #expect(
            try problems(in: "videotestsrc ! filesink location=-") == [
                "34: filesink writes a file called \"-\"; use fdsink for standard output"
            ])
        #expect(
            try problems(in: "filesrc location=- ! fakesink") == [
                "18: filesrc reads a file called \"-\"; use fdsrc for standard input"
            ])
        #expect(try problems(in: "videotestsrc ! rawdatapipe handler=y4m options=location=-") == [])
    }

    @Test("GR-2 a single element that only passes on its input is an error, because it would never end")
    func alone() throws {
        #expect(
            try problems(in: "queue") == [
                "1: queue by itself does nothing, and the graph would never end; "
                    + "link a source before it and a sink after it: … ! queue ! …"
            ])
    }
}
