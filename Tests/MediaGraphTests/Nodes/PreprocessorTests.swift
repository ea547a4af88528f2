import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

@Suite struct PreprocessorTests {
    private static let caps = "video/x-raw,format=I420,width=16,height=4,framerate=30/1"

    private func harness(_ body: (@Sendable (inout VideoFrame) throws -> Verdict)?) throws -> Harness {
        try Nodes.register()
        let element = try #require(Element(factory: "preprocessor"))
        if let body { try NodeVTable.attach(Closure(body: body), to: element) }
        return Harness(element, sink: "sink", source: "src")
    }

    private struct Closure: VideoProcessor {
        let body: @Sendable (inout VideoFrame) throws -> Verdict
        func process(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
    }

    @Test("PP-1 a handler is called once for each frame in order, and its edits in place are sent on")
    func edits() async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=40,width=64,height=48" ! preprocessor name=mark !
            rawdatapipe name=pipe
            """)
        let processed = Log<UInt32>()
        let delivered = Log<(UInt32, UInt8)>()
        try graph.preprocessor("mark").process { frame in
            processed.add(try FrameNumber.read(frame))
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 40..<48, with: 77)
            return .pass
        }
        try graph.rawDataPipe("pipe").receive { frame in
            delivered.add((try FrameNumber.read(frame), try frame.plane(.y).row(44)[30]))
        }
        try await graph.run()
        #expect(processed.all == Array(0..<40))
        #expect(delivered.all.map(\.0) == Array(0..<40))
        #expect(delivered.all.allSatisfy { $0.1 == 77 })
    }

    @Test("PP-1 each plane gives its data, stride, width and height")
    func planes() throws {
        let log = Log<[Int]>()
        let harness = try harness { frame in
            for plane in frame.format.planes {
                let view = try frame.plane(plane)
                log.add([view.width, view.height, view.stride, view.bytes.count, Int(view.row(1)[0])])
            }
            return .pass
        }
        harness.setSourceCaps("video/x-raw,format=I420,width=6,height=4,framerate=30/1")
        // In the default layout, luma rows have 8 bytes and chroma rows 4.
        let length: UInt8 = 8 * 4 + 4 * 2 * 2
        let bytes = [UInt8](0..<length)
        #expect(harness.push(bytes) == .ok)
        #expect(log.all == [[6, 4, 8, 30, 8], [3, 2, 4, 7, 36], [3, 2, 4, 7, 44]])
    }

    @Test("PP-1 a plane that the format doesn't have is a typed error")
    func missingPlane() throws {
        let log = Log<String>()
        let harness = try harness { frame in
            do { _ = try frame.plane(.packed).width } catch { log.add("\(error)") }
            return .pass
        }
        harness.setSourceCaps(Self.caps)
        harness.push([UInt8](repeating: 0, count: 96))
        #expect(log.all == ["plane: expected one of y, u, v in I420 frames, got packed"])
    }

    @Test("PP-2 without a handler the buffer itself goes on, untouched")
    func passThrough() throws {
        let harness = try harness(nil)
        harness.setSourceCaps(Self.caps)
        let buffer = Buffer([UInt8](repeating: 9, count: 96))
        let address = buffer.address
        #expect(harness.push(buffer) == .ok)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.address == address)
        #expect(out.bytes == [UInt8](repeating: 9, count: 96))
    }

    @Test("PP-2 a handler edits an unshared buffer without a copy")
    func inPlace() throws {
        let harness = try harness { frame in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        harness.setSourceCaps(Self.caps)
        let buffer = Buffer([UInt8](repeating: 9, count: 96))
        let address = buffer.address
        harness.push(buffer)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.address == address)
        #expect(Array(out.bytes.prefix(64)) == [UInt8](repeating: 1, count: 64))
    }

    @Test("PP-3 a frame that another branch shares is copied before it is edited")
    func shared() throws {
        let harness = try harness { frame in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        harness.setSourceCaps(Self.caps)
        let shared = Buffer([UInt8](repeating: 9, count: 96))
        harness.push(shared.retained)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.address != shared.address)
        #expect(shared.bytes == [UInt8](repeating: 9, count: 96))
        #expect(Array(out.bytes.prefix(64)) == [UInt8](repeating: 1, count: 64))
    }

    @Test("PP-3 behind a tee the other branch gets the source's bytes, frame by frame")
    func tee() async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=30,width=64,height=48" ! tee name=t
            t. ! queue ! preprocessor handler=invert ! rawdatapipe name=edited
            t. ! queue ! rawdatapipe name=original
            """)
        let edited = Log<[UInt8]>()
        let original = Log<[UInt8]>()
        try graph.rawDataPipe("edited").receive { edited.add($0.packedBytes) }
        try graph.rawDataPipe("original").receive { original.add($0.packedBytes) }
        try await graph.run()
        var canvas = CounterCanvas(width: 64, height: 48)
        #expect(original.all.count == 30)
        for (number, bytes) in original.all.enumerated() {
            canvas.draw(UInt32(number))
            #expect(bytes == canvas.bytes, "frame \(number)")
            #expect(edited.all[number] != bytes)
        }
    }

    @Test("PP-4 a handler's error ends the graph with the handler's name and the error")
    func failure() async throws {
        struct Broken: Error {}
        let graph = try Graph(
            "videosource handler=counter pace=fast options=\"frames=9\" ! preprocessor name=p ! fakesink")
        try graph.preprocessor("p").process { _ in throw Broken() }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("Broken()"))
    }

    @Test("PP-4 a dropped frame goes no further and is counted")
    func drop() async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=30,width=64,height=48" ! preprocessor name=p !
            rawdatapipe name=pipe
            """)
        try graph.preprocessor("p").process { try FrameNumber.read($0) % 3 == 0 ? .pass : .drop }
        let seen = Log<UInt32>()
        try graph.rawDataPipe("pipe").receive { seen.add(try FrameNumber.read($0)) }
        try await graph.run()
        #expect(seen.all == (0..<10).map { $0 * 3 })
        #expect(try graph.preprocessor("p").statistics.dropped == 20)
    }
}
