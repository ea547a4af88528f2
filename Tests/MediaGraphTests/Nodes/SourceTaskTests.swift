import CMediaGraphABI
import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests sources that are tasks, and senders that suspend.
@Suite struct SourceTaskTests {
    private static let bytes = patternedFrame(width: 16, height: 16)

    /// A source made of a closure.
    private final class TaskSource: AsyncVideoSource {
        let body: @Sendable (VideoSender) async throws -> Void
        init(_ body: @escaping @Sendable (VideoSender) async throws -> Void) { self.body = body }
        func run(sender: VideoSender) async throws { try await body(sender) }
    }

    private static func frame(_ index: Int) -> FrameDescription {
        FrameDescription(width: 16, height: 16, timestamp: .milliseconds(UInt64(index)))
    }

    @Test("VS-10 the node starts `run`, whose frames arrive in order and whose return ends the stream")
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

    @Test("SE-13 a task sends frames from arrays, spans, Data and raw memory, also with the SDKs' parameters")
    func kinds() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        let released = Log<Bool>()
        try graph.videoSource("src").attach(
            TaskSource { sender in
                let bytes = Self.bytes
                let (size, frame) = (bytes.count, FrameDescription(width: 16, height: 16))
                let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
                memory.copyBytes(from: bytes)
                let own = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
                own.copyBytes(from: bytes)
                let context = Unmanaged.passRetained(Releasing(own, released)).toOpaque()
                try await sender.send(
                    owning: own, frame,
                    release: { Unmanaged<Releasing>.fromOpaque($0!).takeRetainedValue().release() },
                    context: context)
                try await sender.send(bytes, frame)
                try await sender.send(bytes.span, frame)
                try await sender.send(Data(bytes), frame)
                try await sender.sendVideoFrame(bytes, width: 16, height: 16, dataLength: size)
                try await sender.sendVideoFrame(Data(bytes), width: 16, height: 16, dataLength: size)
                try await sender.sendVideoFrame(memory.baseAddress!, width: 16, height: 16, dataLength: size)
                memory.deallocate()
                await #expect(throws: MediaGraphError.self) {
                    try await sender.sendVideoFrame(Data(bytes), width: 16, height: 16, dataLength: size - 1)
                }
            })
        let seen = Log<[UInt8]>()
        try graph.rawDataPipe("pipe").receive { seen.add($0.packedBytes) }
        try await graph.run()
        #expect(seen.all == Array(repeating: Self.bytes, count: 7))
        #expect(released.all == [true])
    }

    @Test("SE-13 a cancelled task that sends memory without a copy gets it back, once")
    func releasedWhenCancelled() async throws {
        let graph = try Graph("videosource name=src pace=fast ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        try await graph.start()
        let released = Log<Bool>()
        let sending = Task { [sender = source.sender] in
            withUnsafeCurrentTask { $0?.cancel() }
            let own = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bytes.count, alignment: 16)
            let context = Unmanaged.passRetained(Releasing(own, released)).toOpaque()
            try await sender.send(
                owning: own, Self.frame(0),
                release: { Unmanaged<Releasing>.fromOpaque($0!).takeRetainedValue().release() }, context: context)
        }
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(released.all == [true])
        await graph.stop()
    }

    /// Memory of an application that is sent without a copy.
    private final class Releasing {
        private let memory: UnsafeMutableRawBufferPointer
        private let log: Log<Bool>
        init(_ memory: UnsafeMutableRawBufferPointer, _ log: Log<Bool>) { (self.memory, self.log) = (memory, log) }
        func release() {
            memory.deallocate()
            log.add(true)
        }
    }

    @Test("VS-10 an error that `run` throws is posted with the node's name")
    func throwing() async throws {
        struct Broken: Error {}
        let graph = try Graph("videosource name=src pace=fast ! fakesink")
        try graph.videoSource("src").attach(TaskSource { _ in throw Broken() })
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        guard case .failed(let failure) = error else { return }
        #expect(failure.element == "src" && failure.error.message == "src: the source: Broken()")
    }

    @Test(
        "VS-10 a stop cancels `run` and waits for it without an error, and the next start calls it again")
    func cancelled() async throws {
        let log = Log<String>()
        // The task ends on a thread that other tests may block for seconds.
        let graph = try Graph("videosource name=src stop-timeout=60000000000 ! fakesink")
        try graph.videoSource("src").attach(
            TaskSource { sender in
                log.add("run")
                defer { log.add("end") }
                try await Task.sleep(for: .seconds(1000))
            })
        for cycle in 1...3 {
            try await graph.start()
            #expect(try await eventually { log.all.count == cycle * 2 - 1 })
            await graph.stop()
            #expect(log.all.count == cycle * 2 && log.all.last == "end")
        }
    }

    @Test("VS-10 a task that outlasts stop-timeout causes a warning, and prevents a restart while it runs")
    func stubborn() async throws {
        let mayEnd = Atomic<Bool>(false)
        let graph = try Graph("videosource name=src stop-timeout=20000000 ! fakesink")
        try graph.videoSource("src").attach(
            TaskSource { _ in
                // Ignores its cancellation, for a minute at most.
                let end = ContinuousClock.now + .seconds(60)
                while !mayEnd.load(ordering: .acquiring), ContinuousClock.now < end {
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
        // Suspends, because a test that blocks one of two cooperative threads would keep the events' reader from
        // running.
        #expect(try await eventually { !warnings.all.isEmpty })
        #expect(warnings.all == ["src: the source's task still runs 0.02 s after it was cancelled (stop-timeout)"])
        await graph.stop()
        await #expect(throws: GraphError.self) { try await graph.start() }
        mayEnd.store(true, ordering: .releasing)
        await graph.stop()
        reading.cancel()
    }

    @Test("VS-10 more waiting tasks than threads don't block other tasks")
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
        // Two frames are accepted: the probe holds one, and the queue the other. A busy machine needs time for that.
        #expect(try await eventually { done.all.count >= 2 })
        let beat = await Task.detached { 42 }.value
        #expect(beat == 42 && done.all.count <= 2)
        hold.release()
        for task in tasks { try await task.value }
        #expect(Set(done.all) == Set(0..<40))
        await graph.finish()
        #expect(Set(seen.all) == Set(0..<40) && seen.all.count == 40)
    }

    @Test(
        "VS-10 a task that waits for room gets an error on timeout, cancellation and stop, and sends nothing"
    )
    func ends() async throws {
        let graph = try Graph(
            "videosource name=src pace=fast max-frames=1 block-timeout=1000000000 ! identity name=gate ! fakesink")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let hold = FrameHold(at: try graph.element("gate").staticPad("sink")!)
        let seen = hold.seen
        try await graph.start()
        let sender = source.sender
        try await sender.send(Self.bytes, Self.frame(0))
        #expect(try await eventually { !seen.all.isEmpty })
        try await sender.send(Self.bytes, Self.frame(1))
        let late = await Task { try await sender.send(Self.bytes, Self.frame(2)) }.result
        #expect(
            throws: MediaGraphError.timeOut(
                .init("sending a frame", actual: "the queue stayed full for 1.0 s (block-timeout)"))
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
        // The cancelled task may not have called `send` at all.
        #expect((2...3).contains(try graph.videoSource("src").statistics.refused))
    }

    @Test(
        "VS-10 tasks that wait for room get an error when downstream ends the stream, whatever the timeout",
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
        // One frame is held and one is queued; the other tasks wait.
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

    @Test("VS-10 tasks and threads can share a sender, and each frame arrives once")
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
                    try? sendRepeatedlyNow(sender, Self.bytes, Self.frame(thread * 50 + index))
                }
                threads.withLock { $0 += 1 }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 2..<4 {
                group.addTask {
                    for index in 0..<50 {
                        try await sendRepeatedly(sender, Self.bytes, Self.frame(task * 50 + index))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await eventually { threads.withLock { $0 } == 2 })
        await graph.finish()
        #expect(seen.all.sorted() == Array(0..<200))
        for sender in 0..<4 {
            let own = seen.all.filter { $0 / 50 == UInt64(sender) }
            #expect(own == own.sorted(), "sender \(sender)")
        }
    }

    @Test(
        "VS-4 a frame that waits for room when sending stops isn't counted as refused, but a later one is")
    func waitsAtTheEnd() async throws {
        try Nodes.register()
        let element = try #require(Element(factory: "videosource"))
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        var settings = VideoGate.Settings()
        (settings.pace, settings.policy, settings.bound, settings.blockTimeoutNanoseconds) = (
            .fast, .block, 1, 60_000_000_000
        )
        gate.initialize(settings)
        gate.open()
        gate.startSendReturned()
        let sender = VideoSender(MGVideoSender(gate))
        try await sender.send(Self.bytes, Self.frame(0))
        let waiting = Task { try await sender.send(Self.bytes, Self.frame(1)) }
        #expect(try await eventually { gate.monitor.withLock { !$0.waiting.isEmpty } })
        await Task.detached { gate.close() }.value
        let error = await #expect(throws: MediaGraphError.self) { try await waiting.value }
        #expect(error?.code == .wrongUsage)
        #expect(gate.statistics.refused.load(ordering: .relaxed) == 0)
        await #expect(throws: MediaGraphError.self) { try await sender.send(Self.bytes, Self.frame(2)) }
        #expect(gate.statistics.refused.load(ordering: .relaxed) == 1)
        gate.uninitialize()
    }

    @Test("EL-2 after downstream's end of stream, a source's end or failure has no effect")
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
        // A pending end would end the stream that follows a flush.
        #expect(gate.ending == nil)
        gate.uninitialize()
        element.setState(.null)
    }

    @Test("VS-8 a task's frame that waited is refused if its timestamp exceeds the declared rate")
    func policedWaiting() async throws {
        try Nodes.register()
        let element = try #require(Element(factory: "videosource"))
        let gate = VideoGate(owner: WeakElement(ElementInstance(element.raw)), marks: FrameMarks())
        var settings = VideoGate.Settings()
        (settings.pace, settings.policy, settings.bound) = (.fast, .block, 1)
        settings.blockTimeoutNanoseconds = 60_000_000_000
        settings.rules = [VideoCapability(width: 16, height: 16, framesPerSecond: Fraction(10, 1))]
        gate.initialize(settings)
        gate.open()
        gate.startSendReturned()
        let sender = VideoSender(MGVideoSender(gate))
        let outcomes = Log<String>()
        // At most three frames are accepted at once, two of them early.
        var tasks: [Task<Void, Never>] = []
        for index in 0..<6 {
            tasks.append(
                Task {
                    do {
                        try await sender.send(Self.bytes, Self.frame(index))
                        outcomes.add("\(index) in")
                    } catch { outcomes.add("\(index) \((error as? MediaGraphError)?.code as Any)") }
                })
            #expect(try await eventually { gate.monitor.withLock { $0.waiting.count } >= index })
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
    /// Changes the state on a thread that may block.
    fileprivate func stopInBackground(_ state: State) {
        _ = NativeThread("stop") { self.setState(state) }
    }
}
