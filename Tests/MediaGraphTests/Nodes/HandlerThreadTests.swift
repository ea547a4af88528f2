import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// `handler` and `options` set from several threads, or while the node starts: what they read and what runs agree.
@Suite struct HandlerThreadTests {
    init() throws { try Nodes.register() }

    private static func harness(_ element: Element) -> Harness { ObserverHarness.make(element, .i420, 16, 4) }

    /// The first byte of luma that comes out for nines.
    private static func nines(_ harness: Harness) -> UInt8? {
        harness.push([UInt8](repeating: 9, count: 96))
        return harness.pull()?.bytes[5]
    }

    /// Sets each on a thread of its own, at once.
    private static func set(_ values: [(property: String, value: String)], on element: Element) {
        let threads = values.map { property, value in
            NativeThread("set") { try? element.setProperty(property, to: value) }
        }
        for thread in threads { thread.join() }
    }

    private final class Made: Sendable {}

    @Test("GR-10 a handler that is set or attached while the node starts, which makes another, is the one that runs")
    func setDuringStart() throws {
        let (newer, older) = (Made(), Made())
        for isAttached in [false, true] {
            let slot = HandlerSlot<Made>()
            let started = try slot.start { () throws(MediaGraphError) in
                _ = isAttached ? slot.attach(newer) : slot.setNamed(newer)
                return older
            }
            #expect(started === newer)
            #expect(slot.wanted === newer)
        }
        let slot = HandlerSlot<Made>()
        #expect(try slot.start { () throws(MediaGraphError) in older } === older)
    }

    @Test("GR-10 whichever thread sets `handler` last, the property and the handler agree")
    func twoHandlers() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.nines(harness)
        var disagreements = 0
        for _ in 0..<500 {
            Self.set([("handler", "invert"), ("handler", "")], on: element)
            let says = try element.property("handler", as: String.self)
            if (says == "invert") != (Self.nines(harness) == 251 - 9) { disagreements += 1 }
        }
        #expect(disagreements == 0)
    }

    @Test("GR-10 `handler` and `options` set at once by two threads never give one handler the other's options")
    func handlerAndOptions() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.nines(harness)
        var wrong = 0
        for _ in 0..<500 {
            try element.setProperty("handler", to: "pixelate")
            Self.set([("handler", "invert"), ("options", "block=8")], on: element)
            let options = try element.property("options", as: String.self)
            if !options.isEmpty || Self.nines(harness) != 251 - 9 { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    private struct Plus: VideoProcessor {
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.bytes[5] += 1
            return .pass
        }
    }

    @Test("GR-10 `handler` emptied takes a handler from Swift away, running or not", arguments: [false, true])
    func emptied(isRunning: Bool) throws {
        let element = try #require(Element(factory: "preprocessor"))
        try NodeVTable.attach(Plus(), to: element)
        if !isRunning { try element.setProperty("handler", to: "") }
        let harness = Self.harness(element)
        if isRunning {
            #expect(Self.nines(harness) == 10)
            try element.setProperty("handler", to: "")
        }
        #expect(Self.nines(harness) == 9)
    }

    @Test(
        "GR-10 who listens hears of `handler` and of `options` once for each change, on a swap and when both are cleared"
    )
    func notified() throws {
        let element = try #require(Element(factory: "preprocessor"))
        let harness = Self.harness(element)
        _ = Self.nines(harness)
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
