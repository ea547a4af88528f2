import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests what happens between the closing of a gate and the end of the state change.
@Suite struct GateClosingTests {
    private static let block = [Int16](repeating: 7, count: 480)
    private static let frame = FrameDescription(width: 16, height: 16)

    init() throws { try Nodes.register() }

    /// Returns an open gate to which two frames were sent. The test is its streaming thread, and has taken the first
    /// frame downstream.
    private func gate(of element: Element) throws -> VideoGate {
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        var settings = VideoGate.Settings()
        (settings.pace, settings.policy) = (.fast, .block)
        gate.initialize(settings)
        gate.open()
        gate.startSendReturned()
        let sender = VideoSender(MGVideoSender(gate))
        for _ in 0..<2 { try sendNow(sender, patternedFrame(width: 16, height: 16), Self.frame) }
        guard case .announced(let first, _, _, _) = gate.next() else {
            Issue.record("expected the first frame")
            return gate
        }
        first.discard()
        return gate
    }

    @Test("VM-1 a stop doesn't wait for a stream that has ended, or that is flushing")
    func ended() throws {
        let element = try #require(Element(factory: "identity"))
        element.setState(.paused)
        let ended = try gate(of: element)
        try #require(element.staticPad("sink")).sendEmptyStream()
        ended.close()
        #expect(ended.drain() == .held)
        ended.uninitialize()
        element.setState(.null)
        let flushing = try gate(of: #require(Element(factory: "videosource")))
        flushing.flush()
        flushing.close()
        #expect(flushing.drain() == .complete)
        flushing.uninitialize()
    }

    @Test("VM-1 micStopSend is called as the gate closes; what was sent before still leaves, then status off")
    func stopsFirst() throws {
        let held = Log<FrameHold>()
        let mic = try MicHarness(
            ["pace": "fast"], source: RecordingMic(onStop: { for hold in held.all { hold.release() } }), plays: false)
        let element = mic.harness.element
        let hold = FrameHold(at: try #require(element.staticPad("src")))
        held.add(hold)
        mic.harness.play()
        for _ in 0..<3 { try sendNow(mic.sender, Self.block) }
        #expect(waitUntil { hold.seen.all.count == 1 })
        // Only `micStopSend` releases the first block.
        element.setState(.paused)
        #expect(hold.seen.all.count == 3 && mic.source.calls.all.last == "micStopSend")
        let events = mic.harness.pulledEvents()
        #expect(events.count { $0 == "custom-downstream-sticky" } == 2, "\(events)")
    }

    @Test("VM-1 a microphone in a pipeline that stops sees that a sink holds its sound, and doesn't wait")
    func stoppingPipeline() throws {
        let graph = try Graph("virtualmic name=held-mic pace=fast ! fakesink name=sink sync=false async=false")
        let held = Log<FrameHold>()
        // The sink has stopped when this is called, and holds the block.
        let source = RecordingMic(onStop: { for hold in held.all { hold.release() } })
        try graph.virtualMic("held-mic").attach(source)
        let hold = FrameHold(at: try #require(graph.element("sink").staticPad("sink")))
        held.add(hold)
        let log = DebugLog(of: "held-mic", in: "virtualmic")
        graph.pipeline.setState(.playing)
        for _ in 0..<3 { try sendNow(source.sender, Self.block) }
        #expect(waitUntil { hold.seen.all.count == 1 })
        graph.pipeline.setState(.paused)
        #expect(log.messages.all == ["sending", "stopped; downstream holds a buffer, so nothing follows it"])
        log.stop()
        graph.pipeline.setState(.null)
        #expect(source.calls.all.suffix(2) == ["micStopSend", "micUninitialize"] && hold.seen.all.count == 1)
    }
}
