import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Delivers a pipe's frames to one receiver, in the receiver's own resolution and format.
///
/// The receiver is called on the streaming thread if upstream may wait. Otherwise it is called on its own delivery
/// thread, behind a bounded queue, so that no receiver delays another.
///
/// `@unchecked Sendable`: the shared state belongs to the line. All other variables are used by the one thread that has
/// entered a callback, and in state changes while no data flows.
final class Subscription: DeliveryReceiver, @unchecked Sendable {
    let consumer: ConsumerHandle
    /// The delegate's resolution as a `Resolution.rawValue`; negative for the pipe's `resolution` property.
    private let requested: Atomic<Int32>
    /// The delegate's format; `auto` for the pipe's.
    let format: PipeFormat
    private let pipe: PipeDelivery
    private typealias Queue = BoundedQueue<UnmanagedSample, PipeSignal>
    private let line = DeliveryLine<Subscription>()
    private var setup = Setup()
    // Copies of what is read for each frame: access to a field of `setup` costs 70 instructions, for the check of
    // exclusive access.
    private var isLive = false
    private var isRaw = true
    /// Whether frames may have to be converted.
    private var isPlanned = true
    private var memoryMode = MG_STACK
    private var tagged = TaggedOrientation()
    private var stream: StreamStart? {
        didSet { streamEvent = stream?.raw }
    }
    private var streamEvent: UnsafeMutablePointer<GstEvent>?
    private var plan: FramePlan? {
        didSet {
            current = plan.map { Unmanaged.passUnretained($0) }
            plannedCaps = plan?.inputCaps.identity ?? 0
        }
    }
    /// `plan`, reached without reference counting for each frame.
    private var current: Unmanaged<FramePlan>?
    /// The identity of the caps that `plan` was made for.
    private var plannedCaps: UInt = 0
    /// The value of `requested` that `plan` was made for.
    private var plannedResolution: Int32 = -1
    /// The segment of the sample that is being delivered.
    private var segment: UnsafePointer<GstSegment>?
    private var isOn = false
    private var failures = FailedFrames()
    /// Whether the receiver itself threw, and not the conversion of a frame for it.
    private var hasThrown = false
    private let detached = Atomic<Bool>(false)

    /// Whether the receiver has failed and gets nothing more in this run. May be read from any thread.
    var isDetached: Bool { detached.load(ordering: .acquiring) }

    init(_ consumer: ConsumerHandle, resolution: Resolution?, format: PipeFormat = .auto, pipe: PipeDelivery) {
        self.consumer = consumer
        requested = Atomic(resolution?.rawValue ?? -1)
        self.format = format
        self.pipe = pipe
    }

    /// The delegate's resolution; `nil` for the pipe's `resolution` property.
    var resolution: Resolution? { Resolution(rawValue: requested.load(ordering: .relaxed)) }

    /// Changes the delegate's resolution, from the next frame on. May be called from any thread.
    func setResolution(_ resolution: Resolution) { requested.store(resolution.rawValue, ordering: .relaxed) }

    // MARK: The run

    /// READY→PAUSED, or when a delegate subscribes later. Called before the first data.
    func arm(_ setup: Setup) {
        self.setup = setup.with(resolution, format)
        isRaw = setup.bufferType == .raw
        isPlanned = isRaw || setup.bufferType == .native && self.setup.format != nil
        memoryMode = setup.memoryMode.mode(queues: consumer.queues).rawValue
        stream = setup.stream
        tagged = setup.tagged
        plan = nil
        isOn = false
        (failures, hasThrown) = (FailedFrames(), false)
        detached.store(false, ordering: .releasing)
        // Clears what the last run left in the handler's queue before anything can be read in this run.
        consumer.start(self.setup.policy, maxFrames: setup.maxFrames)
        line.arm { consumer.resume() }
    }

    /// Called when the stream's liveness is known, before the first frame.
    func open(_ policy: OverflowPolicy, isLive: Bool) {
        setup.policy = policy
        self.isLive = isLive
        consumer.start(policy, maxFrames: setup.maxFrames)
        let queues = policy != .block && !consumer.queues
        let queue =
            queues ? Queue(bound: setup.maxFrames, policy: policy, keepsFirst: true) : nil
        line.open(queue, "mg-pipe", self)
    }

    /// Makes a call that waits in the handler return, and keeps others from waiting until `release`. May be called from
    /// any thread.
    func hold(_ reason: DeliveryHolds) { line.hold(reason) { consumer.interrupt() } }

    func release(_ reason: DeliveryHolds) { line.release(reason) { consumer.resume() } }

    /// FLUSH_STOP.
    func flushStopped() {
        if line.reopen(), consumer.queues {
            consumer.start(setup.policy, maxFrames: setup.maxFrames)
        }
        release(.flushing)
    }

    /// PAUSED→READY, after data flow has stopped. Finishes the handler's files, also without end-of-stream.
    func stop() {
        hold(.stopping)
        line.stop { handle(.end) }
        plan = nil
        line.close()
    }

    /// Ends the subscription. Blocks until no callback is in flight, except when called from a callback. No callback
    /// follows.
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
            if let lost { drop(lost) }
            return .ok
        case .ignored: return .ok
        case .failed: return .error
        }
    }

    func receive(_ signal: PipeSignal) {
        // Held before the signal is queued: the stream may be off again when the signal is delivered.
        var isNewHolder = false
        if case .status = signal { isNewHolder = holdStatus() }
        switch line.admit(signal) {
        case .deliver: line.leave(handle(signal))
        case .queued: break
        case .ignored, .failed: if isNewHolder { releaseStatus() }
        }
    }

    /// Waits until the receiver has been told end-of-stream. EOS on the bus means that every frame was delivered.
    func waitForEnd() { line.waitForEnd() }

    // MARK: In a callback

    func deliver(_ sample: UnmanagedSample) -> DeliveryOutcome { deliver(sample.take()) }

    func drop(_ sample: UnmanagedSample) {
        _ = sample.take()
        pipe.statistics.countDrop()
    }

    static func discard(_ sample: UnmanagedSample) { _ = sample.take() }

    @discardableResult
    func handle(_ signal: PipeSignal) -> DeliveryOutcome {
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
        case .alpha(let change):
            pipe.alpha.post(change)
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
            } catch {
                hasThrown = true
                let outcome = fail(error, media: nil)
                return outcome == .passed ? .ended : outcome
            }
        }
    }

    private func changeStatus(_ on: Bool) {
        if on { holdStatus() }
        if on != isOn {
            isOn = on
            consumer.statusChanged(isOn: on)
        }
        if !on { releaseStatus() }
    }

    /// Releases the pipe's status without telling the receiver, after the subscription has ended.
    private func forgetStatus() {
        isOn = false
        releaseStatus()
    }

    /// Keeps the pipe's status on until this receiver has been told that the stream is off. Returns false if the
    /// receiver already holds the status. May be called from any thread.
    @discardableResult
    private func holdStatus() -> Bool { pipe.status.hold(for: ObjectIdentifier(self)) }

    private func releaseStatus() { pipe.status.release(for: ObjectIdentifier(self)) }

    /// Applies `on-error`. `media` is `nil` if the receiver failed at the end of the stream.
    private func fail(
        _ error: MediaGraphError, _ problem: ElementProblem = .processing, media: String? = "frame"
    ) -> DeliveryOutcome {
        guard let element = pipe.owner.element else { return .failed }
        // A frame that can't be delivered isn't the receiver's failure, and nobody gets it.
        let (isReceivers, policy) = (hasThrown, setup.onError == .stop || hasThrown ? setup.onError : .drop)
        hasThrown = false
        failures.add(
            error, problem,
            of: .init(
                handler: "handler \(consumer.name)", hasThrown: isReceivers, stream: stream?.owner, media: media),
            policy,
            pipe.statistics, element, RawDataPipeElement.log)
        switch policy {
        case .stop: return .failed
        case .pass: if media != nil { pipe.statistics.countFrame() }
        case .drop: if media != nil { pipe.statistics.countDrop() }
        case .detach:
            if media != nil { pipe.statistics.countFrame() }
            detached.store(true, ordering: .releasing)
            forgetStatus()
            pipe.receiverDetached()
            return .detached
        }
        return .passed
    }

    /// Calls the receiver.
    @inline(__always)
    private func call(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> ConsumerHandle.Answer {
        do throws(MediaGraphError) { return try consumer.receive(frame) } catch {
            hasThrown = true
            throw error
        }
    }

    private func deliver(_ sample: borrowing Sample) -> DeliveryOutcome {
        guard let buffer = sample.buffer else { return .passed }
        let plan: Unmanaged<FramePlan>?
        do throws(MediaGraphError) { plan = isPlanned ? try self.plan(for: sample) : nil } catch {
            return fail(error, .notNegotiated)
        }
        do throws(MediaGraphError) {
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
            pipe.statistics.handlerNanoseconds.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
            return .passed
        } catch {
            return fail(error)
        }
    }

    private func noteLateness(_ runningTime: ClockTime?) {
        guard let runningTime, let now = pipe.appSink.currentRunningTime else { return }
        pipe.statistics.latenessNanoseconds.store(
            Int64(bitPattern: now.nanoseconds &- runningTime.nanoseconds), ordering: .relaxed)
    }

    /// Returns the plan for the sample's caps; makes a new one if the caps or the resolution have changed.
    @inline(__always)
    private func plan(for sample: borrowing Sample) throws(MediaGraphError) -> Unmanaged<FramePlan>? {
        if let current, sample.hasCaps(at: plannedCaps), requested.load(ordering: .relaxed) == plannedResolution {
            return current
        }
        return try makePlan(sample.caps)
    }

    @inline(never)
    private func makePlan(_ caps: Caps?) throws(MediaGraphError) -> Unmanaged<FramePlan>? {
        guard let caps else { return nil }
        let requested = requested.load(ordering: .relaxed)
        if let resolution = Resolution(rawValue: requested) { setup.resolution = resolution }
        let plan = try FramePlan(caps, setup, supported: consumer.formats)
        RawDataPipeElement.log.log(
            .debug, pipe.appSink,
            "delivers \(plan.outputCaps) to \(consumer.name), "
                + (plan.isPassthrough ? "unconverted" : "converted from \(caps)"))
        self.plan = plan
        plannedResolution = requested
        return current
    }

    private func deliver(
        _ buffer: BufferAccess, _ plan: FramePlan, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        var metas = FrameMetas(of: buffer, tagged)
        guard plan.isPassthrough else {
            let frame = try plan.apply(to: buffer, metas.orientation, metas.mirror)
            (metas.orientation, metas.mirror) = (frame.orientation, frame.mirror)
            guard isRaw else {
                return try deliverNative(frame.buffer.access, of: buffer, frame.caps, metas, runningTime)
            }
            return try deliver(frame.buffer.access, of: buffer, frame.info, frame.caps, metas, runningTime)
        }
        guard isRaw else { return try deliverNative(buffer, of: buffer, plan.outputCaps, metas, runningTime) }
        return try deliver(buffer, of: buffer, plan.output, plan.outputCaps, metas, runningTime)
    }

    /// Delivers `buffer` with the timestamps and metas of `original`, from which it was converted.
    @inline(__always)
    private func deliver(
        _ buffer: BufferAccess, of original: BufferAccess, _ info: VideoInfo, _ caps: Caps, _ metas: FrameMetas,
        _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        var failure: MediaGraphError?
        let answer = buffer.withVideoFrame(info, .read) { mapped -> ConsumerHandle.Answer in
            var frame = describe(original, caps, metas, runningTime)
            frame.mapped = mapped.frame
            frame.buffer = buffer.raw
            do throws(MediaGraphError) { return try call(&frame) } catch {
                failure = error
                return .passed
            }
        }
        if let failure { throw failure }
        guard let answer else {
            throw .processingFailed(
                .init(
                    "frame",
                    actual: "can't be mapped: \(caps) needs \(info.size) bytes, the buffer has \(buffer.size)"))
        }
        return answer
    }

    /// Returns the C structure for a frame, without its pixels.
    @inline(__always)
    private func describe(
        _ buffer: BufferAccess, _ caps: Caps, _ metas: FrameMetas, _ runningTime: ClockTime?
    ) -> MGVideoFrame {
        MGVideoFrame(
            mapped: nil, buffer: buffer.raw, caps: caps.raw, running_time: UInt64(runningTime.raw),
            presentation_timestamp: UInt64(buffer.presentationTimestamp.raw), capture_time: metas.captureTime,
            rotation: metas.orientation.degrees, flip: (metas.mirror ^ metas.orientation.flip).rawValue,
            mirror: metas.mirror.rawValue,
            kind: MG_RAW, stream_start: streamEvent, data: nil, length: 0,
            decode_timestamp: UInt64(buffer.decodingTimestamp.raw), duration: buffer.durationNanoseconds ?? .max,
            segment: segment, memory_mode: memoryMode)
    }

    /// Delivers `buffer` unmapped, with the timestamps and metas of `original`, from which it may have been converted.
    private func deliverNative(
        _ buffer: BufferAccess, of original: BufferAccess, _ caps: Caps, _ metas: FrameMetas, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        var frame = describe(original, caps, metas, runningTime)
        frame.buffer = buffer.raw
        frame.kind = MG_NATIVE
        return try call(&frame)
    }

    /// Delivers the stream's own buffer unmapped (`native`) or with its bytes (`encoded`).
    private func deliverAsIs(
        _ buffer: BufferAccess, _ sample: borrowing Sample, _ runningTime: ClockTime?
    ) throws(MediaGraphError) -> ConsumerHandle.Answer {
        guard let caps = sample.caps else { throw .internalError(.init("buffer", actual: "has no caps")) }
        let metas = FrameMetas(of: buffer, tagged)
        guard setup.bufferType == .encoded else {
            return try deliverNative(buffer, of: buffer, caps, metas, runningTime)
        }
        var frame = describe(buffer, caps, metas, runningTime)
        frame.kind = MG_ENCODED
        var failure: MediaGraphError?
        let answer = buffer.withBytes { bytes -> ConsumerHandle.Answer in
            frame.data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            frame.length = Int64(bytes.count)
            do throws(MediaGraphError) { return try call(&frame) } catch {
                failure = error
                return .passed
            }
        }
        if let failure { throw failure }
        guard let answer else {
            throw .processingFailed(
                .init("access unit", actual: "is in memory that the CPU can't map: \(buffer.memoryTypes)"))
        }
        return answer
    }
}
