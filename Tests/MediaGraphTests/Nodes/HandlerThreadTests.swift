import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests that `handler` and `options` agree with the running handler when several threads set them, or the node starts.
@Suite struct HandlerThreadTests {
    init() throws { try Nodes.register() }

    private static func harness(_ element: Element) -> Harness { ObserverHarness.make(element, .i420, 16, 4) }

    /// Pushes a frame full of nines. Returns a byte of luma of the frame that comes out.
    private static func processedNine(_ harness: Harness) -> UInt8? {
        harness.push([UInt8](repeating: 9, count: 96))
        return harness.pull()?.bytes[5]
    }

    /// Sets each property on its own thread, at the same time.
    private static func set(_ values: [(property: String, value: String)], on element: Element) {
        let threads = values.map { property, value in
            NativeThread("set") { try? element.setProperty(property, to: value) }
        }
        for thread in threads { thread.join() }
    }

    private final class TestHandler: Sendable {}

    @Test("GR-10 a handler that is set or attached during the node's start replaces the one being created")
    func setDuringStart() throws {
        let (newer, older) = (TestHandler(), TestHandler())
        for isAttached in [false, true] {
            let slot = HandlerSlot<TestHandler>()
            let started = try slot.start { () throws(MediaGraphError) in
                _ = isAttached ? slot.attach(newer) : slot.setNamed(newer)
                return older
            }
            #expect(started === newer)
            #expect(slot.wanted === newer)
        }
        let slot = HandlerSlot<TestHandler>()
        #expect(try slot.start { () throws(MediaGraphError) in older } === older)
    }

    @Test("GR-10 the property and the handler agree, whichever thread sets `handler` last")
    func twoHandlers() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.processedNine(harness)
        var disagreements = 0
        for _ in 0..<500 {
            Self.set([("handler", "invert"), ("handler", "")], on: element)
            let name = try element.property("handler", as: String.self)
            if (name == "invert") != (Self.processedNine(harness) == 251 - 9) { disagreements += 1 }
        }
        #expect(disagreements == 0)
    }

    @Test("GR-10 threads that set `handler` and `options` never give a handler another one's options")
    func handlerAndOptions() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.processedNine(harness)
        var wrong = 0
        for _ in 0..<500 {
            try element.setProperty("handler", to: "pixelate")
            Self.set([("handler", "invert"), ("options", "block=8")], on: element)
            let options = try element.property("options", as: String.self)
            if !options.isEmpty || Self.processedNine(harness) != 251 - 9 { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    /// A handler that sets its own element to NULL, which isn't allowed.
    private struct SelfStopping: VideoProcessor, NamedHandler {
        static let name = "self-stopping"
        static let summary = "sets its element to NULL"
        static let element = Mutex<Element?>(nil)
        static let calls = Log<String>()

        private final class Life: Sendable {
            deinit { SelfStopping.calls.add("released") }
        }
        private let life = Life()

        init(options: HandlerOptions) {}

        func process(_ frame: inout VideoFrame) -> Verdict {
            Self.element.withLock { $0.take() }?.setState(.null)
            Self.calls.add("returns")
            return .pass
        }
    }

    @Test("EL-5 a handler that sets its own element to NULL is an error, and is released after its call")
    func stopsItself() throws {
        try HandlerRegistry.shared.register(SelfStopping.self)
        let pipeline = try Pipeline(
            parsing: "videotestsrc num-buffers=2 ! preprocessor name=p handler=self-stopping ! fakesink name=f")
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add(report.error.message) } }
        let element = try #require(pipeline.element(named: "p"))
        SelfStopping.element.withLock { $0 = element }
        pipeline.setState(.playing)
        #expect(waitUntil { SelfStopping.calls.all.contains("returns") })
        pipeline.setState(.null)
        #expect(
            errors.all == [
                "p: handler self-stopping has stopped its own element from inside a call; call requestStop() of the graph instead"
            ])
        // A run that ends as it should.
        let sink = try #require(pipeline.element(named: "f")?.staticPad("sink"))
        pipeline.setState(.playing)
        #expect(waitUntil { sink.hasEnded })
        pipeline.setState(.null)
        #expect(SelfStopping.calls.all == ["returns", "released", "returns", "returns", "released"])
        #expect(errors.all.count == 1)
    }

    private struct Incrementer: VideoProcessor {
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.bytes[5] += 1
            return .pass
        }
    }

    @Test("GR-10 clearing `handler` removes an attached handler, running or not", arguments: [false, true])
    func emptied(isRunning: Bool) throws {
        let element = try #require(Element(factory: "preprocessor"))
        try NodeVTable.attach(Incrementer(), to: element)
        if !isRunning { try element.setProperty("handler", to: "") }
        let harness = Self.harness(element)
        if isRunning {
            #expect(Self.processedNine(harness) == 10)
            try element.setProperty("handler", to: "")
        }
        #expect(Self.processedNine(harness) == 9)
    }

    @Test(
        "GR-10 `handler` and `options` notify once for each change, including when they are cleared"
    )
    func notified() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.processedNine(harness)
        let handlers = element.observeChanges(of: "handler", as: String.self)
        let options = element.observeChanges(of: "options", as: String.self)
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("options", to: "block=8")
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("handler", to: "invert")
        #expect(handlers.all == ["pixelate", "invert"])
        #expect(options.all == ["block=8", ""])
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("options", to: "block=4")
        try NodeVTable.detach(MGVideoProcessor.self, from: element)
        #expect(handlers.all == ["pixelate", "invert", "pixelate", ""])
        #expect(options.all == ["block=8", "", "block=4", ""])
    }
}
