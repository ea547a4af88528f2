import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests the element `frameobserver`: what it refuses, and how its observer changes while it runs.
@Suite struct FrameObserverElementTests {
    init() throws { try Nodes.register() }

    @Test("EL-6 an observer gets interlaced frames, but turning them is an error")
    func interlaced() async throws {
        let source =
            "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=16,height=16,interlace-mode=interleaved"
        let graph = try Graph("\(source) ! frameobserver name=o ! fakesink")
        let seen = Log<Bool>()
        try graph.frameObserver("o").observe { frame in
            seen.add(frame.isInterlaced)
            return .pass
        }
        try await graph.run()
        #expect(seen.all == [true, true])
        let error = #expect(throws: MediaGraphError.self) {
            let caps = try #require(
                Caps("video/x-raw,format=I420,width=16,height=16,framerate=30/1,interlace-mode=interleaved"))
            let plan = try ObserverPlan(caps, FramePreference(appliesRotation: true), edits: false)
            let buffer = Buffer(patternedFrame(width: 16, height: 16))
            _ = try plan.copy(buffer.access, VideoOrientation(.clockwise90)).address
        }
        #expect(error?.detail.actual.contains("put deinterlace before the observer") == true)
    }

    @Test("FO-1 position and mode are locked while running")
    func locked() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! frameobserver name=o position=pre-renderer ! fakesink")
        let element = try #require(pipeline.element(named: "o"))
        pipeline.setState(.paused)
        for (property, value) in [("position", "post-capture"), ("mode", "read-write")] {
            #expect(throws: PropertyError.self) { try element.setProperty(property, parsing: value) }
        }
        #expect(try element.property("position", as: FramePosition.self) == .preRenderer)
        pipeline.setState(.null)
    }

    @Test("FO-2 observers can be attached, replaced and detached while frames flow")
    func swapped() throws {
        let harness = try ObserverHarness.make(.i420, 16, 4) { (frame: inout VideoFrame) in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        func luma() -> UInt8? {
            harness.push([UInt8](repeating: 9, count: 96))
            return harness.pull()?.bytes[5]
        }
        #expect(luma() == 1)
        try NodeVTable.detach(MGFrameObserver.self, from: harness.element)
        #expect(luma() == 9)
        let other = ObserverHarness.Editor(preference: FramePreference(format: .nv12)) { frame in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 2)
            return .pass
        }
        try NodeVTable.attach(MGFrameObserver(other, name: "test"), to: harness.element)
        #expect(luma() == 2)
    }

    @Test("GR-10 setting `handler` replaces the observer between two frames")
    func swappedByProperty() throws {
        let element = try ObserverHarness.element(.readWrite)
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        func luma() -> UInt8? {
            harness.push([UInt8](repeating: 9, count: 96))
            return harness.pull()?.bytes[5]
        }
        #expect(luma() == 9)
        try element.setProperty("handler", to: "invert")
        #expect(luma() != 9)
        try element.setProperty("handler", to: "")
        #expect(luma() == 9)
        #expect(NodeCounts(element)?.frames == 3)
    }

    @Test("GR-10 setting an unsuitable handler is refused with the reason, and the old observer goes on")
    func refusedSwap() throws {
        let element = try ObserverHarness.element(.readWrite)
        try element.setProperty("handler", to: "invert")
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        let unknown = #expect(throws: PropertyError.self) { try element.setProperty("handler", to: "nosuch") }
        #expect("\(unknown!)".contains("nosuch"), "\(unknown!)")
        let wrongMode = #expect(throws: PropertyError.self) { try element.setProperty("handler", to: "count") }
        #expect("\(wrongMode!)".contains("expected read-only for observer count"), "\(wrongMode!)")
        #expect(try element.property("handler", as: String.self) == "invert")
        harness.push([UInt8](repeating: 9, count: 96))
        #expect(harness.pull()?.bytes[5] != 9)
    }

    @Test("FO-2 attaching an observer that can't get the stream's frames is an error, and frames go on")
    func cannotBeShown() throws {
        let element = try ObserverHarness.element(.readOnly)
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw(memory:DMABuf),format=I420,width=16,height=4,framerate=30/1")
        harness.push([UInt8](repeating: 9, count: 96))
        let observer = ObserverHarness.Observer { _ in .pass }
        let error = try #require(throws: MediaGraphError.self) {
            try NodeVTable.attach(MGFrameObserver(observer, name: "test"), to: element)
        }
        let property = try #require(throws: PropertyError.self) { try element.setProperty("handler", to: "count") }
        #expect(error.code == .unsupported)
        #expect(error.detail.expected.contains("video/x-raw"), "\(error)")
        for text in ["\(error)", "\(property)"] {
            #expect(text.contains("memory:DMABuf") && text.contains("from upstream"), "\(text)")
        }
        #expect(harness.push([UInt8](repeating: 9, count: 96)) == .ok)
        #expect(NodeCounts(element)?.frames == 2)
    }

    @Test(
        "FO-2 `on-error` decides whether a frame whose observer fails passes, is dropped or ends the stream",
        arguments: [FailurePolicy.pass, .drop, .stop, .detach], [VideoFormat.i420, .rgba])
    func failures(policy: FailurePolicy, preference: VideoFormat) throws {
        struct Broken: Error {}
        let harness = try ObserverHarness.make(.i420, 16, 4, FramePreference(format: preference)) {
            (frame: inout VideoFrame) in
            var pixels = try frame.mutablePlane(preference == .i420 ? .y : .packed)
            pixels.fill(rows: 0..<4, with: 1)
            throw Broken()
        }
        try harness.element.setProperty("on-error", parsing: policy.nick)
        let bytes = patternedFrame(width: 16, height: 4)
        #expect(harness.push(bytes) == (policy == .stop ? .error : .ok))
        let counts = try #require(NodeCounts(harness.element))
        switch policy {
        case .pass:
            // The first frame passes as the observer left it, which wrote to the stream's own frame or to a copy.
            #expect((harness.pull()?.bytes == bytes) == (preference == .rgba))
            #expect(counts.failed == 1 && counts.frames == 1 && counts.dropped == 0)
            #expect(harness.push(bytes) == .ok)
            #expect(harness.pull()?.bytes == bytes)
        case .detach:
            #expect(harness.pull()?.bytes != nil)
            #expect(harness.push(bytes) == .ok)
            #expect(harness.pull()?.bytes == bytes)
            #expect(NodeCounts(harness.element)?.failed == 1 && NodeCounts(harness.element)?.frames == 2)
        case .drop:
            #expect(harness.bufferCount == 0)
            #expect(counts.failed == 1 && counts.frames == 0 && counts.dropped == 1)
        case .stop:
            #expect(harness.bufferCount == 0)
            #expect(counts.failed == 0 && counts.frames == 0)
        }
    }
}
