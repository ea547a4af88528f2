import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Sources that are tasks, and senders that suspend.
@Suite struct SourceTaskTests {
    private static let bytes = patternedFrame(width: 16, height: 16)

    /// A source that is a closure.
    private final class TaskSource: AsyncVideoSource {
        let body: @Sendable (VideoSender) async throws -> Void
        init(_ body: @escaping @Sendable (VideoSender) async throws -> Void) { self.body = body }
        func run(sender: VideoSender) async throws { try await body(sender) }
    }

    private static func frame(_ index: Int) -> FrameDescription {
        FrameDescription(width: 16, height: 16, timestamp: .milliseconds(UInt64(index)))
    }

    @Test("VS-10 run is started by the node; its frames come in order, and its return ends the stream")
    func runs() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        try graph.videoSource("src").attach(
            TaskSource { sender in for index in 0..<200 { try await sender.send(Self.bytes, Self.frame(index)) } })
        let seen = Log<UInt64>()
        try graph.rawDataPipe("pipe").receive { seen.add($0.presentationTimestamp!.nanoseconds / 1_000_000) }
        guard case .endOfStream = try await graph.run() else {
            Issue.record("no end of stream")
            return
        }
        #expect(seen.all == Array(0..<200))
    }

    @Test("VS-10 an error that run throws comes on the bus with the node's name")
    func throwing() async throws {
        struct Broken: Error {}
        let graph = try Graph("videosource name=src pace=fast ! fakesink")
        try graph.videoSource("src").attach(TaskSource { _ in throw Broken() })
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure) = error else { return }
        #expect(failure.element == "src" && failure.error.message == "src: the source: Broken()")
    }

    @Test(
        "VS-10 run is cancelled by a stop, which waits for its end; that is no error, and the next start runs it anew")
    func cancelled() async throws {
        let log = Log<String>()
        let graph = try Graph("videosource name=src ! fakesink")
        try graph.videoSource("src").attach(
            TaskSource { sender in
                log.add("run")
                defer { log.add("end") }
                try await Task.sleep(for: .seconds(1000))
            })
        for cycle in 1...3 {
            try await graph.start()
            while log.all.count < cycle * 2 - 1 { try await Task.sleep(for: .milliseconds(1)) }
            await graph.stop()
            #expect(log.all.count == cycle * 2 && log.all.last == "end")
        }
    }

    @Test("VS-10 a task that doesn't end within stop-timeout is warned of, and refused a second start while it runs")
    func stubborn() async throws {
        let goOn = Atomic<Bool>(false)
        let graph = try Graph("videosource name=src stop-timeout=20000000 ! fakesink")
        try graph.videoSource("src").attach(
            TaskSource { _ in
                while !goOn.load(ordering: .acquiring) {
                    try? await Task.sleep(for: .milliseconds(1)); await Task.yield()
                }
            })
        let warnings = Log<String>()
        let events = graph.events
        let reading = Task {
            for await event in events { if case .warning(let warning) = event { warnings.add(warning.error.message) } }
        }
        try await graph.start()
        graph.pipeline.stopInBackground(.paused)
        // Suspending: a test that blocks one of two cooperative threads keeps the reader of events from running.
        for _ in 0..<2000 where warnings.all.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(warnings.all == ["src: the source's task still runs 0.02 s after it was cancelled (stop-timeout)"])
        await graph.stop()
        await #expect(throws: GraphError.self) { try await graph.start() }
        goOn.store(true, ordering: .releasing)
        await graph.stop()
        reading.cancel()
    }

    @Test("VS-10 more tasks than there are threads wait for room, and no other task waits for them")
    func suspends() async throws {
        let graph = try Graph(
            "videosource name=src pace=fast max-frames=1 ! identity name=gate ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let hold = FrameHold(at: try graph.element("gate").staticPad("sink")!)
        let seen = hold.seen
        try await graph.start()
        let sender = source.sender
        let done = Log<Int>()
        let tasks = (0..<40).map { index in
            Task.detached {
                try await sender.send(Self.bytes, Self.frame(index))
                done.add(index)
            }
        }
        // Two get in: one is held by the probe, one is in the queue. A machine that is busy takes its time for that.
        while done.all.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        let beat = await Task.detached { 42 }.value
        #expect(beat == 42 && done.all.count <= 2)
        hold.release()
        for task in tasks { try await task.value }
        #expect(Set(done.all) == Set(0..<40))
        await graph.finish()
        #expect(Set(seen.all) == Set(0..<40) && seen.all.count == 40)
    }

    @Test(
        "VS-10 a task that waits for room gets timeOut, CancellationError, or wrongUsage at the stop; its frame isn't sent"
    )
    func ends() async throws {
        let graph = try Graph(
            "videosource name=src pace=fast max-frames=1 block-timeout=30000000 ! identity name=gate ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let hold = FrameHold(at: try graph.element("gate").staticPad("sink")!)
        let seen = hold.seen
        try await graph.start()
        let sender = source.sender
        try await sender.send(Self.bytes, Self.frame(0))
        while seen.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await sender.send(Self.bytes, Self.frame(1))
        let late = await Task { try await sender.send(Self.bytes, Self.frame(2)) }.result
        #expect(
            throws: MediaGraphError.timeOut(
                .init("sending a frame", actual: "the queue stayed full for 0.03 s (block-timeout)"))
        ) {
            try late.get()
        }
        let cancelled = Task { try await sender.send(Self.bytes, Self.frame(3)) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        hold.release()
        await graph.stop()
        await #expect(throws: MediaGraphError.self) { try await sender.send(Self.bytes, Self.frame(4)) }
        #expect(seen.all.allSatisfy { $0 < 2 })
        // A task that was cancelled before it asked has sent nothing.
        #expect((2...3).contains(try graph.videoSource("src").statistics.refused))
    }

    @Test(
        "VS-10 tasks that wait for room, an hour or as long as it takes, hear that downstream has ended the stream",
        arguments: ["", "block-timeout=3600000000000"])
    func streamEndsWhileWaiting(timeout: String) async throws {
        let graph = try Graph(
            "videosource name=src pace=fast max-frames=1 \(timeout) ! identity name=gate eos-after=1 ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let hold = FrameHold(at: try graph.element("gate").staticPad("sink")!)
        try await graph.start()
        let sender = source.sender
        let sent = Log<Int>()
        let tasks = (0..<8).map { index in
            Task {
                try await sender.send(Self.bytes, Self.frame(index))
                sent.add(index)
            }
        }
        // One frame is held and one is queued: the others wait.
        #expect(try await eventually { sent.all.count == 2 })
        hold.release()
        var refusals: [MediaGraphError] = []
        for task in tasks {
            do { try await task.value } catch { refusals.append(try #require(error as? MediaGraphError)) }
        }
        let ended = MediaGraphError.wrongUsage(
            .init("sending a frame", actual: "the stream has ended (endOfStream)"))
        #expect(refusals.count >= 4 && refusals.allSatisfy { $0 == ended }, "\(refusals)")
        await graph.stop()
    }

    @Test("VS-10 senders cross tasks and threads: four of them send through one sender, and each frame comes once")
    func sendable() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let seen = Log<UInt64>()
        try graph.rawDataPipe("pipe").receive { seen.add($0.presentationTimestamp!.nanoseconds / 1_000_000) }
        try await graph.start()
        let sender = source.sender
        let threads = BlockingMonitor(0)
        for thread in 0..<2 {
            _ = NativeThread("send") {
                for index in 0..<50 {
                    while (try? sendNow(sender, Self.bytes, Self.frame(thread * 50 + index))) == nil {}
                }
                threads.withLock { $0 += 1 }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 2..<4 {
                group.addTask {
                    for index in 0..<50 {
                        while true {
                            do {
                                try await sender.send(Self.bytes, Self.frame(task * 50 + index))
                                break
                            } catch let error as MediaGraphError where error.code == .timeOut {}
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        while threads.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(1)) }
        await graph.finish()
        #expect(seen.all.sorted() == Array(0..<200))
        for sender in 0..<4 {
            let own = seen.all.filter { $0 / 50 == UInt64(sender) }
            #expect(own == own.sorted(), "sender \(sender)")
        }
    }

    @Test(
        "VS-4 who waits for room when sending is stopped is reported, and isn't counted as refused; who comes later is")
    func waitsAtTheEnd() async throws {
        try Nodes.register()
        let element = try #require(Element(factory: "videosource"))
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        var settings = VideoGate.Settings()
        (settings.pace, settings.policy, settings.bound, settings.blockTimeout) = (.fast, .block, 1, .seconds(60))
        gate.initialize(settings)
        gate.open()
        gate.startSendReturned()
        let sender = VideoSender(MGVideoSender(gate))
        try await sender.send(Self.bytes, Self.frame(0))
        let waiting = Task { try await sender.send(Self.bytes, Self.frame(1)) }
        while gate.monitor.withLock({ $0.waiting.isEmpty }) { try await Task.sleep(for: .milliseconds(1)) }
        await Task.detached { gate.close() }.value
        let error = await #expect(throws: MediaGraphError.self) { try await waiting.value }
        #expect(error?.code == .wrongUsage)
        #expect(gate.statistics.refused.load(ordering: .relaxed) == 0)
        await #expect(throws: MediaGraphError.self) { try await sender.send(Self.bytes, Self.frame(2)) }
        #expect(gate.statistics.refused.load(ordering: .relaxed) == 1)
        gate.uninitialize()
    }

    @Test("EL-2 behind the end that downstream made, an end or a failure of the source waits for nothing")
    func endsBehindTheEnd() throws {
        let element = try #require(Element(factory: "identity"))
        element.setState(.paused)
        try #require(element.staticPad("sink")).sendEmptyStream()
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        gate.initialize(VideoGate.Settings())
        gate.open()
        #expect(gate.hasEnded && !gate.isOpen)
        gate.endOfStream()
        gate.fail(.internalError(.init("too late to wait")))
        // It would end the stream that follows a flush.
        #expect(gate.ending == nil)
        gate.uninitialize()
        element.setState(.null)
    }

    @Test("VS-8 a task's frame that had to wait is refused too when its timestamp is faster than the declared rate")
    func policedWaiting() async throws {
        try Nodes.register()
        let element = try #require(Element(factory: "videosource"))
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        var settings = VideoGate.Settings()
        (settings.pace, settings.policy, settings.bound) = (.fast, .block, 1)
        settings.blockTimeout = .seconds(60)
        settings.rules = [VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))]
        gate.initialize(settings)
        gate.open()
        gate.startSendReturned()
        let sender = VideoSender(MGVideoSender(gate))
        let outcomes = Log<String>()
        // At most three frames at once, two of them early.
        var tasks: [Task<Void, Never>] = []
        for index in 0..<6 {
            tasks.append(
                Task {
                    do {
                        try await sender.send(Self.bytes, Self.frame(index))
                        outcomes.add("\(index) in")
                    } catch { outcomes.add("\(index) \((error as? MediaGraphError)?.code as Any)") }
                })
            while gate.monitor.withLock({ $0.waiting.count }) < index { try await Task.sleep(for: .milliseconds(1)) }
            if index == 0 { await tasks[0].value }
        }
        let delivered = Task.detached {
            (0..<3).map { _ -> UInt64? in
                switch gate.next() {
                case .frame(let frame), .announced(let frame, _, _, _):
                    defer { frame.discard() }
                    return frame.access.presentationTimestamp?.nanoseconds
                default: return nil
                }
            }
        }
        #expect(await delivered.value == [0, 1_000_000, 2_000_000])
        for task in tasks { await task.value }
        #expect(
            outcomes.all.sorted() == ["0 in", "1 in", "2 in"]
                + (3..<6).map { "\($0) \(MediaGraphError.Code.tooFrequent as MediaGraphError.Code? as Any)" })
        #expect(gate.statistics.refused.load(ordering: .relaxed) == 3)
        gate.uninitialize()
    }
}

extension Pipeline {
    /// A change of state on a thread that may wait.
    fileprivate func stopInBackground(_ state: State) {
        _ = NativeThread("stop") { self.setState(state) }
    }
}
