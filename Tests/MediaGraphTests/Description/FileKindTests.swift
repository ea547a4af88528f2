import GStreamer
import Testing

@testable import MediaGraph
@testable import MediaGraphDescription
@testable import MediaGraphElements

/// Tests file names whose extension doesn't match the file's content.
@Suite struct FileKindTests {
    private func check(_ text: String) throws -> [String] {
        try Graph.diagnose(Description(text)).map { "\($0.severity): \($0.message); \($0.hint ?? "")" }
    }

    @Test(
        "GR-2 a file name that doesn't match its writer is a warning with both remedies",
        arguments: [
            (
                "audiotestsrc ! wavenc ! filesink location=x.mp3",
                "wavenc makes \"x.mp3\" a WAV file, in spite of its name; "
                    + "name it x.wav, or replace wavenc with lamemp3enc"
            ),
            (
                "videotestsrc ! vp8enc ! webmmux name=m ! queue ! filesink location=a.b/x.MP4",
                "webmmux \"m\" makes \"a.b/x.MP4\" a WebM file, in spite of its name; "
                    + "name it a.b/x.webm, or replace webmmux \"m\" with mp4mux"
            ),
            (
                "videotestsrc ! video/x-raw,format=I420 ! x264enc ! h264parse ! filesink location=x.mp4",
                "\"x.mp4\" won't be an MP4 file: x264enc outputs video/x-h264; put mp4mux before filesink"
            ),
            (
                "audiotestsrc ! vorbisenc ! filesink location=x.mp3",
                "\"x.mp3\" won't be an MP3 file: vorbisenc outputs audio/x-vorbis; "
                    + "replace vorbisenc with lamemp3enc"
            ),
            (
                "audiotestsrc ! filesink location=x.ogg",
                "\"x.ogg\" won't be an Ogg file: audiotestsrc outputs audio/x-raw; "
                    + "put an encoder and oggmux before filesink"
            ),
            (
                "audiotestsrc ! avenc_aac ! filesink location=x.aac",
                "avenc_aac outputs AAC without headers, so players can't open the file; "
                    + "put `aacparse ! audio/mpeg,stream-format=adts` before filesink"
            ),
            (
                "audiotestsrc ! avenc_aac ! filesink location=x.m4a",
                "\"x.m4a\" won't be an MP4 file: avenc_aac outputs audio/mpeg,mpegversion=4; "
                    + "put mp4mux before filesink"
            ),
            (
                "audiotestsrc ! avenc_aac ! aacparse ! filesink location=x.mp4",
                "\"x.mp4\" won't be an MP4 file: avenc_aac outputs audio/mpeg,mpegversion=4; "
                    + "put mp4mux before filesink"
            ),
            (
                "audiotestsrc ! avenc_aac ! aacparse ! audio/mpeg,stream-format=adts ! filesink location=x.mp3",
                "\"x.mp3\" won't be an MP3 file: avenc_aac outputs audio/mpeg,mpegversion=4; "
                    + "replace avenc_aac with lamemp3enc"
            ),
            (
                "audiotestsrc ! lamemp3enc ! filesink location=x.mp4",
                "lamemp3enc makes \"x.mp4\" an MP3 file, in spite of its name; name it x.mp3, or put mp4mux before filesink"
            ),
            (
                "videotestsrc num-buffers=5 ! pngenc ! filesink location=x.png",
                "\"x.png\" gets all pictures, one after another; viewers show only the first; to write one picture, set "
                    + "num-buffers=1 on videotestsrc; to write one file per picture, use multifilesink location=x-%05d.png"
            ),
            (
                "videotestsrc ! pngenc ! filesink location=x.png",
                "\"x.png\" gets all pictures, one after another; viewers show only the first; to write one picture, set "
                    + "num-buffers=1 on videotestsrc; to write one file per picture, use multifilesink location=x-%05d.png"
            ),
            (
                "videotestsrc ! rawdatapipe handler=contactsheet options=location=x.mp4",
                "contactsheet writes .png, so \"x.mp4\" won't be an MP4 file; write location=x.png"
            ),
        ])
    func otherKind(text: String, expected: String) throws {
        let found = try check(text).filter { !$0.contains("folder") }
        #expect(found == ["warning: \(expected)"])
    }

    @Test(
        "GR-2 a file name that doesn't match its reader is a warning",
        arguments: [
            (
                "filesrc location=x.mp4 ! h264parse ! fakesink",
                "\"x.mp4\" looks like an MP4 file, but h264parse accepts video/x-h264; put qtdemux before h264parse"
            ),
            (
                "filesrc location=x.mkv ! qtdemux name=d ! fakesink",
                "\"x.mkv\" looks like a Matroska file, but qtdemux \"d\" accepts video/quicktime, video/mj2, audio/x-m4a, "
                    + "application/x-3gp; replace qtdemux \"d\" with matroskademux"
            ),
        ])
    func readsOtherKind(text: String, expected: String) throws {
        let found = try check(text).filter { !$0.contains("no file") }
        #expect(found == ["warning: \(expected)"])
    }

    @Test(
        "GR-2 a file name that matches its writer, or has an unknown extension, is accepted",
        arguments: [
            "audiotestsrc ! wavenc ! filesink location=x.wav",
            "audiotestsrc ! lamemp3enc ! filesink location=x.mp3",
            "audiotestsrc ! avenc_aac ! aacparse ! audio/mpeg,stream-format=adts ! filesink location=x.aac",
            "audiotestsrc ! opusenc ! oggmux ! filesink location=x.opus",
            "videotestsrc ! video/x-raw,format=I420 ! x264enc ! h264parse ! mp4mux ! filesink location=x.mov",
            "videotestsrc ! video/x-raw,format=I420 ! x264enc ! filesink location=x.h264",
            "videotestsrc ! jpegenc ! filesink location=x.mjpeg", "videotestsrc ! filesink location=x.yuv",
            "videotestsrc num-buffers=1 ! pngenc ! filesink location=x.png",
            "videotestsrc ! pngenc snapshot=true ! filesink location=x.png",
            "filesrc location=/dev/null ! decodebin ! pngenc ! filesink location=x.png",
            "filesrc location=/dev/null ! filesink location=x.mkv",
            "videotestsrc ! pngenc ! multifilesink location=x-%05d.png",
            "filesrc location=/dev/null ! h264parse ! fakesink",
            "filesrc location=x.flac ! id3demux ! fakesink", "filesrc location=x.wav ! dcaparse ! fakesink",
            // The file always contains the newest picture.
            "videotestsrc ! jpegenc ! multifilesink location=x.jpg",
            "videotestsrc ! vp8enc ! webmmux ! filesink location=x.mkv",
            "videotestsrc ! rawdatapipe handler=y4m options=location=x.y4m",
        ])
    func sameKind(text: String) throws { #expect(try check(text).filter { !$0.contains("no file") } == []) }

    @Test("GR-2 udpsink with an unknown host is a warning")
    func unknownHost() {
        let elements = Description("videotestsrc ! udpsink host=nosuch.example").resolved().elements
        let unknown = HostCheck { $0 == "nosuch.example" ? "unknown" : nil }.problems(among: elements)
        #expect(unknown.map(\.message) == ["can't resolve the host name \"nosuch.example\": unknown"])
        #expect(HostCheck { _ in nil }.problems(among: elements) == [])
        let list = Description("videotestsrc ! multiudpsink clients=a.example:1,nosuch.example:2").resolved().elements
        let missing = HostCheck { $0 == "nosuch.example" ? "unknown" : nil }.problems(among: list)
        #expect(missing.map(\.message) == ["can't resolve the host name \"nosuch.example\": unknown"])
        #expect(
            HostCheck().problems(among: Description("videotestsrc ! udpsink host=127.0.0.1").resolved().elements) == [])
    }

    @Test("GR-2 a dot in a folder's name doesn't begin a file's extension")
    func dottedFolder() {
        #expect(FileKind.fileExtension(of: "/a.d/file") == "")
        #expect(FileKind.fileExtension(of: "/a.d/file.MP4") == "mp4")
        #expect(FileKind.renamed("/a.d/file", to: "mp4") == "/a.d/file")
        #expect(FileKind.renamed("/a.d/file.mp3", to: "wav") == "/a.d/file.wav")
    }
}
