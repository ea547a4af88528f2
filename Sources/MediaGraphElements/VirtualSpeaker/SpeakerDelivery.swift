import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Passes the blocks of a speaker's streams to its handler, one at a time. If upstream may block, the handler runs on
/// the streaming threads. Otherwise a bounded queue and a delivery thread are in between.
///
/// `@unchecked Sendable`: locks guard `run` and `held`. Only the thread that is in a callback uses `active`,
/// `failures`, `isDetached`, `hasFinished` and `afterCallback`, or the state change while no data flows. The state change
/// also sets `consumer`, under the lock of `held`, because a pad may be released at the same time.
final class SpeakerDelivery: DeliveryReceiver, @unchecked Sendable {
    struct Block: Sendable {
        let channel: SpeakerChannel
        let buffer: UnmanagedBuffer
        let times: AudioTimes
    }

    enum Signal: DeliverySignal {
        case status(SpeakerChannel, Bool)
        case end

        var isEnd: Bool { if case .end = self { true } else { false } }
        var mayPrecedeCaps: Bool { false }
    }

    private struct Run {
        enum Phase { case stopped, armed, flowing(isLive: Bool) }

        var phase = Phase.stopped
        var settings = SpeakerSettings()
    }

    /// The format in which all streams are delivered.
    struct Format: Sendable {
        let info: AudioInfo
        let caps: Caps
    }

    let statistics = NodeStatistics()
    let owner: WeakElement
    /// The property `on-error`.
    private let onError = Atomic<Int32>(FailurePolicy.stop.rawValue)
    private let line = DeliveryLine<SpeakerDelivery>()
    private let run = Mutex(Run())
    /// The taps that have interrupted the handler: their streams are flushed or their pads released.
    private let held = Mutex<Set<ObjectIdentifier>>([])
    /// Set while no data flows.
    private(set) var format: Format?
    private var consumer: AudioConsumerHandle?
    private var isLive = false
    private var memoryMode = MemoryMode.stack

    // Used in callbacks.

    /// The streams whose status is on, by number.
    private var active: [UInt64: SpeakerChannel] = [:]
    private var failures = FailedFrames()
    /// Whether the handler has failed and gets nothing more in this run.
    private var isDetached = false
    /// The handler, unless it is detached.
    private var receiver: AudioConsumerHandle? { isDetached ? nil : consumer }
    /// Whether the handler was told of the end, and has received nothing since.
    private var hasFinished = false
    /// Signals that a callback caused itself, by releasing a pad. Delivered after the callback has returned.
    private var afterCallback: [Signal] = []

    init(_ instance: ElementInstance) {
        owner = WeakElement(instance)
    }

    /// What happens to a block whose handler or editor throws. May be used from any thread.
    var failurePolicy: FailurePolicy {
        get { FailurePolicy(rawValue: onError.load(ordering: .relaxed)) ?? .stop }
        set { onError.store(newValue.rawValue, ordering: .relaxed) }
    }

    // MARK: State changes

    /// Starts a run in READY→PAUSED, before data flows.
    func start(_ settings: SpeakerSettings, _ consumer: AudioConsumerHandle?, _ format: Format) {
        statistics.reset()
        self.format = format
        active = [:]
        (failures, isDetached, hasFinished, isLive) = (FailedFrames(), false, false, false)
        memoryMode = settings.memoryMode.mode(queues: consumer?.queues == true)
        held.withLock {
            $0 = []
            // Under the lock, because a pad that is released at this moment interrupts the consumer.
            self.consumer = consumer
        }
        run.withLock { $0 = Run(phase: .armed, settings: settings) }
        consumer?.start(.block, maxFrames: Int(settings.maxFrames))
        line.arm { consumer?.resume() }
    }

    /// Sets the liveness for this run, which decides the policy for a slow handler. Called on any streaming thread
    /// before the first block; only the first call counts.
    func open(isLive: Bool) {
        run.withLock { run in
            guard case .armed = run.phase else { return }
            run.phase = .flowing(isLive: isLive)
            self.isLive = isLive
            let policy = run.settings.backPressure.resolved(isLive: isLive)
            consumer?.start(policy, maxFrames: Int(run.settings.maxFrames))
            let queues = policy != .block && consumer?.queues == false
            line.open(
                queues ? BoundedQueue(bound: Int(run.settings.maxFrames), policy: policy) : nil, "mg-speaker", self)
        }
    }

    /// Whether the streams are live; `nil` until `open`.
    var liveness: Bool? { run.withLock { if case .flowing(let isLive) = $0.phase { isLive } else { nil } } }

    /// Makes streaming threads that wait for the handler return. Called in PAUSED→READY, before data flow stops.
    func interrupt() { line.hold(.stopping) { consumer?.interrupt() } }

    /// Ends the run after data flow has stopped. The handler can finish its files.
    func stop() {
        interrupt()
        line.stop { _ = handle(.end) }
        line.close()
        run.withLock { $0.phase = .stopped }
        held.withLock { _ in consumer = nil }
    }

    // MARK: Called by the taps on the streaming threads

    /// Delivers or queues a block. `isGone` is called at each `hold`: the streaming thread of a released pad mustn't
    /// wait for another stream's callback.
    func receive(
        _ buffer: BufferAccess, of channel: SpeakerChannel, times: AudioTimes,
        unless isGone: () -> Bool = { false }
    ) -> FlowReturn {
        switch line.admit(
            unless: isGone,
            {
                Block(channel: channel, buffer: UnmanagedBuffer(buffer.retained), times: times)
            })
        {
        case .deliver:
            let outcome = handlePostponed(after: deliver(buffer, channel, times))
            line.leave(outcome)
            return outcome == .failed ? .error : .ok
        case .queued(let lost):
            if let lost { drop(lost) }
            return .ok
        case .ignored: return .ok
        case .failed: return .error
        }
    }

    /// Delivers or queues a signal. In a callback, postpones the signal until the callback has returned.
    package func receive(_ signal: Signal, unless isGone: () -> Bool = { false }) {
        guard !line.isInCallback else { return afterCallback.append(signal) }
        switch line.admit(signal, unless: isGone) {
        case .deliver: line.leave(handlePostponed(after: handle(signal)))
        case .queued, .ignored, .failed: break
        }
    }

    /// Waits until the handler was told of the end, so that EOS on the bus means that every block was delivered.
    /// Returns at once in a callback, where the end follows after the callback.
    func waitForEnd() { if !line.isInCallback { line.waitForEnd() } }

    /// Flushes one stream: removes its blocks from the queue and interrupts the handler for its tap.
    func flushStarted(_ tap: ObjectIdentifier, _ channel: SpeakerChannel?) {
        hold(for: tap)
        guard let channel else { return }
        line.change { $0.removeFrames { $0.channel === channel } }
    }

    /// Interrupts the handler for a tap whose stream is flushed or whose pad is released, until `release`.
    func hold(for tap: ObjectIdentifier) {
        // Both changes under one lock. Otherwise another tap's `release` could come in between, and its `resume` would
        // be undone with no later `release` to repeat it.
        held.withLock {
            $0.insert(tap)
            line.hold(.paused) { consumer?.interrupt() }
        }
    }

    /// Ends a tap's `hold`. The handler resumes when no tap holds it.
    func release(for tap: ObjectIdentifier) {
        held.withLock {
            if $0.remove(tap) != nil, $0.isEmpty { line.release(.paused) { consumer?.resume() } }
        }
    }

    /// Allows blocks again after the end.
    func reopen() { line.change { if $0.phase == .ended { _ = $0.reopen() } } }

    // MARK: In callbacks

    func deliver(_ block: Block) -> DeliveryOutcome {
        let buffer = block.buffer.take()
        return handlePostponed(after: deliver(buffer.access, block.channel, block.times))
    }

    /// Delivers the signals that the callback itself caused. Returns the outcome of all together.
    private func handlePostponed(after outcome: DeliveryOutcome) -> DeliveryOutcome {
        var outcome = outcome
        while !afterCallback.isEmpty {
            let next = handle(afterCallback.removeFirst())
            if outcome == .passed { outcome = next }
        }
        return outcome
    }

    func drop(_ block: Block) {
        _ = block.buffer.take()
        statistics.countDrop()
    }

    static func discard(_ block: Block) { _ = block.buffer.take() }

    private func deliver(
        _ buffer: BufferAccess, _ channel: SpeakerChannel, _ times: AudioTimes
    ) -> DeliveryOutcome {
        guard let format else { return .passed }
        hasFinished = false
        if active[channel.number] == nil { changeStatus(channel, true) }
        let began = monotonicNanoseconds()
        if isLive, let runningTime = times.running, let now = owner.element?.currentRunningTime {
            statistics.latenessNanoseconds.store(
                Int64(bitPattern: now.nanoseconds &- runningTime.nanoseconds), ordering: .relaxed)
        }
        guard let consumer = receiver else {
            statistics.countFrame()
            return .passed
        }
        var failure: MediaGraphError?
        let isKept = buffer.withAudioBuffer(format.info, .read) { mapped -> Bool in
            var frame = MGAudioFrame(
                mapped, in: buffer, format.caps, times: times, streamStart: channel.streamStart,
                isEdited: false, memoryMode: memoryMode)
            do throws(MediaGraphError) { return try consumer.receive(&frame, of: channel.abi) } catch {
                failure = error
                return true
            }
        }
        if let failure { return fail(failure, on: channel, failurePolicy) }
        guard let isKept else {
            // Not the handler's failure, and nobody gets the block.
            return fail(
                .processingFailed(.init("audio", actual: "its buffer can't be mapped for reading")), on: channel,
                failurePolicy == .stop ? .stop : .drop)
        }
        if !isKept { statistics.countDrop() }
        statistics.countFrame()
        statistics.handlerNanoseconds.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
        return .passed
    }

    func handle(_ signal: Signal) -> DeliveryOutcome {
        switch signal {
        case .status(let channel, let on):
            changeStatus(channel, on)
            return .passed
        case .end:
            guard !hasFinished else { return .ended }
            hasFinished = true
            for channel in active.values.sorted(by: { $0.number < $1.number }) { changeStatus(channel, false) }
            do throws(MediaGraphError) {
                try receiver?.finish()
                return .ended
            } catch { return fail(error, on: nil, failurePolicy) == .failed ? .failed : .ended }
        }
    }

    private func changeStatus(_ channel: SpeakerChannel, _ on: Bool) {
        guard on != (active[channel.number] != nil) else { return }
        active[channel.number] = on ? channel : nil
        // The message is posted before the handler is told of status on, and after the handler was told of status off.
        if on { owner.post(SpeakerStatus.message(channel.stream, on: true)) }
        receiver?.statusChanged(isOn: on, of: channel.abi)
        if !on { owner.post(SpeakerStatus.message(channel.stream, on: false)) }
    }

    /// Applies `on-error`. `channel` is `nil` if the handler failed at the end of all streams.
    private func fail(
        _ error: MediaGraphError, on channel: SpeakerChannel?, _ policy: FailurePolicy
    ) -> DeliveryOutcome {
        guard let element = owner.element else { return .failed }
        failures.add(
            error,
            of: .init(
                handler: "handler \(consumer?.name ?? "")", stream: channel?.stream.subject,
                media: channel == nil ? nil : "block"),
            policy, statistics, element, VirtualSpeakerElement.log)
        switch policy {
        case .stop: return .failed
        case .pass: if channel != nil { statistics.countFrame() }
        case .drop: if channel != nil { statistics.countDrop() }
        case .detach:
            if channel != nil { statistics.countFrame() }
            isDetached = consumer?.detach() != true
        }
        return .passed
    }
}

extension SpeakerStream {
    /// The stream's name in messages, such as "bob's audio".
    var subject: String {
        switch self {
        case .mixed: "the mix"
        case .oneWay(let user): "\(user.name)'s audio"
        case .shared: "the shared audio"
        }
    }
}
