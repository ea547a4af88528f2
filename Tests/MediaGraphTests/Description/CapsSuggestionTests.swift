import Foundation
import GStreamer
import TestSupport
import Testing

/// Tests the suggestions for caps written in another program's terms.
@Suite struct CapsSuggestionTests {
    /// Checks the caps as a filter behind a source of their kind.
    private func check(filter caps: String) throws -> [String] {
        let source = caps.hasPrefix("video") ? "videotestsrc" : "audiotestsrc"
        return try problems(in: "\(source) ! \(caps) ! fakesink")
    }

    @Test(
        "GR-2 another program's name for a caps field is a warning with the field and its value",
        arguments: [
            ("video/x-raw,fps=30", "framerate=30/1"), ("video/x-raw,fps=29.97", "framerate=30000/1001"),
            ("video/x-raw,resolution=720p", "width=1280,height=720"),
            ("video/x-raw,size=640x360", "width=640,height=360"), ("video/x-raw,pix_fmt=nv12", "format=NV12"),
            ("video/x-raw,aspect-ratio=16/9", "pixel-aspect-ratio"), ("audio/x-raw,samplerate=48000", "rate=48000"),
            ("audio/x-raw,sample-rate=48k", "rate=48000"), ("audio/x-raw,sample_fmt=flt", "format=F32LE"),
        ])
    func fields(caps: String, meant: String) throws {
        let found = try check(filter: caps)
        #expect(found.count == 1 && found[0].hasSuffix("; did you mean \"\(meant)\"?"), "\(found)")
    }

    @Test(
        "GR-2 another program's name for a format is an error with GStreamer's name",
        arguments: [
            ("video/x-raw,format=yuv420p", "I420"), ("video/x-raw,format=yuyv422", "YUY2"),
            ("video/x-raw,format=bgr0", "BGRx"), ("video/x-raw,format=p010le", "P010_10LE"),
            ("audio/x-raw,format=pcm_s16le", "S16LE"), ("audio/x-raw,format=flt", "F32LE"),
        ])
    func formats(caps: String, meant: String) throws {
        let found = try check(filter: caps)
        #expect(found.count == 1 && found[0].hasSuffix("; did you mean format=\(meant)?"), "\(found)")
    }

    @Test(
        "GR-2 a media type without its x- is an error with the right type",
        arguments: [
            ("videotestsrc ! video/raw ! fakesink", "video/x-raw"),
            ("fakesrc ! Video/x-raw,width=320 ! videoconvert ! fakesink", "video/x-raw"),
            ("audiotestsrc ! flacenc ! audio/flac ! fakesink", "audio/x-flac"),
        ])
    func mediaTypes(text: String, meant: String) throws {
        let found = try problems(in: text)
        #expect(found.count == 1 && found[0].hasSuffix("; did you mean \(meant)?"), "\(found)")
    }

    @Test("GR-2 another codec's media type isn't taken for a mistyped one")
    func otherMediaType() throws {
        let found = try problems(in: "videotestsrc ! video/x-raw,format=I420 ! x264enc ! video/x-h265 ! fakesink")
        #expect(found.count == 1 && !found[0].contains("did you mean"), "\(found)")
    }
}
