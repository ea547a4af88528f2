import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a source whose `startSend` fails: the node accepts no frames, and can be started again.
@Suite struct FailingStartTests {
    init() throws { try Nodes.register() }

    private struct Broken: Error {}

    @Test("VS-4 after startSend has failed, frames are refused with a typed error, and a restart works")
    func refusedAfter() throws {
        let frame = FrameDescription(width: 16, height: 4)
        func bytes(_ seed: Int) -> [UInt8] { patternedFrame(width: 16, height: 4, seed: seed) }
        let pipeline = try Pipeline(parsing: "videosource name=s ! rawdatapipe name=p sync=false backpressure=block")
        pipeline.onMessage { _ in }
        let element = try #require(pipeline.element(named: "s"))
        let fails = Atomic<Bool>(true)
        let source = RecordingSource(onStart: { _ in if fails.load(ordering: .relaxed) { throw Broken() } })
        try NodeVTable.attach(source, to: element)
        let frames = Log<[UInt8]>()
        try NodeVTable.attach(
            RawDataPipeTests.Consumer(onFrame: { frames.add($0.packedBytes) }),
            to: try #require(pipeline.element(named: "p")))
        #expect(pipeline.setState(.playing) == .failure)
        // The node is back in PAUSED as before, not in NULL, where it never accepts frames.
        #expect(element.state == .paused)
        let error = try #require(throws: MediaGraphError.self) { try sendNow(source.sender, bytes(0), frame) }
        #expect(
            error.code == .wrongUsage
                && error.detail.actual.hasPrefix("is only possible between startSend and stopSend"))
        #expect(NodeCounts(element)?.refused == 1 && NodeCounts(element)?.frames == 0)
        fails.store(false, ordering: .relaxed)
        pipeline.setState(.playing)
        try sendNow(source.sender, bytes(1), frame)
        #expect(waitUntil { frames.all == [bytes(1)] })
        pipeline.setState(.null)
        #expect(source.calls.all == ["initialize", "startSend", "startSend", "stopSend", "uninitialize"])
    }
}
