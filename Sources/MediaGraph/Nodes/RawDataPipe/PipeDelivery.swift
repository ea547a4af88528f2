import CGStreamer
import CMediaGraphABI
import GStreamer
import Synchronization

/// Takes what a pipe's appsink receives to the pipe's handler: on the streaming thread where upstream may wait, over a
/// bounded queue and a thread of its own where it may not.
///
/// The appsink holds it, so it outlives the element where it must; it posts through a weak reference.
///
/// `@unchecked Sendable`: what is set by `start` is written before data flows; `plan` and `isOn` belong to the one thread
/// that delivers (the streaming thread, or the delivery thread); the queue and the run are behind locks.
final class PipeDelivery: AppSinkDelegate, @unchecked Sendable {
    private enum Signal: Sendable {
        case status(Bool)
        case end
        case close
    }

    private typealias Queue = BoundedQueue<UnmanagedSample, Signal>

    /// What lies between the streaming thread and the delivery thread.
    private struct Lane {
        var queue: Queue
        /// The delivery thread has dealt with the end of the stream.
        var hasEnded = false
        var isFlushing = false
    }

    private struct Run {
        var lane: BlockingMonitor<Lane>
        var thread: NativeThread
    }

    let statistics = NodeStatistics()
    private let owner: WeakElement
    let appSink: AppSink
    private var consumer: ConsumerHandle?
    /// The same, for those who may come from any thread.
    private let interruptible = Mutex<ConsumerHandle?>(nil)
    private var settings = PipeSettings()
    private var format = VideoFormat.i420
    private var policy = OverflowPolicy.block
    private var isLive = false
    private var hasStarted = false
    private var plan: FramePlan?
    private var isOn = false
    private var hasFinished = false
    private let run = Mutex<Run?>(nil)
    private let isClosed = Atomic<Bool>(true)
    private let hasFailed = Atomic<Bool>(false)

    init(owner: WeakElement, appSink: AppSink) {
        self.owner = owner
        self.appSink = appSink
    }

    /// READY→PAUSED: no data flows yet.
    func start(_ settings: PipeSettings, consumer: ConsumerHandle?, format: VideoFormat) {
        self.settings = settings
        self.consumer = consumer
        interruptible.withLock { $0 = consumer }
        self.format = format
        policy = settings.backPressure.resolved(isLive: false)
        plan = nil
        isOn = false
        hasFinished = false
        isLive = false
        hasStarted = false
        statistics.reset()
        isClosed.store(false, ordering: .releasing)
        hasFailed.store(false, ordering: .relaxed)
        appSink.setSynchronized(settings.synchronization == .on)
    }

    /// PAUSED→READY, before data flow is stopped: whoever waits goes on.
    func interrupt() {
        isClosed.store(true, ordering: .releasing)
        interruptible.withLock { $0 }?.interrupt()
        run.withLock { $0 }?.lane.withLock { $0.queue.append(.close) }
    }

    /// PLAYING→PAUSED, before the sink is told: it can't be while its streaming thread waits in the handler.
    func pause() { interruptible.withLock { $0 }?.interrupt() }

    /// PAUSED→PLAYING, after the sink was told.
    func resume() { interruptible.withLock { $0 }?.resume() }

    /// FLUSH_START: what waits is let go, and so is whoever waits. Any thread.
    func flushStarted() {
        interruptible.withLock { $0 }?.interrupt()
        run.withLock { $0 }?.lane.withLock {
            $0.queue.removeFrames { _ = $0.take() }
            $0.queue.removeSignals { if case .end = $0 { true } else { false } }
            $0.isFlushing = true
        }
    }

    /// FLUSH_STOP: frames come again.
    func flushStopped() {
        guard hasStarted, !isClosed.load(ordering: .acquiring) else { return }
        run.withLock { $0 }?.lane.withLock {
            $0.queue.removeFrames { _ = $0.take() }
            $0.hasEnded = false
            $0.isFlushing = false
        }
        if let consumer, consumer.queues { consumer.start(policy, maxFrames: Int(settings.maxFrames)) }
        hasFinished = false
    }

    /// PAUSED→READY, after data flow has stopped.
    func stop() {
        if let run = run.withLock({ $0.take() }) {
            // Data flow has stopped; a lane that was made after `interrupt` has not been told.
            run.lane.withLock { $0.queue.append(.close) }
            run.thread.join()
        }
        // Without end-of-stream too: files are finished as far as they got.
        handle(.end)
        interruptible.withLock { $0 = nil }
        consumer = nil
        plan = nil
    }

    // MARK: What the appsink receives, on the streaming thread

    func received(_ event: StreamEvent) {
        switch event {
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            guard let on = structure["on", as: Bool.self] else { return }
            pass(.status(on))
        default: break
        }
    }

    /// `auto` settings follow upstream, and hold for the run. Called when the stream has a format, and not before:
    /// videotestsrc and v4l2src fail a LATENCY query until then.
    func findOutLiveness() {
        guard !hasStarted, !isClosed.load(ordering: .acquiring) else { return }
        hasStarted = true
        isLive = appSink.staticPad("sink")?.upstreamIsLive() ?? false
        policy = settings.backPressure.resolved(isLive: isLive)
        if settings.synchronization == .auto { appSink.setSynchronized(isLive) }
        consumer?.start(policy, maxFrames: Int(settings.maxFrames))
        guard policy != .block, let consumer, !consumer.queues else { return }
        run.withLock { run in
            guard run == nil else { return }
            let lane = BlockingMonitor(Lane(queue: Queue(bound: Int(settings.maxFrames), policy: policy)))
            run = Run(lane: lane, thread: NativeThread("mg-pipe") { self.deliverAll(from: lane) })
        }
    }

    func received(_ sample: borrowing Sample) -> FlowReturn {
        if hasFailed.load(ordering: .relaxed) { return .error }
        guard let lane = run.withLock({ $0?.lane }) else { return deliver(sample) ? .ok : .error }
        let lost = lane.withLock { lane -> UnmanagedSample? in
            if case .dropped(let lost) = lane.queue.offer(UnmanagedSample(retaining: sample)) { lost } else { nil }
        }
        if let lost {
            _ = lost.take()
            statistics.countDrop()
        }
        return .ok
    }

    func reachedEndOfStream() {
        // A stream may end before it has begun.
        findOutLiveness()
        pass(.end)
        // EOS on the bus means that every frame has been delivered.
        guard let lane = run.withLock({ $0?.lane }) else { return }
        _ = lane.wait { $0.hasEnded || $0.isFlushing || self.isClosed.load(ordering: .acquiring) ? true : nil }
    }

    private func pass(_ signal: Signal) {
        if let lane = run.withLock({ $0?.lane }) {
            lane.withLock { $0.queue.append(signal) }
        } else {
            handle(signal)
        }
    }

    // MARK: On the thread that delivers

    private func deliverAll(from lane: BlockingMonitor<Lane>) {
        while true {
            switch lane.wait({ $0.queue.take() }) {
            case .frame(let sample) where isClosed.load(ordering: .acquiring) || hasFailed.load(ordering: .relaxed):
                // Stopping, or failed: what is still queued is lost, and counted.
                _ = sample.take()
                statistics.countDrop()
            case .frame(let sample): _ = deliver(sample.take())
            case .signal(.close), nil: return
            case .signal(let signal):
                handle(signal)
                if case .end = signal { lane.withLock { $0.hasEnded = true } }
            }
        }
    }

    private func handle(_ signal: Signal) {
        switch signal {
        case .status(let on): if on != isOn { changeStatus(on) }
        case .end:
            if isOn { changeStatus(false) }
            guard !hasFinished else { return }
            hasFinished = true
            do { try consumer?.finish() } catch { fail(error) }
        case .close: break
        }
    }

    private func changeStatus(_ on: Bool) {
        isOn = on
        consumer?.statusChanged(isOn: on)
        owner.post(StreamStatus.message(on: on))
    }

    /// One frame to the handler. False when that failed, and the error is on the bus.
    private func deliver(_ sample: borrowing Sample) -> Bool {
        guard let buffer = sample.buffer, let consumer else {
            statistics.countFrame()
            return true
        }
        do throws(MediaGraphError) {
            guard let plan = try plan(for: sample) else { return true }
            if !isOn { changeStatus(true) }
            let runningTime = sample.runningTime
            let verdict = try deliver(buffer, plan, runningTime, to: consumer)
            statistics.countFrame()
            if verdict == .drop { statistics.countDrop() }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// The plan for the sample's caps: the same as for the last, but when they change.
    @inline(__always)
    private func plan(for sample: borrowing Sample) throws(MediaGraphError) -> FramePlan? {
        if let plan, sample.hasCaps(plan.inputCaps) { return plan }
        guard let caps = sample.caps else { return nil }
        let plan = try FramePlan(caps, format: format, resolution: settings.resolution)
        RawDataPipeElement.log.log(
            .debug, appSink, "delivers \(plan.outputCaps), \(plan.converts ? "converted from \(caps)" : "as it comes")")
        self.plan = plan
        return plan
    }

    private func deliver(
        _ original: BufferAccess, _ plan: FramePlan, _ runningTime: ClockTime?, to consumer: ConsumerHandle
    ) throws(MediaGraphError) -> Verdict {
        guard plan.converts else { return try deliver(original, original, plan, runningTime, to: consumer) }
        let converted = try plan.apply(to: original)
        return try deliver(converted.access, original, plan, runningTime, to: consumer)
    }

    private func deliver(
        _ buffer: BufferAccess, _ original: BufferAccess, _ plan: FramePlan, _ runningTime: ClockTime?,
        to consumer: ConsumerHandle
    ) throws(MediaGraphError) -> Verdict {
        let began = monotonicNanoseconds()
        if isLive, let runningTime, let now = appSink.currentRunningTime {
            statistics.lateness.store(
                Int64(now.nanoseconds) - Int64(runningTime.nanoseconds), ordering: .relaxed)
        }
        var failure: MediaGraphError?
        let verdict = buffer.withVideoFrame(plan.output, .read) { mapped -> Verdict in
            var frame = MGVideoFrame(
                mapped: mapped.frame, buffer: buffer.raw, caps: plan.outputCaps.raw,
                running_time: UInt64(runningTime.raw),
                presentation_timestamp: UInt64(original.presentationTimestamp.raw),
                capture_time: original.captureTime ?? 0, rotation: Rotation(of: original).rawValue)
            do throws(MediaGraphError) { return try consumer.receive(&frame) } catch {
                failure = error
                return .drop
            }
        }
        if let failure { throw failure }
        guard let verdict else {
            throw .processingFailed(
                .init("a frame", expected: "\(plan.output.size) bytes for \(plan.outputCaps)", actual: "\(buffer.size)")
            )
        }
        statistics.handlerTime.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
        return verdict
    }

    private func fail(_ error: MediaGraphError) {
        // One failure, one error on the bus.
        guard !hasFailed.exchange(true, ordering: .relaxed) else { return }
        owner.postError(.processing, "\(owner.name): \(consumer.map { "handler \($0.name): " } ?? "")\(error)")
    }
}
