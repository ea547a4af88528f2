import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests that the properties `handler` and `options` agree with the handler that the next run uses.
@Suite struct HandlerPropertyTests {
    init() throws { try Nodes.register() }

    private struct PassThrough: VideoProcessor {
        func process(_ frame: inout VideoFrame) -> Verdict { .pass }
    }

    /// Runs the element with two frames full of nines, and calls `beforeSecond` between them. Returns a byte of luma of
    /// each frame that comes out.
    private static func run(_ element: Element, beforeSecond: () throws -> Void = {}) throws -> [UInt8?] {
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        defer { element.setState(.null) }
        var values: [UInt8?] = []
        for round in 0..<2 {
            if round == 1 { try beforeSecond() }
            harness.push([UInt8](repeating: 9, count: 96))
            values.append(harness.pull()?.bytes[5])
        }
        return values
    }

    /// Returns the values of `handler` and `options`.
    private static func text(_ element: Element) throws -> [String] {
        try ["handler", "options"].map { try element.property($0, as: String.self) }
    }

    private static func element(_ factory: String) throws -> Element {
        factory == "frameobserver"
            ? try ObserverHarness.element(.readWrite) : try #require(Element(factory: factory))
    }

    private static func detach(_ element: Element) throws {
        if element.factoryName == "frameobserver" {
            try NodeVTable.detach(MGFrameObserver.self, from: element)
        } else {
            try NodeVTable.detach(MGVideoProcessor.self, from: element)
        }
    }

    @Test(
        "GR-10 a detached handler is gone from the node's properties and from later runs",
        arguments: ["preprocessor", "frameobserver"])
    func detached(factory: String) throws {
        for isRunning in [true, false] {
            let element = try Self.element(factory)
            try element.setProperty("handler", to: "invert")
            #expect(try Self.run(element) { if isRunning { try Self.detach(element) } }[0] == 251 - 9)
            if !isRunning { try Self.detach(element) }
            #expect(try Self.text(element) == ["", ""])
            #expect(try Self.run(element) == [9, 9])
        }
    }

    @Test("GR-10 an attached handler replaces the one in `handler`, which is then empty")
    func attached() throws {
        let element = try Self.element("preprocessor")
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("options", to: "block=8")
        try NodeVTable.attach(PassThrough(), to: element)
        #expect(try Self.text(element) == ["", ""])
        let observer = try Self.element("frameobserver")
        try observer.setProperty("handler", to: "invert")
        let editor = ObserverHarness.Editor { _ in .pass }
        try NodeVTable.attach(MGFrameObserver(editor, name: "test"), to: observer)
        #expect(try Self.text(observer) == ["", ""])
        #expect(try Self.run(observer) == [9, 9])
    }

    @Test("GR-10 detaching a named handler from a pipe or a source makes room for another", arguments: [true, false])
    func others(isPipe: Bool) throws {
        let element = try #require(Element(factory: isPipe ? "rawdatapipe" : "videosource"))
        try element.setProperty("handler", to: isPipe ? "count" : "counter")
        try element.setProperty("options", to: "")
        if isPipe {
            try NodeVTable.detach(MGVideoConsumer.self, from: element)
            try NodeVTable.attach(RawDataPipeTests.Consumer(), to: element)
        } else {
            try NodeVTable.detach(MGVideoSource.self, from: element)
            try NodeVTable.attach(RecordingSource(), to: element)
        }
        #expect(try Self.text(element) == ["", ""])
    }

    @Test(
        "FO-2 a stopped node's `handler` and `options` apply to its next run",
        arguments: ["preprocessor", "frameobserver"])
    func setWhileStopped(factory: String) throws {
        let element = try Self.element(factory)
        let editor = ObserverHarness.Editor { _ in .pass }
        if factory == "frameobserver" {
            try NodeVTable.attach(MGFrameObserver(editor, name: "test"), to: element)
        } else {
            try NodeVTable.attach(PassThrough(), to: element)
        }
        #expect(try Self.run(element) == [9, 9])
        // The latest handler applies, even if the one before was attached.
        try element.setProperty("handler", to: "invert")
        #expect(try Self.run(element) == [251 - 9, 251 - 9])
        // Options are read when the run begins. An unknown option makes the start fail.
        try element.setProperty("options", to: "nosuch=1")
        #expect(try Self.text(element) == ["invert", "nosuch=1"])
        #expect(element.setState(.paused) == .failure)
        element.setState(.null)
        try element.setProperty("options", to: "")
        #expect(try Self.run(element) == [251 - 9, 251 - 9])
    }
}
