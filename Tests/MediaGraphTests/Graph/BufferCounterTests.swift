import Foundation
import GStreamer
import Testing

@testable import MediaGraph

@Suite struct BufferCounterTests {
    @Test("GR-3 buffers that arrive at a sink are counted, one by one and in lists")
    func lists() async throws {
        // `rtpvrawpay` pushes a frame's packets as a list; `identity` passes the buffers of a list one by one.
        let graph = try Graph(
            """
            videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=320,height=240 ! rtpvrawpay ! tee name=tee \
            tee. ! identity ! fakesink name=single async=false tee. ! fakesink name=lists async=false
            """)
        try await graph.run()
        // 224 packets a frame: 307200 bytes, at most 1372 in each.
        #expect(graph.streamWatch.count(of: try graph.element("single")) == 672)
        #expect(graph.streamWatch.count(of: try graph.element("lists")) == 672)
    }

    @Test("GR-3 a sink's count starts at zero with each run of its graph")
    func runs() async throws {
        let graph = try Graph("videotestsrc num-buffers=5 ! fakesink name=sink")
        for _ in 0..<2 {
            try await graph.run()
            #expect(graph.streamWatch.count(of: try graph.element("sink")) == 5)
        }
    }

    @Test("GR-3 buffers that a sink pulls from upstream are counted")
    func pulled() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(count: 10 * 4096).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let graph = try Graph(
            "filesrc location=\(file.path) ! fakesink name=sink can-activate-pull=true num-buffers=10")
        try await graph.run()
        #expect(try #require(graph.streamWatch.count(of: try graph.element("sink"))) == 10)
    }
}
