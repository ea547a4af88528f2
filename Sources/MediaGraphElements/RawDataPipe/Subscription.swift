import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// What comes between a pipe's frames.
enum PipeSignal: DeliverySignal {
    case stream(StreamStart)
    case orientation(TaggedOrientation)
    case status(Bool)
    case end

    var isEnd: Bool { if case .end = self { true } else { false } }
    var isEarly: Bool {
        switch self {
        case .stream, .orientation: true
        case .status, .end: false
        }
    }
}

/// One receiver of a pipe's frames, in a size of its own: on the streaming thread where upstream may wait, over a bounded
/// queue and a thread of its own where it may not, so that no receiver holds up another.
///
/// `@unchecked Sendable`: the shared state is the line's; `plan`, `isOn` and `setup` belong to the one thread that
/// has entered a callback, or to the change of state while no data flows.
final class Subscription: DeliveryReceiver, @unchecked Sendable {
    /// What a run is set up with.
    struct Setup {
        /// `nil`: as the stream is, where the receiver takes that.
        var format: VideoFormat?
        var resolution = Resolution.native
        var policy = OverflowPolicy.block
        var maxFrames = 1
        var bufferType = BufferType.raw
        var appliesRotation = false
        var appliesMirror = false
        var onError = DeliveryFailurePolicy.stop
        /// Which stream it is, by the time of subscribing.
        var stream: StreamStart?
        /// What its tags have said by then.
        var tagged = TaggedOrientation()
    }

    let consumer: ConsumerHandle
    /// A delegate's own; `nil`: as the pipe's property says.
    let resolution: Resolution?
    private let pipe: PipeDelivery
    private typealias Queue = BoundedQueue<UnmanagedSample, PipeSignal>
    private let line = DeliveryLine<Subscription>()
    private var setup = Setup()
    // Of the setup, what is read for each frame: a field of a structure takes 70 instructions' check of exclusive access.
    private var isLive = false
    private var isRaw = true
    private var tagged = TaggedOrientation()
    private var stream: StreamStart? {
        didSet { streamEvent = stream?.raw }
    }
    private var streamEvent: UnsafeMutablePointer<GstEvent>?
    private var plan: FramePlan? {
        didSet {
            current = plan.map { Unmanaged.passUnretained($0) }
            planned = plan?.inputCaps.identity ?? 0
        }
    }
    /// The plan and the caps it was made for, reached without counting references for each frame.
    private var current: Unmanaged<FramePlan>?
    private var planned: UInt = 0
    /// Of the sample that is being delivered.
    private var segment: UnsafePointer<GstSegment>?
    private var isOn = false
    private var hasFailed = false
    /// With `on-error=drop`.
    private var lastFailure: MediaGraphError?

    init(_ consumer: ConsumerHandle, resolution: Resolution?, pipe: PipeDelivery) {
        self.consumer = consumer
        self.resolution = resolution
        self.pipe = pipe
    }

    // MARK: The run

    /// READY→PAUSED, or when subscribed later: before any data.
    func arm(_ setup: Setup) {
        self.setup = setup
        self.setup.resolution = resolution ?? setup.resolution
        isRaw = setup.bufferType == .raw
        stream = setup.stream
        tagged = setup.tagged
        plan = nil
        isOn = false
        hasFailed = false
        lastFailure = nil
        // What the last run left behind is gone before anyone can read in this one.
        consumer.start(self.setup.policy, maxFrames: setup.maxFrames)
        line.arm { consumer.resume() }
    }

    /// The stream's liveness is known. No frame has come yet.
    func open(_ policy: OverflowPolicy, isLive: Bool) {
        setup.policy = policy
        self.isLive = isLive
        consumer.start(policy, maxFrames: setup.maxFrames)
        let queues = policy != .block && !consumer.queues
        let queue =
            queues ? Queue(bound: setup.maxFrames, policy: policy, keepsFirst: true) : nil
        line.open(queue, "mg-pipe", self)
    }

    /// Whoever waits in the handler goes on, and nobody waits there while a hold is on. Any thread.
    func hold(_ reason: DeliveryHolds) { line.hold(reason) { consumer.interrupt() } }

    func release(_ reason: DeliveryHolds) { line.release(reason) { consumer.resume() } }

    /// FLUSH_STOP.
    func flushStopped() {
        if line.reopen(), consumer.queues {
            consumer.start(setup.policy, maxFrames: setup.maxFrames)
        }
        release(.flushing)
    }

    /// PAUSED→READY, after data flow has stopped. Files are finished as far as they got, without end-of-stream too.
    func stop() {
        hold(.stopping)
        line.stop { tell(.end) }
        plan = nil
        line.close()
    }

    /// Unsubscribed. When it returns no callback is in flight and none will come; from inside one it returns at once.
    func cancel() {
        line.cancel { consumer.interrupt() }
        forgetStatus()
        line.join()
    }

    // MARK: On the streaming thread

    func receive(_ sample: borrowing Sample) -> FlowReturn {
        switch line.admit({ UnmanagedSample(retaining: sample) }) {
        case .deliver:
            let outcome = deliver(sample)
            line.leave(outcome)
            return outcome == .failed ? .error : .ok
        case .queued(let lost):
            if let lost { lose(lost) }
            return .ok
        case .ignored: return .ok
        case .failed: return .error
        }
    }

    func receive(_ signal: PipeSignal) {
        // From before it waits in the queue: the stream may be off again by the time that it is told.
        var isHeldAnew = false
        if case .status = signal { isHeldAnew = holdStatus() }
        switch line.admit(signal) {
        case .deliver: line.leave(tell(signal))
        case .queued: break
        case .ignored, .failed: if isHeldAnew { letStatusGo() }
        }
    }

    /// Waits until end-of-stream has been told: on the bus it means that every frame was delivered.
    func waitForEnd() { line.waitForEnd() }

    // MARK: In a callback

    func deliver(_ sample: UnmanagedSample) -> DeliveryOutcome { deliver(sample.take()) }

    func lose(_ sample: UnmanagedSample) {
        _ = sample.take()
        pipe.statistics.countDrop()
    }

    static func discard(_ sample: UnmanagedSample) { _ = sample.take() }

    @discardableResult
    func tell(_ signal: PipeSignal) -> DeliveryOutcome {
        switch signal {
        case .stream(let stream):
            self.stream = stream
            tagged = TaggedOrientation()
            return .passed
        case .orientation(let tagged):
            self.tagged = tagged
            return .passed
        case .status(let on):
            changeStatus(on)
            return .passed
        case .end:
            changeStatus(false)
            guard !line.isCancelled else { return .passed }
            do {
                try consumer.finish()
                if let remark = consumer.remark {
                    pipe.owner.postWarning(.processing, "\(pipe.owner.name): handler \(consumer.name): \(remark)")
                }
                return .ended
            } catch { return fail(error) == .failed ? .failed : .ended }
        }
    }

    private func changeStatus(_ on: Bool) {
        if on { holdStatus() }
        if on != isOn {
            isOn = on
            consumer.statusChanged(isOn: on)
        }
        if !on { letStatusGo() }
    }

    /// Unsubscribed: nothing is told any more.
    private func forgetStatus() {
        isOn = false
        letStatusGo()
    }

    /// The pipe's status waits for its being told that the stream is off. True when it hasn't before. Any thread.
    @discardableResult
    private func holdStatus() -> Bool { pipe.status.hold(for: ObjectIdentifier(self)) }

    private func letStatusGo() { pipe.status.release(for: ObjectIdentifier(self)) }

    private func fail(_ error: MediaGraphError) -> DeliveryOutcome {
        let text = "\(pipe.owner.name): handler \(consumer.name): \(error)"
        guard setup.onError == .stop else {
            pipe.statistics.failed.wrappingAdd(1, ordering: .relaxed)
            pipe.statistics.countDrop()
            // Once, not thirty times a second; `failed` counts them.
            if error != lastFailure { pipe.owner.postWarning(.processing, text) }
            lastFailure = error
            return .passed
        }
        // One failure, one error on the bus.
        guard !hasFailed else { return .failed }
        hasFailed = true
        pipe.owner.postError(.processing, text)
        return .failed
    }

    private func deliver(_ sample: borrowing Sample) -> DeliveryOutcome {
        guard let buffer = sample.buffer else { return .passed }
        do throws(MediaGraphError) {
            let plan = isRaw ? try plan(for: sample) : nil
            if !isOn {
                changeStatus(true)
                if line.isCancelled { return .passed }
            }
            let runningTime = sample.runningTime(of: buffer)
            segment = sample.segmentPointer
            let began = monotonicNanoseconds()
            if isLive { noteLateness(runningTime) }
            var failure: MediaGraphError?
            let answer: ConsumerHandle.Answer?
            if let plan {
                answer = plan._withUnsafeGuaranteedRef { plan -> ConsumerHandle.Answer? in
                    do throws(MediaGraphError) { return try deliver(buffer, plan, runningTime) } catch {
                        failure = error
                        return nil
                    }
                }
            } else {
                answer = try deliverAsIs(buffer, sample, runningTime)
            }
            switch answer {
            case .passed: break
            case .lost:
                pipe.statistics.countDrop()
                return .passed
            case .gone:
                forgetStatus()
                pipe.lost(self)
                return .gone
            case nil: return fail(failure ?? .internalError(.init("delivery")))
            }
            pipe.statistics.countFrame()
            pipe.statistics.handlerTime.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
            return .passed
        } catch {
            return fail(error)
        }
    }

    private func noteLateness(_ runningTime: ClockTime?) {
        guard let runningTime, let now = pipe.appSink.currentRunningTime else { return }
        pipe.statistics.lateness.store(
            Int64(bitPattern: now.nanoseconds &- runningTime.nanoseconds), ordering: .relaxed)
    }

    /// The plan for the sample's caps: the same as for the last, but when they change.
    @inline(__always)
    private func plan(for sample: borrowing Sample) throws(MediaGraphError) -> Unmanaged<FramePlan>? {
        if let current, sample.hasCaps(at: planned) { return current }
        return try makePlan(sample.caps)
    }

    @inline(never)
    private func makePlan(_ caps: Caps?) throws(MediaGraphError) -> Unmanaged<FramePlan>? {
        guard let caps else { return nil }
        let plan = try FramePlan(caps, setup, taken: consumer.formats)
        RawDataPipeElement.log.log(
            .debug, pipe.appSink,
            "delivers \(plan.outputCaps) to \(consumer.name), \(plan.isPassthrough ? "as it comes" : "made of \(caps)")"
        )
        self.plan = plan
        return current
    }

    private func deliver(
        _ buffer: BufferAccess, _ plan: FramePlan, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        let (orientation, mirror) = (tagged.orientation(of: buffer), Flip(of: buffer))
        guard plan.isPassthrough else {
            let frame = try plan.apply(to: buffer, orientation, mirror)
            return try deliver(
                frame.buffer.access, of: buffer, frame.info, frame.caps, frame.orientation, frame.mirror, runningTime)
        }
        return try deliver(buffer, of: buffer, plan.output, plan.outputCaps, orientation, mirror, runningTime)
    }

    /// `buffer` to the handler, with what `original`, from which it was made, says about it.
    @inline(__always)
    private func deliver(
        _ buffer: BufferAccess, of original: BufferAccess, _ info: VideoInfo, _ caps: Caps,
        _ orientation: VideoOrientation, _ mirror: Flip, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        var failure: MediaGraphError?
        let answer = buffer.withVideoFrame(info, .read) { mapped -> ConsumerHandle.Answer in
            var frame = describe(original, caps, orientation, mirror, runningTime)
            frame.mapped = mapped.frame
            frame.buffer = buffer.raw
            do throws(MediaGraphError) { return try consumer.receive(&frame) } catch {
                failure = error
                return .passed
            }
        }
        if let failure { throw failure }
        guard let answer else {
            throw .processingFailed(
                .init("a frame", expected: "\(info.size) bytes for \(caps)", actual: "\(buffer.size)"))
        }
        return answer
    }

    /// What a buffer says about itself.
    @inline(__always)
    private func describe(
        _ buffer: BufferAccess, _ caps: Caps, _ orientation: VideoOrientation, _ mirror: Flip,
        _ runningTime: ClockTime?
    ) -> MGVideoFrame {
        MGVideoFrame(
            mapped: nil, buffer: buffer.raw, caps: caps.raw, running_time: UInt64(runningTime.raw),
            presentation_timestamp: UInt64(buffer.presentationTimestamp.raw), capture_time: buffer.captureTime ?? 0,
            rotation: orientation.degrees, flip: (mirror ^ orientation.flip).rawValue, mirror: mirror.rawValue,
            kind: MG_RAW, stream_start: streamEvent, data: nil, length: 0,
            decode_timestamp: UInt64(buffer.decodingTimestamp.raw), duration: UInt64(buffer.duration.raw),
            segment: segment)
    }

    /// The stream's own buffer: in the memory that it has, or with its coded bytes.
    private func deliverAsIs(
        _ buffer: BufferAccess, _ sample: borrowing Sample, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        guard let caps = sample.caps else { throw .internalError(.init("a buffer", actual: "no caps")) }
        var frame = describe(buffer, caps, tagged.orientation(of: buffer), Flip(of: buffer), runningTime)
        frame.kind = setup.bufferType == .native ? MG_NATIVE : MG_ENCODED
        guard setup.bufferType == .encoded else { return try consumer.receive(&frame) }
        var failure: MediaGraphError?
        let answer = buffer.withBytes { bytes -> ConsumerHandle.Answer in
            frame.data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            frame.length = Int64(bytes.count)
            do throws(MediaGraphError) { return try consumer.receive(&frame) } catch {
                failure = error
                return .passed
            }
        }
        if let failure { throw failure }
        guard let answer else {
            throw .processingFailed(.init("an access unit", actual: "memory that no CPU reads: \(buffer.memoryTypes)"))
        }
        return answer
    }
}
