import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// What `handler` and `options` say, and what the next run does, agree.
@Suite struct HandlerPropertyTests {
    init() throws { try Nodes.register() }

    private struct Nothing: VideoProcessor {
        func process(_ frame: inout VideoFrame) -> Verdict { .pass }
    }

    /// The first byte of luma that comes out for nines, in a run of its own.
    private static func run(_ element: Element, _ during: () throws -> Void = {}) throws -> [UInt8?] {
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        defer { element.setState(.null) }
        var values: [UInt8?] = []
        for round in 0..<2 {
            if round == 1 { try during() }
            harness.push([UInt8](repeating: 9, count: 96))
            values.append(harness.pull()?.bytes[5])
        }
        return values
    }

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
        "GR-10 detached, a node has no handler: its properties say so, and so does every run from then on",
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

    @Test("GR-10 a handler from Swift takes the place of the one in `handler`, which reads empty then")
    func attached() throws {
        let element = try Self.element("preprocessor")
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("options", to: "block=8")
        try NodeVTable.attach(Nothing(), to: element)
        #expect(try Self.text(element) == ["", ""])
        let observer = try Self.element("frameobserver")
        try observer.setProperty("handler", to: "invert")
        let editor = ObserverHarness.Editor { _ in .pass }
        try NodeVTable.attach(MGFrameObserver(editor, name: "test"), to: observer)
        #expect(try Self.text(observer) == ["", ""])
        #expect(try Self.run(observer) == [9, 9])
    }

    @Test("GR-10 a pipe and a source that are detached have no handler: another may come", arguments: [true, false])
    func others(isPipe: Bool) throws {
        let element = try #require(Element(factory: isPipe ? "rawdatapipe" : "videosource"))
        try element.setProperty("handler", to: isPipe ? "count" : "counter")
        try element.setProperty("options", to: "")
        if isPipe {
            try NodeVTable.detach(MGVideoConsumer.self, from: element)
            try NodeVTable.attach(RawDataPipeTests.Consumer(), memoryMode: nil, to: element)
        } else {
            try NodeVTable.detach(MGVideoSource.self, from: element)
            try NodeVTable.attach(RecordingSource(), to: element)
        }
        #expect(try Self.text(element) == ["", ""])
    }

    @Test(
        "FO-2 `handler` and `options` set while the node is stopped are what its next run begins with",
        arguments: ["preprocessor", "frameobserver"])
    func setWhileStopped(factory: String) throws {
        let element = try Self.element(factory)
        let editor = ObserverHarness.Editor { _ in .pass }
        if factory == "frameobserver" {
            try NodeVTable.attach(MGFrameObserver(editor, name: "test"), to: element)
        } else {
            try NodeVTable.attach(Nothing(), to: element)
        }
        #expect(try Self.run(element) == [9, 9])
        // The latest counts, also over one from Swift.
        try element.setProperty("handler", to: "invert")
        #expect(try Self.run(element) == [251 - 9, 251 - 9])
        // Options are read when the run begins: those that the handler hasn't end it there.
        try element.setProperty("options", to: "nosuch=1")
        #expect(try Self.text(element) == ["invert", "nosuch=1"])
        #expect(element.setState(.paused) == .failure)
        element.setState(.null)
        try element.setProperty("options", to: "")
        #expect(try Self.run(element) == [251 - 9, 251 - 9])
    }
}
