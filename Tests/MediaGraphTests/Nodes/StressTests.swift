import CMediaGraphABI
import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests state changes, flushes and refusals at moments that once caused a deadlock or worse.
@Suite struct StressTests {
    init() throws { try Nodes.register() }

    /// A count that is shared between threads.
    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .acquiring) }
        func add() { count.add(1, ordering: .acquiringAndReleasing) }
    }

    /// Starts and stops the pipeline on a thread, with growing delays. Returns whether no cycle got stuck.
    private func survives(_ pipeline: Pipeline, cycles: Int) -> Bool {
        let done = Counter()
        _ = NativeThread("cycles") {
            for cycle in 0..<cycles {
                pipeline.setState(.playing)
                Thread.sleep(forTimeInterval: Double(cycle % 50) * 0.00004)
                pipeline.setState(.null)
                done.add()
            }
        }
        var last = -1
        while done.value < cycles, done.value != last {
            last = done.value
            // A cycle takes milliseconds, and up to a second on a busy machine. Thirty seconds without a cycle are a
            // deadlock.
            for _ in 0..<3 where done.value == last { _ = waitUntil { done.value > last } }
        }
        return done.value == cycles
    }

    private struct Slow: VideoConsumer {
        func receive(_ frame: borrowing VideoFrame) throws { Thread.sleep(forTimeInterval: 0.002) }
    }

    @Test(
        "EL-1 starting and stopping at any moment with a dropping pipe never hangs",
        arguments: ["drop-old", "drop-new"])
    func droppingPipe(policy: String) throws {
        let pipeline = try Pipeline(
            parsing: """
                videotestsrc is-live=true ! video/x-raw,width=32,height=32,framerate=100/1 !
                rawdatapipe name=p backpressure=\(policy)
                """)
        try NodeVTable.attach(Slow(), to: try #require(pipeline.element(named: "p")))
        #expect(survives(pipeline, cycles: 300))
    }

    @Test("EL-1 starting and stopping at any moment with a blocking pipe that nobody reads never hangs")
    func blockingPipe() throws {
        let pipeline = try Pipeline(
            parsing: "videotestsrc ! video/x-raw,width=16,height=16 ! rawdatapipe name=p backpressure=block")
        try NodeVTable.attach(
            MGVideoConsumer(FrameChannel<OwnedVideoFrame>()), to: try #require(pipeline.element(named: "p")))
        #expect(survives(pipeline, cycles: 100))
    }

    @Test(
        "EL-1 a value refused while the element is floating makes the start fail, without other effects",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms),
        arguments: Nodes.factoryNames.filter { $0 != "mediasession" })
    func refusedWhileFloating(factory: String) throws {
        // gst-launch sets properties on elements that are still floating. The elements in `stock` refuse no value, so
        // they get one that is accepted.
        let stock = ["preprocessor": "qos=true", "frameobserver": "qos=true", "upright": "flip::qos=true"]
        let own = [
            "virtualmic": "quality=11", "sharesource": "share_video::max-frames=500000",
            "devicesource": "stall-timeout=9999999999999", "alphachannel": "enabled=true",
        ]
        let property = stock[factory] ?? own[factory] ?? "max-frames=500000"
        let sources = [
            "videosource": ["handler=counter", "pace=fast", "options=frames=1,width=16,height=16"],
            "virtualmic": ["handler=tone", "pace=fast", "options=seconds=0.1"],
            "sharesource": ["handler=counter", "pace=fast", "options=frames=1,width=16,height=16"],
            "devicesource": ["source=videotestsrc num-buffers=1"],
        ]
        let feeder = factory == "virtualspeaker" ? "audiotestsrc" : "videotestsrc"
        let before = sources[factory] == nil ? [feeder, "num-buffers=1", "!"] : []
        let after = ["rawdatapipe", "virtualspeaker"].contains(factory) ? [] : ["!", "fakesink", "num-buffers=1"]
        let options = sources[factory] ?? (factory == "alphachannel" ? ["permitted=false"] : [])
        let child = try run(before + [factory] + options + [property] + after, registry: factory)
        let isRefused = stock[factory] == nil
        #expect(child.status == (isRefused ? Self.errorStatus : 0), "\(child.output)\n\(child.errors.suffix(1000))")
        #expect(
            child.errors.contains("=\(property.split(separator: "=")[1]) was refused: ") == isRefused,
            "\(child.errors.suffix(1000))")
    }

    @Test(
        "EL-1 a value refused while the element is floating is set once a later property permits it",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms))
    func permittedLater() throws {
        let child = try run(
            [
                "-v", "videotestsrc", "num-buffers=1", "!", "alphachannel", "permitted=false", "enabled=true",
                "permitted=true",
            ]
                + ["!", "fakesink"], registry: "permitted")
        #expect(child.status == 0, "\(child.errors.suffix(1000))")
        #expect(child.output.contains("format=(string)A420"), "\(child.output.suffix(2000))")
    }

    /// gst-launch's exit status after an error; a signal would give another one.
    private static let errorStatus: Int32 = 255

    @Test(
        "EL-1 a session whose room was refused ends with an error and joins no room",
        .disabled(if: Sanitizer.isAny, Sanitizer.stockPrograms))
    func refusedSession() throws {
        let child = try run(
            ["videotestsrc", "num-buffers=1", "!", "call.camera", "mediasession", "name=call", "room=a/b"],
            registry: "mediasession")
        #expect(child.errors.contains("call: room=a/b was refused: expected a name that isn't empty and has no slash"))
        #expect(child.status == Self.errorStatus, "\(child.output)\n\(child.errors.suffix(1000))")
    }

    private func run(_ arguments: [String], registry: String) throws -> ChildProcess {
        try ChildProcess.run(
            "gst-launch-1.0", ["--gst-plugin-path=\(ChildProcess.buildFolder.path)"] + arguments,
            environment: [
                "GST_REGISTRY": ChildProcess.buildFolder.appendingPathComponent("stress-\(registry).bin").path
            ],
            timeout: 60)
    }

    @Test("EL-1 a message handler may set another property when a value is refused, without a deadlock")
    func refusalRecursion() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! rawdatapipe name=p")
        let pipe = try #require(pipeline.element(named: "p"))
        pipeline.onMessage { if case .warning = $0.kind { try? pipe.setProperty("max-frames", to: Int32(3)) } }
        #expect(throws: PropertyError.self) { try pipe.setProperty("max-frames", to: Int32(5000)) }
        #expect(try pipe.property("max-frames", as: Int32.self) == 3)
    }

    @Test("EL-2 an end of stream after a flush waits for the frames before it")
    func endAfterFlush() throws {
        let element = try #require(Element(factory: "rawdatapipe"))
        try element.setProperty("backpressure", parsing: "drop-old")
        try element.setProperty("max-frames", to: Int32(10))
        let log = Log<String>()
        struct Logging: VideoConsumer {
            let log: Log<String>
            func receive(_ frame: borrowing VideoFrame) throws {
                Thread.sleep(forTimeInterval: 0.05)
                log.add("frame")
            }
            func finish() { log.add("finish") }
        }
        try NodeVTable.attach(Logging(log: log), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        let bytes = [UInt8](repeating: 0, count: 96)
        harness.push(bytes)
        harness.push(.endOfStream)
        harness.push(.flushStart)
        harness.push(.flushStop)
        harness.push(.segment)
        harness.push(bytes)
        harness.push(bytes)
        harness.push(.endOfStream)
        #expect(log.all == ["frame", "finish", "frame", "frame", "finish"])
    }

    @Test("EL-5 a stop doesn't end or block the next run")
    func restart() async throws {
        for _ in 0..<20 {
            let graph = try Graph("videotestsrc is-live=true ! fakesink")
            let first = Task { try await graph.run() }
            // Waits until the start has begun, because an earlier stop would stop nothing.
            #expect(try await eventually { graph.pipeline.waitForState(timeout: .zero).state != .null })
            await graph.stop()
            try await graph.start()
            _ = try await first.value
            #expect(graph.pipeline.waitForState(timeout: .seconds(60)).state == .playing)
            await graph.stop()
        }
    }

    @Test("GR-6 an error ends a graph whose frames nobody reads")
    func errorWhileUnread() async throws {
        let graph = try Graph(
            """
            videotestsrc ! video/x-raw,width=16,height=16 ! rawdatapipe name=p
            videotestsrc is-live=true ! identity error-after=3 ! fakesink
            """)
        let frames = try graph.rawDataPipe("p").frames
        await #expect(throws: GraphError.self) { try await graph.run() }
        withExtendedLifetime(frames) {}
    }

    @Test("GR-6 cancelling a start makes it fail, and the graph doesn't run")
    func cancelledStart() async throws {
        let graph = try Graph("filesrc location=/dev/zero ! fakesink num-buffers=1000000")
        let task = Task { try await graph.start() }
        task.cancel()
        let outcome = await task.result
        if case .failure(let error) = outcome {
            guard case GraphError.stopped = error else {
                Issue.record("threw \(error)")
                return
            }
            #expect(graph.pipeline.state == .null)
        }
        await graph.stop()
    }

    @Test("VS-4 a LATENCY message's handler may query the latency while a frame is being sent")
    func latencyFromTheBus() throws {
        let pipeline = try Pipeline(parsing: "videosource name=s ! rawdatapipe name=p")
        let source = RecordingSource()
        try NodeVTable.attach(source, to: try #require(pipeline.element(named: "s")))
        pipeline.onMessage { if case .latency = $0.kind { _ = pipeline.latency } }
        pipeline.setState(.playing)
        try sendNow(
            source.sender, patternedFrame(width: 64, height: 36),
            FrameDescription(width: 64, height: 36, framesPerSecond: Fraction(15, 1)))
        pipeline.setState(.null)
        #expect(source.calls.all.last == "uninitialize")
    }

    @Test("RP-7 a frame kept by a processor isn't changed by later edits")
    func keptWhileEdited() async throws {
        let graph = try Graph(
            "videosource handler=counter pace=fast options=\"frames=1,width=64,height=32\" ! preprocessor name=p ! fakesink"
        )
        let kept = Mutex<OwnedVideoFrame?>(nil)
        try graph.preprocessor("p").process { frame in
            let owned = try frame.retain()
            kept.withLock { $0 = owned }
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<32, with: 77)
            return .pass
        }
        try await graph.run()
        let bytes = try #require(try kept.withLock { $0 }?.packedBytes())
        var canvas = CounterCanvas(width: 64, height: 32)
        canvas.draw(0)
        #expect(bytes == canvas.bytes)
    }
}
