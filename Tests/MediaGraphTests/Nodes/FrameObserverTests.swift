import CMediaGraphABI
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests the frames that an observer gets in each mode, and the effect of its verdicts.
@Suite struct FrameObserverTests {
    init() throws { try Nodes.register() }

    // MARK: FO-2

    @Test("FO-2 a read-only observer gets the stream's own bytes if the format fits, and the buffer goes on")
    func readOnlyDirect() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 96, alignment: 16)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 9)
        let seen = Log<UInt>()
        let harness = try ObserverHarness.make(.i420, 16, 4) { (frame: borrowing VideoFrame) in
            let address = try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            seen.add(address)
            return .pass
        }
        let buffer = Buffer(wrapping: memory, context: nil, release: nil)
        let address = buffer.address
        harness.push(buffer.retained)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(seen.all == [UInt(bitPattern: memory.baseAddress)])
        #expect(out.address == address)
    }

    @Test(
        "FO-2 a read-only observer gets a copy in another format, and the buffer goes on untouched",
        arguments: VideoFormat.allCases)
    func readOnlyConverted(format: VideoFormat) throws {
        let seen = Log<VideoFormat>()
        let harness = try ObserverHarness.make(.i420, 16, 4, FramePreference(format: format)) {
            (frame: borrowing VideoFrame) in
            seen.add(frame.format)
            return .pass
        }
        let bytes = patternedFrame(width: 16, height: 4)
        let buffer = Buffer(bytes)
        let address = buffer.address
        harness.push(buffer)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(seen.all == [format])
        #expect(out.address == address && out.bytes == bytes)
    }

    @Test("FO-2 without an observer the buffer itself goes on and is counted")
    func passThrough() throws {
        let element = try ObserverHarness.element(.readWrite)
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        let buffer = Buffer([UInt8](repeating: 9, count: 96))
        let address = buffer.address
        harness.push(buffer.retained)
        #expect(harness.pull()?.address == address)
        #expect(NodeCounts(element)?.frames == 1)
    }

    @Test(
        "FO-2 an editor works in place in the stream's format, on a copy if another branch shares the frame"
    )
    func readWriteDirect() throws {
        let harness = try ObserverHarness.make(.i420, 16, 4) { (frame: inout VideoFrame) in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        let own = Buffer([UInt8](repeating: 9, count: 96))
        let address = own.address
        harness.push(own)
        #expect(harness.pull()?.address == address)
        let shared = Buffer([UInt8](repeating: 9, count: 96))
        harness.push(shared.retained)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.address != shared.address && out.bytes.prefix(64).allSatisfy { $0 == 1 })
        #expect(shared.bytes == [UInt8](repeating: 9, count: 96))
    }

    @Test(
        "FO-2 attaching an observer of the wrong mode throws, and naming one fails the run",
        arguments: [ObserverMode.readOnly, .readWrite])
    func wrongMode(mode: ObserverMode) async throws {
        let graph = try Graph("videotestsrc num-buffers=2 ! frameobserver name=o mode=\(mode.nick) ! fakesink")
        let node = try graph.frameObserver("o")
        let error = #expect(throws: MediaGraphError.self) {
            if mode == .readOnly { try node.edit { _ in .pass } } else { try node.observe { _ in .pass } }
        }
        #expect(error?.code == .invalidParameter && error?.detail.actual == mode.nick)
        try node.set("handler", to: mode == .readOnly ? "invert" : "count")
        let failure = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(failure!)".contains("got \(mode.nick)"), "\(failure!)")
    }

    // MARK: FO-3

    @Test("FO-3 a dropped frame goes no further and is counted", arguments: [ObserverMode.readOnly, .readWrite])
    func drops(mode: ObserverMode) async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=30,width=64,height=48" !
            frameobserver name=o mode=\(mode.nick) ! rawdatapipe name=pipe
            """)
        let node = try graph.frameObserver("o")
        if mode == .readOnly {
            try node.observe { try FrameNumber.read($0) % 3 == 0 ? .pass : .drop }
        } else {
            try node.edit { try FrameNumber.read($0) % 3 == 0 ? .pass : .drop }
        }
        let arrivals = Log<UInt32>()
        try graph.rawDataPipe("pipe").receive { arrivals.add(try FrameNumber.read($0)) }
        try await graph.run()
        #expect(arrivals.all == (0..<10).map { $0 * 3 })
        #expect(node.statistics.dropped == 20 && node.statistics.frames == 10)
    }

    @Test("FO-3 an observer that throws, or returns `fail`, ends the graph with its name and reason")
    func fails() async throws {
        struct Broken: Error {}
        let bodies: [(@Sendable (borrowing VideoFrame) throws -> Verdict, String)] = [
            ({ _ in throw Broken() }, "Broken()"), ({ _ in .fail("seen enough") }, "ended the stream: seen enough"),
        ]
        for (body, text) in bodies {
            let graph = try Graph("videotestsrc num-buffers=9 ! frameobserver name=o ! fakesink")
            try graph.frameObserver("o").observe(FramePreference(), body)
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            #expect("\(error!)".contains(text) && "\(error!)".contains("ClosureObserver"), "\(error!)")
        }
    }

    @Test(
        "FO-4 alpha in the stream stays unchanged if the editor's format has none",
        arguments: [VideoFormat.a420, .rgba, .bgra, .argb])
    func keepsAlpha(format: VideoFormat) throws {
        let harness = try ObserverHarness.make(
            format, 16, 4,
            edit: { (frame: inout VideoFrame) in
                var luma = try frame.mutablePlane(.y)
                luma.fill(rows: 0..<4, with: 200)
                return .pass
            })
        var bytes = [UInt8](repeating: 90, count: format.packedLength(width: 16, height: 4))
        let places = format == .a420 ? Array(96..<160) : (0..<64).map { $0 * 4 + (format == .argb ? 0 : 3) }
        for (value, place) in places.enumerated() { bytes[place] = UInt8(value) }
        harness.push(bytes)
        let out = harness.pull()?.bytes ?? []
        try #require(out.count == bytes.count)
        #expect(places.map { out[$0] } == (0..<64).map { UInt8($0) })
        // The edit was written.
        #expect(out[format == .a420 ? 0 : places[1] + (format == .argb ? 1 : -1)] > 150)
    }
}
