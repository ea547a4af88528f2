import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Tests formats of raw video and their layouts.
@Suite struct VideoInfoTests {
    init() throws { try Nodes.register() }

    @Test(
        "RP-6 a converted format has the layout of its caps, also when it is interlaced",
        arguments: ["progressive", "interleaved", "mixed"], [480, 482, 486])
    func layout(mode: String, height: Int) throws {
        let order = mode == "interleaved" ? ",field-order=top-field-first" : ""
        let caps = try #require(
            Caps("video/x-raw,format=UYVY,width=720,height=\(height),framerate=25/1,interlace-mode=\(mode)\(order)"))
        let info = try #require(VideoInfo(caps))
        for format in [VideoFormat.i420, .nv12, .rgba] {
            let converted = try #require(info.converted(to: format, size: (720, height)))
            let described = try #require(VideoInfo(converted.caps))
            #expect(converted.size == described.size)
            #expect((0..<3).allSatisfy { converted.offset(plane: $0) == described.offset(plane: $0) })
            #expect("\(converted.caps)".contains("top-field-first") == (mode == "interleaved"))
        }
    }

    @Test("RP-6 a pipe converts interlaced video of any height")
    func pipe() async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=3 ! video/x-raw,format=UYVY,width=720,height=486 !
            capssetter caps=video/x-raw,interlace-mode=interleaved ! rawdatapipe name=p format=I420
            """)
        let sizes = Log<Int>()
        try graph.rawDataPipe("p").receive { sizes.add($0.height) }
        try await graph.run()
        #expect(sizes.all == [486, 486, 486])
    }
}
