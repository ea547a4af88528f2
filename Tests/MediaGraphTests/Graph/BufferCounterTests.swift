import Foundation
import GStreamer
import TestSupport
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

    @Test("GR-3 the last frame of --frames ends after its duration, or one interval later if it has none")
    func lastFrame() throws {
        let ends = Log<ClockTime?>()
        for duration: Duration? in [.milliseconds(30), nil] {
            let pipeline = try Pipeline(parsing: "appsrc name=in format=time ! fakesink name=out")
            let source = try #require(pipeline.element(named: "in").flatMap { AppSource(wrapping: $0) })
            let pad = try #require(pipeline.element(named: "out")?.staticPad("sink"))
            let isOver = BlockingMonitor(false)
            pad.endStream(afterBuffers: 3, willEnd: { ends.add($0) }, didEnd: { isOver.withLock { $0 = true } })
            pipeline.setState(.playing)
            for index: UInt64 in 0..<4 {
                guard let buffer = Buffer(size: 1) else {
                    Issue.record("no memory")
                    return
                }
                buffer.access.presentationTimestamp = ClockTime(nanoseconds: index * 40_000_000)
                buffer.access.duration = duration
                source.push(buffer)
            }
            _ = isOver.wait { $0 ? true : nil }
            pipeline.setState(.null)
        }
        #expect(ends.all == [110_000_000, 120_000_000].map(ClockTime.init(nanoseconds:)))
    }
}
