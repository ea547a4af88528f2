import Foundation
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests delegates of pipes: subscribing, unsubscribing, and their callbacks.
@Suite struct PipeDelegateTests {
    init() throws { try Nodes.register() }

    private final class Delegate: RawDataDelegate {
        let log = Log<String>()
        let onFrame: @Sendable (borrowing VideoFrame) throws -> Void
        let onStatus: @Sendable (Bool) -> Void

        init(
            onStatus: @escaping @Sendable (Bool) -> Void = { _ in },
            onFrame: @escaping @Sendable (borrowing VideoFrame) throws -> Void = { _ in }
        ) {
            self.onFrame = onFrame
            self.onStatus = onStatus
        }

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
            log.add("\(pipe.name) \(frame.width)x\(frame.height)")
            try onFrame(frame)
        }

        func statusChanged(isOn: Bool, of pipe: PipeIdentity) {
            log.add("\(pipe.name) \(isOn ? "on" : "off")")
            onStatus(isOn)
        }
    }

    private static let caps = "video/x-raw,format=I420,width=64,height=128,framerate=30/1"
    private static let bytes = [UInt8](repeating: 9, count: 64 * 128 * 3 / 2)

    /// Returns a pipe in a harness. With `block`, a push returns when each delegate has had the frame.
    private func pipe(_ policy: String = "block") throws -> (harness: Harness, pipe: Element) {
        let element = try #require(Element(factory: "rawdatapipe", name: "p"))
        try element.setProperty("backpressure", parsing: policy)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        return (harness, element)
    }

    private func subscribe(
        _ delegate: some RawDataDelegate, _ resolution: Resolution = .native, to element: Element
    ) throws(MediaGraphError) {
        try NodeVTable.subscribe(delegate, PipeIdentity(name: element.name), resolution, to: element)
    }

    // MARK: RP-1

    @Test("RP-1 a pipe can have many delegates, each with its own resolution, and callbacks name the pipe")
    func manyDelegates() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=2 ! video/x-raw,width=640,height=360 ! rawdatapipe name=bob")
        let delegates = [Resolution.p90, .p180, .native].map { (Delegate(), $0) }
        for (delegate, resolution) in delegates {
            try graph.rawDataPipe("bob").subscribe(delegate, resolution: resolution)
        }
        try await graph.run()
        let sizes = ["160x90", "320x180", "640x360"]
        for ((delegate, _), size) in zip(delegates, sizes) {
            #expect(delegate.log.all == ["bob on", "bob \(size)", "bob \(size)", "bob off"])
        }
    }

    @Test("RP-1 a delegate can serve many pipes and gets the pipe in each callback")
    func manyPipes() async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 ! video/x-raw,width=64,height=32 ! rawdatapipe name=a
            videotestsrc num-buffers=1 ! video/x-raw,width=32,height=16 ! rawdatapipe name=b
            """)
        let delegate = Delegate()
        for name in ["a", "b"] { try graph.rawDataPipe(name).subscribe(delegate, resolution: .native) }
        try await graph.run()
        #expect(delegate.log.all.filter { $0.hasPrefix("a") } == ["a on", "a 64x32", "a off"])
        #expect(delegate.log.all.filter { $0.hasPrefix("b") } == ["b on", "b 32x16", "b off"])
    }

    @Test(
        "RP-1 subscribing while running delivers the status, and then frames from the next one on",
        arguments: ["block", "drop-old"])
    func whileRunning(policy: String) throws {
        let (harness, pipe) = try pipe(policy)
        let (first, second) = (Delegate(), Delegate())
        try subscribe(first, to: pipe)
        harness.setSourceCaps(Self.caps)
        harness.push(Self.bytes)
        #expect(waitUntil { first.log.all.count == 2 })
        try subscribe(second, .p90, to: pipe)
        harness.push(Self.bytes)
        harness.push(.endOfStream)
        #expect(first.log.all == ["p on", "p 64x128", "p 64x128", "p off"])
        #expect(second.log.all == ["p on", "p 45x90", "p off"])
    }

    @Test("RP-1 a delegate can subscribe again after unsubscribing, and serves later runs")
    func again() throws {
        let (harness, pipe) = try pipe()
        let delegate = Delegate()
        try subscribe(delegate, to: pipe)
        try NodeVTable.unsubscribe(delegate, from: pipe)
        try subscribe(delegate, to: pipe)
        harness.setSourceCaps(Self.caps)
        harness.push(Self.bytes)
        pipe.setState(.ready)
        #expect(delegate.log.all == ["p on", "p 64x128", "p off"])
        harness.play()
        harness.push(.streamStart("again"))
        harness.setSourceCaps(Self.caps)
        harness.push(.segment)
        harness.push(Self.bytes)
        #expect(delegate.log.all == ["p on", "p 64x128", "p off", "p on", "p 64x128"])
    }

    @Test(
        "RP-1 subscribing twice and unsubscribing an unknown delegate are typed errors"
    )
    func refused() throws {
        let (harness, pipe) = try pipe()
        let (known, stranger) = (Delegate(), Delegate())
        try subscribe(known, to: pipe)
        #expect(
            throws: MediaGraphError.alreadyInUse(.init("p", actual: "Delegate is already subscribed"))
        ) { try subscribe(known, .p90, to: pipe) }
        #expect(
            throws: MediaGraphError.wrongUsage(.init("p", actual: "the delegate isn't subscribed"))
        ) { try NodeVTable.unsubscribe(stranger, from: pipe) }
        harness.setSourceCaps(Self.caps)
        harness.push(Self.bytes)
        #expect(known.log.all == ["p on", "p 64x128"])
        #expect(stranger.log.all.isEmpty)
        let other = try #require(Element(factory: "fakesink", name: "f"))
        #expect(
            throws: MediaGraphError.wrongUsage(.init("f", expected: "a MediaGraph node", actual: "fakesink"))
        ) { try subscribe(stranger, to: other) }
    }

    @Test("SE-2 a released delegate counts as unsubscribed, with one warning, and the others go on")
    func gone() throws {
        let pipeline = try Pipeline(
            parsing: "appsrc name=s format=time caps=\"\(Self.caps)\" ! rawdatapipe name=p backpressure=block")
        let warnings = Log<String>()
        pipeline.onMessage { if case .warning(let report) = $0.kind { warnings.add(report.error.message) } }
        let pipe = try #require(pipeline.element(named: "p"))
        let stays = Delegate()
        var goes: Delegate? = Delegate()
        let log = goes!.log
        try subscribe(goes!, to: pipe)
        try subscribe(stays, to: pipe)
        let source = try #require(pipeline.element(named: "s").flatMap(AppSource.init(wrapping:)))
        pipeline.setState(.playing)
        for count in 1...3 {
            if count == 2 { goes = nil }
            _ = source.push(Buffer(Self.bytes))
            #expect(waitUntil { stays.log.all.count == count + 1 })
        }
        pipeline.setState(.null)
        #expect(log.all == ["p on", "p 64x128"])
        #expect(stays.log.all == ["p on", "p 64x128", "p 64x128", "p 64x128", "p off"])
        #expect(warnings.all == ["p: Delegate was deallocated and is no longer subscribed"])
    }

    @Test("RP-5 if the pipe drops frames, a blocked delegate costs the others no frame")
    func stuck() throws {
        let (harness, pipe) = try pipe("drop-new")
        let isStuck = Atomic<Bool>(true)
        let isInCallback = Atomic<Bool>(false)
        let stuck = Delegate(onFrame: { _ in
            isInCallback.store(true, ordering: .releasing)
            _ = waitUntil { !isStuck.load(ordering: .acquiring) }
        })
        let quick = Delegate()
        try subscribe(stuck, to: pipe)
        try subscribe(quick, to: pipe)
        harness.setSourceCaps(Self.caps)
        for count in 1...20 {
            harness.push(Self.bytes)
            #expect(waitUntil { quick.log.all.count == count + 1 })
            // The delegate's thread may start late, and the queue be full before it takes the first frame.
            #expect(waitUntil { isInCallback.load(ordering: .acquiring) })
        }
        // One frame is in the callback and two are in the queue.
        #expect(waitUntil { NodeCounts(pipe)?.dropped == 17 })
        isStuck.store(false, ordering: .releasing)
    }

    // MARK: RP-9

    @Test(
        "RP-9 unsubscribing inside the callback returns at once, and no callback follows",
        arguments: ["block", "drop-old"])
    func fromInside(policy: String) throws {
        let (harness, pipe) = try pipe(policy)
        let me = Mutex<Delegate?>(nil)
        let errors = Log<String>()
        let left = Log<Bool>()
        let leave: @Sendable () -> Void = {
            do { try NodeVTable.unsubscribe(me.withLock { $0! }, from: pipe) } catch { errors.add("\(error)") }
            left.add(true)
        }
        for (round, atStatus) in [true, false].enumerated() {
            let delegate = Delegate(
                onStatus: { _ in if atStatus { leave() } }, onFrame: { _ in if !atStatus { leave() } })
            me.withLock { $0 = delegate }
            let witness = Delegate()
            try subscribe(delegate, to: pipe)
            try subscribe(witness, to: pipe)
            harness.setSourceCaps(Self.caps)
            for _ in 0..<3 {
                let before = witness.log.all.count
                harness.push(Self.bytes)
                #expect(waitUntil { witness.log.all.count > before })
            }
            #expect(waitUntil { left.all.count == round + 1 })
            try NodeVTable.unsubscribe(witness, from: pipe)
            #expect(delegate.log.all == (atStatus ? ["p on"] : ["p on", "p 64x128"]))
        }
        me.withLock { $0 = nil }
        #expect(errors.all.isEmpty)
    }

    @Test(
        "RP-9 unsubscribing from another thread waits for a running callback", arguments: ["block", "drop-old"])
    func waitsForCallback(policy: String) throws {
        let (harness, pipe) = try pipe(policy)
        let isInside = Atomic<Bool>(false)
        let leaver = Mutex<ObservedThread?>(nil)
        let order = Log<String>()
        let delegate = Delegate(onFrame: { _ in
            isInside.store(true, ordering: .releasing)
            // The other thread has either returned from `unsubscribe`, or waits in it.
            _ = waitUntil { order.all == ["left"] || leaver.withLock { $0 }?.isWaiting == true }
            order.add("called")
        })
        try subscribe(delegate, to: pipe)
        let thread = NativeThread("leaver") {
            guard waitUntil({ isInside.load(ordering: .acquiring) }) else { return }
            leaver.withLock { $0 = .current }
            try? NodeVTable.unsubscribe(delegate, from: pipe)
            order.add("left")
        }
        harness.setSourceCaps(Self.caps)
        harness.push(Self.bytes)
        thread.join()
        #expect(order.all == ["called", "left"])
        harness.push(Self.bytes)
        #expect(delegate.log.all == ["p on", "p 64x128"])
    }

    /// Counts calls. There must be none after `isOver` was set.
    private final class Watcher: RawDataDelegate {
        let calls = Atomic<Int>(0)
        let late = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) { note() }
        func statusChanged(isOn: Bool, of pipe: PipeIdentity) { note() }
        private func note() {
            calls.add(1, ordering: .relaxed)
            if isOver.load(ordering: .acquiring) { late.add(1, ordering: .relaxed) }
        }
    }

    @Test(
        "RP-9 teardown at random moments in random order never crashes or hangs, and ends all callbacks",
        arguments: ["block", "drop-old"])
    func tornDown(policy: String) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var pipeline: Pipeline? = try Pipeline(
                parsing: """
                    videotestsrc ! video/x-raw,format=I420,width=16,height=16 !
                    rawdatapipe name=p backpressure=\(policy) sync=false
                    """)
            var pipe: Element? = try #require(pipeline?.element(named: "p"))
            var watchers: [Watcher?] = [Watcher(), Watcher()]
            for watcher in watchers { try subscribe(watcher!, to: pipe!) }
            let kept = watchers[0]!
            pipeline?.setState(.playing)
            for _ in 0..<Int.random(in: 0..<2000, using: &random) where kept.calls.load(ordering: .relaxed) < 3 {
                _ = monotonicNanoseconds()
            }
            for step in ["leave", "forget", "stop", "drop"].shuffled(using: &random) {
                switch step {
                case "leave":
                    guard let pipe else { continue }
                    try NodeVTable.unsubscribe(kept, from: pipe)
                    kept.isOver.store(true, ordering: .releasing)
                case "forget": watchers = []
                case "stop":
                    pipeline?.setState(.null)
                    kept.isOver.store(true, ordering: .releasing)
                default:
                    // GStreamer forbids releasing a running pipeline.
                    pipeline?.setState(.null)
                    (pipeline, pipe) = (nil, nil)
                    kept.isOver.store(true, ordering: .releasing)
                }
            }
            let late = kept.late.load(ordering: .relaxed)
            #expect(late == 0)
        }
    }
}
