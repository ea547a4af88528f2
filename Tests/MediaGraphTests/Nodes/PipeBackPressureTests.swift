import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphHandlers

/// Tests a pipe's queue: which frames it keeps if its consumer is slow.
@Suite struct PipeBackPressureTests {
    init() throws { try Nodes.register() }

    @Test("RP-5 a slow consumer of a source that isn't live gets each frame in order")
    func blocks() async throws {
        let seen = Log<UInt32>()
        let graph = try Graph(
            "videosource handler=counter pace=fast options=\"frames=60,width=64,height=32\" ! rawdatapipe name=pipe")
        try graph.rawDataPipe("pipe").receive { frame in
            Thread.sleep(forTimeInterval: 0.002)
            seen.add(try FrameNumber.read(frame))
        }
        try await graph.run()
        #expect(seen.all == Array(0..<60))
        #expect(try graph.rawDataPipe("pipe").statistics.dropped == 0)
    }

    @Test("RP-5 a slow consumer of a live stream blocks nobody, and its drops are counted")
    func dropsWhenLive() async throws {
        let slow = Log<UInt32>()
        let quick = Log<UInt32>()
        let graph = try Graph(
            """
            videosource name=src handler=counter options="frames=60,fps=120,width=64,height=32" max-frames=60 ! tee name=t
            t. ! rawdatapipe name=slow   t. ! rawdatapipe name=quick max-frames=60
            """)
        try graph.rawDataPipe("slow").receive { frame in
            slow.add(try FrameNumber.read(frame))
            Thread.sleep(forTimeInterval: 0.05)
        }
        try graph.rawDataPipe("quick").receive { quick.add(try FrameNumber.read($0)) }
        try await graph.run()
        // Without queues between tee and pipes, a slow consumer that blocks its pipe would block both.
        #expect(quick.all == Array(0..<60))
        let counts = try graph.rawDataPipe("slow").statistics
        #expect(counts.dropped > 0)
        #expect(Int(counts.frames + counts.dropped) == 60)
        #expect(slow.all == slow.all.sorted() && slow.all.first == 0)
        #expect(try graph.videoSource("src").statistics.dropped == 0)
    }

    @Test(
        "RP-5 the first frame stays queued until it is delivered, however late the thread starts", arguments: [1, 2, 3])
    func firstIsKept(bound: Int) {
        var queue = BoundedQueue<Int, Never>(bound: bound, policy: .dropOldest, keepsFirst: true)
        var dropped: [Int] = []
        func take() -> Int? { if case .frame(let frame) = queue.take() { frame } else { nil } }
        for frame in 0..<6 { if case .dropped(let lost) = queue.offer(frame) { dropped.append(lost) } }
        #expect(dropped.count == 6 - bound && !dropped.contains(0))
        #expect(take() == 0)
        // From then on the oldest frame is dropped.
        for frame in 6..<12 { if case .dropped(let lost) = queue.offer(frame) { dropped.append(lost) } }
        #expect((0..<bound).map { _ in take() } == Array(12 - bound..<12))
    }

    @Test("RP-5 the queue keeps the oldest or the newest frames, and reports those that it drops")
    func queue() {
        var dropOld = BoundedQueue<Int, String>(bound: 2, policy: .dropOldest)
        var dropNew = BoundedQueue<Int, String>(bound: 2, policy: .dropNewest)
        var block = BoundedQueue<Int, String>(bound: 2, policy: .block)
        func offer(_ queue: inout BoundedQueue<Int, String>, _ frame: Int) -> String {
            switch queue.offer(frame) {
            case .accepted: "+"
            case .full: "full"
            case .dropped(let lost): "-\(lost)"
            }
        }
        func rest(_ queue: inout BoundedQueue<Int, String>) -> [String] {
            var items: [String] = []
            while let item = queue.take() {
                switch item {
                case .frame(let frame): items.append("\(frame)")
                case .signal(let signal): items.append(signal)
                }
            }
            return items
        }
        dropOld.append("on")
        #expect((1...4).map { offer(&dropOld, $0) } == ["+", "+", "-1", "-2"])
        dropOld.append("off")
        #expect(rest(&dropOld) == ["on", "3", "4", "off"])
        #expect((1...4).map { offer(&dropNew, $0) } == ["+", "+", "-3", "-4"])
        #expect(rest(&dropNew) == ["1", "2"])
        #expect((1...3).map { offer(&block, $0) } == ["+", "+", "full"])
        #expect(rest(&block) == ["1", "2"])
        #expect(offer(&block, 9) == "+")
    }
}
