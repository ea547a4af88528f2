import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests replacing a pre-processor's handler while data flows.
@Suite struct HandlerSwapTests {
    init() throws { try Nodes.register() }

    /// Adds one to a byte at its own column, which shows a frame that is processed twice or not at all.
    private struct Stamp: VideoProcessor {
        let column: Int
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.bytes[(luma.height - 1) * luma.stride + column] += 1
            return .pass
        }
    }

    private final class Load: Sendable {
        let isDone = Atomic<Bool>(false)
        let swaps = Atomic<Int>(0)
        /// The number of swaps that the consumer has seen.
        let seenSwaps = Atomic<Int>(0)
    }

    /// A handler that takes only one format, and logs the format of each frame.
    private struct SingleFormat<Accepted: AcceptedFormat>: VideoProcessor {
        static var formats: [VideoFormat] { [Accepted.format] }
        let log: Log<VideoFormat>
        func process(_ frame: inout VideoFrame) -> Verdict {
            log.add(frame.format)
            return .pass
        }
    }

    private protocol AcceptedFormat { static var format: VideoFormat { get } }
    private enum RGBA: AcceptedFormat { static let format = VideoFormat.rgba }
    private enum I420: AcceptedFormat { static let format = VideoFormat.i420 }
    private enum NV12: AcceptedFormat { static let format = VideoFormat.nv12 }

    @Test("PP-6 while handlers are swapped, each frame arrives in order, processed by exactly one of them")
    func underLoad() async throws {
        let frames = 600
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=\(frames),width=64,height=48" ! preprocessor name=p !
            rawdatapipe name=pipe
            """)
        let node = try graph.preprocessor("p")
        let arrivals = Log<[Int]>()
        let load = Load()
        try graph.rawDataPipe("pipe").receive { frame in
            let row = try frame.plane(.y).row(47)
            let number = Int(try FrameNumber.read(frame))
            arrivals.add([number, Int(row[0]), Int(row[1])])
            // Waits for a swap in every few frames, however busy the machine is.
            if number % 8 == 0 {
                let seen = load.seenSwaps.load(ordering: .relaxed)
                _ = waitUntil { load.swaps.load(ordering: .relaxed) > seen }
                load.seenSwaps.store(load.swaps.load(ordering: .relaxed), ordering: .relaxed)
            }
        }
        try node.attach(Stamp(column: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var column = 1
                while !load.isDone.load(ordering: .relaxed) {
                    let count = arrivals.all.count
                    try node.attach(Stamp(column: column))
                    column = 1 - column
                    load.swaps.wrappingAdd(1, ordering: .relaxed)
                    // Two swaps between the same frames would hide the first handler.
                    while !load.isDone.load(ordering: .relaxed), arrivals.all.count == count { await Task.yield() }
                }
            }
            // The task ends even if the graph fails.
            defer { load.isDone.store(true, ordering: .relaxed) }
            try await graph.run()
            load.isDone.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(arrivals.all.map { $0[0] } == Array(0..<frames))
        var canvas = CounterCanvas(width: 64, height: 48)
        let stamps = arrivals.all.map { arrival in
            canvas.draw(UInt32(arrival[0]))
            return [arrival[1] - Int(canvas.bytes[47 * 64]), arrival[2] - Int(canvas.bytes[47 * 64 + 1])]
        }
        #expect(stamps.allSatisfy { $0 == [1, 0] || $0 == [0, 1] })
        #expect(stamps.contains([1, 0]) && stamps.contains([0, 1]), "\(load.swaps.load(ordering: .relaxed)) swaps")
        #expect(node.statistics.frames == UInt64(frames))
    }

    /// Returns a harness with a preprocessor.
    private static func harness() throws -> Harness {
        let harness = Harness(try #require(Element(factory: "preprocessor")), sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        return harness
    }

    /// Pushes a frame full of nines. Returns the last byte of luma, to which `Stamp(column: 15)` adds one.
    private static func lastByte(_ harness: Harness) throws -> UInt8 {
        harness.push([UInt8](repeating: 9, count: 96))
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return 0
        }
        return out.bytes[63]
    }

    @Test("PP-6 attaching and detaching a handler while frames flow applies from the next frame on")
    func fromPassThrough() throws {
        let harness = try Self.harness()
        #expect(try Self.lastByte(harness) == 9)
        try NodeVTable.attach(Stamp(column: 15), to: harness.element)
        #expect(try Self.lastByte(harness) == 10)
        try NodeVTable.detach(MGVideoProcessor.self, from: harness.element)
        #expect(try Self.lastByte(harness) == 9)
        // A handler that is attached while the frame is shared doesn't change the other owner's bytes.
        try NodeVTable.attach(Stamp(column: 15), to: harness.element)
        let shared = Buffer([UInt8](repeating: 9, count: 96))
        harness.push(shared.retained)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.bytes[63] == 10)
        #expect(shared.bytes[63] == 9)
    }

    @Test(
        "PP-6 a handler for another format takes over when upstream has changed to that format")
    func otherFormat() async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=40,width=64,height=48" ! videoconvert !
            preprocessor name=p ! videoconvert ! rawdatapipe name=pipe format=I420
            """)
        let node = try graph.preprocessor("p")
        let arrivals = Log<UInt32>()
        try graph.rawDataPipe("pipe").receive { arrivals.add(try FrameNumber.read($0)) }
        let (before, after) = (Log<VideoFormat>(), Log<VideoFormat>())
        struct Changing: VideoProcessor {
            static let formats = [VideoFormat.i420]
            let seen: Log<VideoFormat>
            let change: @Sendable () throws -> Void
            func process(_ frame: inout VideoFrame) throws -> Verdict {
                seen.add(frame.format)
                if seen.all.count == 10 { try change() }
                return .pass
            }
        }
        try node.attach(
            Changing(seen: before) { [element = node.element] in
                try NodeVTable.attach(SingleFormat<RGBA>(log: after), to: element)
            })
        try await graph.run()
        #expect(arrivals.all == Array(0..<40))
        #expect(before.all.allSatisfy { $0 == .i420 } && before.all.count >= 10)
        #expect(after.all.allSatisfy { $0 == .rgba } && !after.all.isEmpty)
        #expect(before.all.count + after.all.count == 40)
    }

    @Test(
        "PP-6 a handler for an impossible format is an error with both sides, and the old one goes on",
        arguments: [
            ("! video/x-raw,format=I420", "", "format=(string)I420"),
            ("! videoconvert", "! video/x-raw,format=I420", "downstream accepts"),
        ])
    func impossible(before: String, after: String, named: String) async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=20,width=64,height=48" \(before) ! preprocessor name=p
            \(after) ! rawdatapipe name=pipe
            """)
        let node = try graph.preprocessor("p")
        let arrivals = Log<UInt32>()
        let refusals = Log<MediaGraphError>()
        let (seen, never) = (Log<UInt32>(), Log<VideoFormat>())
        try graph.rawDataPipe("pipe").receive { arrivals.add(try FrameNumber.read($0)) }
        try node.process { [element = node.element] frame in
            let number = try FrameNumber.read(frame)
            seen.add(number)
            if number == 5 {
                do throws(MediaGraphError) { try NodeVTable.attach(SingleFormat<RGBA>(log: never), to: element) } catch
                {
                    refusals.add(error)
                }
            }
            return .pass
        }
        try await graph.run()
        #expect(arrivals.all == Array(0..<20) && seen.all == arrivals.all && never.all.isEmpty)
        let refusal = try #require(refusals.all.first)
        #expect(refusal.code == .unsupported && refusal.detail.subject.contains("SingleFormat"))
        #expect(refusal.detail.actual.contains(named), "\(refusal)")
        for side in ["RGBA", "upstream offers", "downstream accepts"] { #expect(refusal.detail.actual.contains(side)) }
    }

    @Test("PP-6 if upstream doesn't change its format for a new handler, the old one goes on with a warning")
    func neverChanges() async throws {
        // A videosource leaves the choice of format to its source, and this source ignores it.
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=80,width=64,height=48" ! preprocessor name=p !
            videoconvert ! fakesink
            """)
        let node = try graph.preprocessor("p")
        let (seen, never) = (Log<UInt32>(), Log<VideoFormat>())
        try node.process { [element = node.element] frame in
            seen.add(try FrameNumber.read(frame))
            if seen.all.count == 5 { try NodeVTable.attach(SingleFormat<RGBA>(log: never), to: element) }
            return .pass
        }
        let events = graph.events
        try await graph.run()
        #expect(seen.all == Array(0..<80) && never.all.isEmpty)
        var warnings: [String] = []
        for await case .warning(let warning) in events { warnings.append("\(warning)") }
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("I420") == true && warnings.first?.contains("RGBA") == true, "\(warnings)")
    }

    @Test(
        "GR-10 handler and options apply between two frames, and a new handler starts without options"
    )
    func byProperty() throws {
        let harness = try Self.harness()
        let element = harness.element
        #expect(try Self.lastByte(harness) == 9)
        try element.setProperty("handler", to: "invert")
        #expect(try Self.lastByte(harness) == 251 - 9)
        try element.setProperty("handler", to: "pixelate")
        try element.setProperty("options", to: "block=8")
        #expect(try Self.lastByte(harness) == 9)
        try element.setProperty("handler", to: "invert")
        #expect(try element.property("options", as: String.self) == "")
        #expect(try Self.lastByte(harness) == 251 - 9)
        try element.setProperty("handler", to: "")
        #expect(try Self.lastByte(harness) == 9)
    }

    @Test(
        "GR-10 an unknown handler or option is refused while running, and the old handler goes on")
    func refusedProperty() throws {
        let harness = try Self.harness()
        let element = harness.element
        try element.setProperty("handler", to: "invert")
        #expect(try Self.lastByte(harness) == 251 - 9)
        for (property, value, reason) in [("handler", "invrt", "one of"), ("options", "x=1", "invert")] {
            let error = #expect(throws: PropertyError.self) { try element.setProperty(property, to: value) }
            guard case .refused(_, property, let text)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(text.contains(reason), "\(text)")
        }
        #expect(try element.property("handler", as: String.self) == "invert")
        #expect(try Self.lastByte(harness) == 251 - 9)
    }

    @Test("GR-10 setting `handler` and attaching a handler replace each other")
    func latestCounts() throws {
        let harness = try Self.harness()
        let element = harness.element
        try NodeVTable.attach(Stamp(column: 15), to: element)
        #expect(try Self.lastByte(harness) == 10)
        try element.setProperty("handler", to: "invert")
        #expect(try Self.lastByte(harness) == 251 - 9)
        try NodeVTable.attach(Stamp(column: 15), to: element)
        #expect(try Self.lastByte(harness) == 10)
    }

    @Test(
        "PP-8 a handler can edit each plane in each format", arguments: VideoFormat.allCases
    )
    func formats(format: VideoFormat) throws {
        struct Invert: VideoProcessor {
            func process(_ frame: inout VideoFrame) throws -> Verdict {
                for plane in frame.format.planes {
                    var bytes = try frame.mutablePlane(plane)
                    for y in 0..<bytes.height {
                        var row = bytes.row(y)
                        for x in row.indices { row[x] = ~row[x] }
                    }
                }
                return .pass
            }
        }
        let element = try #require(Element(factory: "preprocessor"))
        try NodeVTable.attach(Invert(), to: element)
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=\(format.gstreamerName),width=16,height=4,framerate=30/1")
        let bytes = patternedFrame(format, width: 16, height: 4)
        harness.push(bytes)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(out.bytes == bytes.map { ~$0 })
    }

    @Test(
        "PP-8 negotiation gives a handler a format that it takes, whatever the source has",
        arguments: ["NV12", "BGR", "GRAY8"])
    func negotiated(source: String) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=3 ! video/x-raw,format=\(source),width=16,height=16 ! videoconvert !
            preprocessor name=p ! fakesink
            """)
        let seen = Log<VideoFormat>()
        try graph.preprocessor("p").attach(SingleFormat<RGBA>(log: seen))
        try await graph.run()
        #expect(seen.all == [.rgba, .rgba, .rgba])
    }

    @Test("PP-8 if no common format exists, the graph's error names both sides")
    func noFormat() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=16,height=16 ! preprocessor name=p ! fakesink")
        try graph.preprocessor("p").attach(SingleFormat<RGBA>(log: Log()))
        await #expect(throws: GraphError.self) { try await graph.run() }
        let conflict = try #require(await graph.formatConflict)
        #expect(conflict.contains("NV12") && conflict.contains("RGBA"), "\(conflict)")
        // The next run starts without the last one's conflict.
        try graph.preprocessor("p").attach(SingleFormat<NV12>(log: Log()))
        try await graph.run()
        #expect(await graph.formatConflict == nil)
    }

    @Test("PP-6 a replaced handler may call its node when it is released", .timeLimit(.minutes(10)))
    func endCallsNode() throws {
        final class Owner: Sendable {
            let element: Element
            let ends: Log<String>
            init(_ element: Element, _ ends: Log<String>) { (self.element, self.ends) = (element, ends) }
            deinit {
                try? NodeVTable.detach(MGVideoProcessor.self, from: element)
                ends.add("end")
            }
        }
        struct Handler: VideoProcessor {
            let owner: Owner
            func process(_ frame: inout VideoFrame) -> Verdict { .pass }
        }
        let ends = Log<String>()
        let element = try #require(Element(factory: "preprocessor"))
        for _ in 0..<2 {
            try NodeVTable.attach(Handler(owner: Owner(element, ends)), to: element)
        }
        try NodeVTable.detach(MGVideoProcessor.self, from: element)
        #expect(ends.all == ["end", "end"])
    }

    @Test("GR-10 setting only `options` doesn't replace an attached handler")
    func optionsBesideSwift() throws {
        struct Counting: VideoProcessor {
            let calls: Log<Int>
            func process(_ frame: inout VideoFrame) -> Verdict {
                calls.add(1)
                return .pass
            }
        }
        let calls = Log<Int>()
        let element = try #require(Element(factory: "preprocessor"))
        try element.setProperty("handler", to: "pixelate")
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        harness.push([UInt8](repeating: 9, count: 96))
        try NodeVTable.attach(Counting(calls: calls), to: element)
        harness.push([UInt8](repeating: 9, count: 96))
        try element.setProperty("options", to: "block=8")
        harness.push([UInt8](repeating: 9, count: 96))
        #expect(calls.all.count == 2)
    }
}
