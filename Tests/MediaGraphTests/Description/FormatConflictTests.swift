import GStreamer
import MediaGraph
import Testing

/// Tests the explanation why two pads have no format in common.
@Suite struct FormatConflictTests {
    @Test("GR-2 an impossible link is reported with the formats of all alternatives")
    func alternatives() throws {
        let sink = "video/x-raw,format={ I420, NV12 },width=[ 1, 64 ]; video/x-raw,format=NV12; video/x-raw,format=BGRA"
        let (source, taken) = (try #require(Caps("video/x-raw,format=RGB,width=32")), try #require(Caps(sink)))
        let conflict = FormatConflict(from: source, to: taken, filter: nil, labels: ("a", "b"))
        #expect(
            conflict?.text
                == "a can't be linked to b: a produces format=RGB; b accepts format={ I420, NV12, BGRA }; put videoconvert between them"
        )
    }

    @Test(
        "GR-2 an impossible link of raw media is reported with the elements that convert it",
        arguments: [
            ("audio/x-raw,format=S16LE,rate=44100,channels=2", "audio/x-raw,rate=16000", "audioresample"),
            ("audio/x-raw,rate=44100,channels=2", "audio/x-raw,rate=16000,channels=1", "audioconvert ! audioresample"),
            ("video/x-raw,width=320,format=I420", "video/x-raw,width=160,format=RGB", "videoconvert ! videoscale"),
            ("video/x-raw,framerate=30/1", "video/x-raw,framerate=25/1", "videorate"),
            ("video/x-raw,interlace-mode=interleaved", "video/x-raw,interlace-mode=progressive", "deinterlace"),
            ("video/x-raw,views=1", "video/x-raw,views=2", nil), ("audio/x-raw", "video/x-raw", nil),
            ("video/x-h264,width=8", "video/x-h264,width=9", nil),
            ("video/x-raw;video/x-bayer", "audio/mpeg;video/x-h264;video/x-vp8;text/x-raw", "x264enc"),
            ("video/x-raw", "video/x-vp8;audio/x-vorbis", "vp8enc"),
            ("audio/x-raw", "audio/x-opus;video/x-vp8", "opusenc"), ("video/x-raw", "video/x-h264", nil),
            ("audio/x-raw", "video/x-h264;video/x-vp8", nil), ("video/x-raw", "application/x-rtp", nil),
        ])
    func remedies(given: String, taken: String, remedy: String?) throws {
        let conflict = FormatConflict(
            from: try #require(Caps(given)), to: try #require(Caps(taken)), filter: nil, labels: ("a", "b"))
        let text = try #require(conflict).text
        #expect(
            text.hasSuffix(remedy.map { "; put \($0) between them" } ?? "") && text.contains("; put") == (remedy != nil)
        )
    }
}
