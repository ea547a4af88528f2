import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests a stock `appsink` that is looked up as a pipe.
@Suite struct StockPipeTests {
    private static let video = "videotestsrc num-buffers=10 ! video/x-raw,format=I420,width=64,height=36,framerate=25/1"

    private final class Delegate: RawDataDelegate {
        let sizes = Log<String>()
        let statuses = Log<Bool>()
        let onFrame: @Sendable (Delegate) throws -> Void
        init(_ onFrame: @escaping @Sendable (Delegate) throws -> Void = { _ in }) { self.onFrame = onFrame }
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
            sizes.add("\(pipe.name) \(frame.format) \(frame.width)×\(frame.height)")
            try onFrame(self)
        }
        func statusChanged(isOn: Bool, of pipe: PipeIdentity) { statuses.add(isOn) }
    }

    @Test("GR-8 an appsink's frames are delivered from the first one on, in order, and counted")
    func frames() async throws {
        let graph = try Graph("\(Self.video) ! appsink name=s sync=false")
        let pipe = try graph.rawDataPipe("s")
        let times = Log<UInt64>()
        try pipe.receive { times.add($0.presentationTimestamp!.nanoseconds / 1_000_000) }
        // Runs twice, because an attached handler stays for the next run.
        for run in 1...2 {
            try await graph.run()
            let expected: [UInt64] = (0..<UInt64(run) * 10).map { (index: UInt64) in index % 10 * 40 }
            #expect(times.all == expected)
            #expect(pipe.statistics.frames == 10 && pipe.statistics.dropped == 0)
        }
    }

    @Test("GR-8 an appsink behind a delayed link, such as decodebin's, can be looked up")
    func delayedLink() async throws {
        let graph = try Graph("\(Self.video) ! jpegenc ! decodebin ! appsink name=s sync=false")
        let delegate = Delegate()
        try graph.rawDataPipe("s").subscribe(delegate, resolution: .native)
        try await graph.run()
        #expect(delegate.sizes.all == [String](repeating: "s i420 64×36", count: 10))
        #expect(delegate.statuses.all == [true, false])
    }

    @Test("GR-8 a frame's memory is the stream's own, and kept frames outlive the graph")
    func zeroCopy() async throws {
        let passed = Log<[UInt8]>()
        let kept = Log<OwnedVideoFrame>()
        do {
            let graph = try Graph("\(Self.video) ! identity name=i ! appsink name=s sync=false")
            let addresses = Log<UInt>()
            try graph.element("i").staticPad("src")!.observeBuffers { buffer in
                passed.add(buffer.withBytes { Array($0) } ?? [])
                addresses.add(buffer.withBytes { UInt(bitPattern: $0.baseAddress) } ?? 0)
            }
            let seen = Log<UInt>()
            try graph.rawDataPipe("s").receive { frame in
                let address = try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
                seen.add(address)
                kept.add(try frame.retain())
            }
            try await graph.run()
            #expect(seen.all == addresses.all && seen.all.count == 10)
        }
        #expect(try kept.all.map { try $0.packedBytes() } == passed.all)
    }

    @Test("GR-8 each delegate has its own resolution, and without one the appsink's caps decide")
    func resolutions() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=2 ! video/x-raw,width=320,height=180 ! appsink name=s sync=false caps=video/x-raw,format=NV12"
        )
        let (native, small) = (Delegate(), Delegate())
        let pipe = try graph.rawDataPipe("s")
        try pipe.subscribe(native, resolution: .native)
        try pipe.subscribe(small, resolution: .p90)
        try await graph.run()
        #expect(native.sizes.all == ["s nv12 320×180", "s nv12 320×180"])
        #expect(small.sizes.all == ["s nv12 160×90", "s nv12 160×90"])
    }

    @Test("GR-8 an unsupported format is delivered as I420, and a stream that isn't video is an error")
    func formats() async throws {
        let graph = try Graph("videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8 ! appsink name=s sync=false")
        let delegate = Delegate()
        try graph.rawDataPipe("s").subscribe(delegate, resolution: .native)
        try await graph.run()
        #expect(delegate.sizes.all == ["s i420 320×240"])
        let audio = try Graph("audiotestsrc num-buffers=1 ! appsink name=s sync=false")
        try audio.rawDataPipe("s").receive { _ in }
        let error = await #expect(throws: GraphError.self) { try await audio.run() }
        #expect("\(error!)".contains("expected raw video") && "\(error!)".contains("audio/x-raw"), "\(error!)")
    }

    @Test("GR-8 a second handler, a wrong delegate and an unsupported buffer type are typed errors")
    func typedErrors() async throws {
        let graph = try Graph("\(Self.video) ! appsink name=s")
        let pipe = try graph.rawDataPipe("s")
        let delegate = Delegate()
        await #expect(
            throws: MediaGraphError.wrongUsage(.init("s", actual: "the delegate isn't subscribed"))
        ) { try await pipe.unsubscribe(delegate) }
        try pipe.subscribe(delegate, resolution: .p90)
        let twice = #expect(throws: MediaGraphError.self) { try pipe.subscribe(delegate, resolution: .p360) }
        #expect(twice?.code == .alreadyInUse)
        try pipe.receive { _ in }
        let second = #expect(throws: MediaGraphError.self) { try pipe.receive { _ in } }
        #expect(second == .alreadyInUse(.init("s", actual: "already has a handler; remove it first")))
        try pipe.detach()
        try pipe.receive { _ in }
        let wrong: [() throws -> Void] = [{ try pipe.receiveNative { _ in } }, { try pipe.receiveEncoded { _ in } }]
        for attach in wrong {
            let error = #expect(throws: MediaGraphError.self) { try attach() }
            #expect(error?.code == .unsupported && error?.detail.actual.contains("need a rawdatapipe with") == true)
        }
        let property = #expect(throws: PropertyError.self) { try pipe.set("resolution", parsing: "90p") }
        #expect("\(property!)".contains("resolution"))
    }

    @Test("GR-8 looking up an appsink for the first time while the graph runs is an error")
    func lookedUpLate() async throws {
        let graph = try Graph(
            "videotestsrc is-live=true ! tee name=t ! queue ! appsink name=a  t. ! queue ! appsink name=b")
        let early = Delegate()
        _ = try graph.rawDataPipe("a")
        try await graph.start()
        let error = #expect(throws: GraphError.self) { try graph.rawDataPipe("b") }
        #expect("\(error!)".contains("look it up before the graph starts"), "\(error!)")
        try graph.rawDataPipe("a").subscribe(early, resolution: .native)
        #expect(waitUntil { !early.sizes.all.isEmpty })
        let locked = #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("a").receive { _ in } }
        #expect(locked?.code == .lockedWhileRunning)
        await graph.stop()
        try graph.rawDataPipe("b").subscribe(early, resolution: .native)
    }

    @Test("GR-8 no callback follows after unsubscribing, even from inside the callback")
    func unsubscribe() async throws {
        let graph = try Graph("\(Self.video) ! appsink name=s sync=false")
        let pipe = try graph.rawDataPipe("s")
        let element = pipe.element
        let delegate = Delegate { delegate in
            if delegate.sizes.all.count == 3 { try NodeVTable.unsubscribe(delegate, from: element) }
        }
        try pipe.subscribe(delegate, resolution: .native)
        try await graph.run()
        #expect(delegate.sizes.all.count == 3)
        await #expect(throws: MediaGraphError.self) { try await pipe.unsubscribe(delegate) }
    }

    @Test("GR-8 max-buffers and drop limit the queue for a slow handler, and drops are counted exactly")
    func dropping() async throws {
        let graph = try Graph("\(Self.video) ! appsink name=s sync=false drop=true max-buffers=3")
        let pipe = try graph.rawDataPipe("s")
        let isStuck = BlockingMonitor(true)
        let times = Log<UInt64>()
        try pipe.receive { frame in
            times.add(frame.presentationTimestamp!.nanoseconds / 40_000_000)
            _ = isStuck.wait { $0 ? nil : true }
        }
        let element = pipe.element
        let passed = Atomic<Int>(0)
        element.staticPad("sink")!.observeBuffers { _ in
            // The handler gets the first frame before the second one passes.
            if passed.wrappingAdd(1, ordering: .relaxed).newValue == 2 { _ = waitUntil { !times.all.isEmpty } }
        }
        try await graph.start()
        #expect(waitUntil { passed.load(ordering: .relaxed) == 10 && pipe.statistics.dropped == 6 })
        isStuck.withLock { $0 = false }
        _ = try await graph.waitUntilEnd()
        await graph.stop()
        #expect(times.all == [0, 7, 8, 9])
    }

    @Test(
        "GR-8 a task reads all frames of a stream that isn't live, and a stop doesn't wait for a reader"
    )
    func sequence() async throws {
        let graph = try Graph("\(Self.video) ! appsink name=s sync=false")
        let frames = try graph.rawDataPipe("s").frames
        try await graph.start()
        var count = 0
        for try await _ in frames { count += 1 }
        #expect(count == 10)
        await graph.stop()

        let endless = try Graph("videotestsrc ! appsink name=s sync=false async=false max-buffers=1")
        let unread = try endless.rawDataPipe("s").frames
        try await endless.start()
        await endless.stop()
        withExtendedLifetime(unread) {}
    }

    @Test("GR-8 a handler's error ends the graph with the appsink's name and the error")
    func failure() async throws {
        struct Broken: Error {}
        let graph = try Graph("\(Self.video) ! appsink name=s sync=false")
        try graph.rawDataPipe("s").receive { _ in throw Broken() }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("Broken()") && "\(error!)".hasPrefix("s (appsink)"), "\(error!)")
    }

    @Test("GR-8 frames are delivered again after a flush, also after an end of stream")
    func flush() throws {
        let element = try #require(Element(factory: "appsink"))
        try element.setProperty("sync", to: false)
        let stock = try #require(StockPipe(element))
        let times = Log<UInt64>()
        try NodeVTable.attach(
            Receiver { times.add($0.presentationTimestamp!.nanoseconds) }, to: element)
        stock.start()
        stock.didStartPlaying()
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        harness.push([UInt8](repeating: 0, count: 96), at: ClockTime(nanoseconds: 1))
        for event in [Harness.Event.endOfStream, .flushStart, .flushStop, .segment] { harness.push(event) }
        harness.push([UInt8](repeating: 0, count: 96), at: ClockTime(nanoseconds: 2))
        #expect(times.all == [1, 2])
        stock.willStop()
        element.setState(.null)
        stock.didStop()
        stock.close()
    }

    private struct Receiver: VideoConsumer {
        let onFrame: @Sendable (borrowing VideoFrame) -> Void
        func receive(_ frame: borrowing VideoFrame) throws { onFrame(frame) }
    }
}
