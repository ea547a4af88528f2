import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Hands a speaker's streams to its handler, one block at a time: on the streaming threads where upstream may wait, and over
/// a bounded queue on a thread of its own where it may not.
///
/// `@unchecked Sendable`: the run is behind a lock, `told`, `hasFailed` and `afterCallback` belong to the one thread that is in a
/// callback, or to the change of state while no data flows; that sets `consumer`, behind the lock of `held` for those who leave
/// meanwhile.
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
        var isEarly: Bool { false }
    }

    private struct Run {
        enum Phase { case stopped, armed, flowing(isLive: Bool) }

        var phase = Phase.stopped
        var settings = SpeakerSettings()
    }

    /// What all streams are delivered in.
    struct Format: Sendable {
        let info: AudioInfo
        let caps: Caps
    }

    let statistics = NodeStatistics()
    let owner: WeakElement
    private let line = DeliveryLine<SpeakerDelivery>()
    private let run = Mutex(Run())
    /// Those for whom nobody may wait in the handler now.
    private let held = Mutex<Set<ObjectIdentifier>>([])
    /// Set while no data flows.
    private(set) var format: Format?
    private var consumer: AudioConsumerHandle?
    private var isLive = false

    // In a callback.
    private var told: [UInt64: SpeakerChannel] = [:]
    private var hasFailed = false
    /// The end has been told, and nothing since.
    private var hasFinished = false
    /// What a callback has brought about itself, by releasing a pad: told when it has returned.
    private var afterCallback: [Signal] = []

    init(_ instance: ElementInstance) {
        owner = WeakElement(instance)
    }

    // MARK: Changes of state

    /// READY→PAUSED: no data flows yet.
    func start(_ settings: SpeakerSettings, _ consumer: AudioConsumerHandle?, _ format: Format) {
        statistics.reset()
        self.format = format
        told = [:]
        (hasFailed, hasFinished, isLive) = (false, false, false)
        held.withLock {
            $0 = []
            // Whoever leaves just now interrupts it under the lock.
            self.consumer = consumer
        }
        run.withLock { $0 = Run(phase: .armed, settings: settings) }
        consumer?.start(.block, maxFrames: Int(settings.maxFrames))
        line.arm { consumer?.resume() }
    }

    /// What is known of the streams' liveness decides for the run. Before the first block, from any streaming thread.
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

    /// `nil` before anything has come.
    var liveness: Bool? { run.withLock { if case .flowing(let isLive) = $0.phase { isLive } else { nil } } }

    /// PAUSED→READY, before data flow stops: nobody waits in the handler any more.
    func interrupt() { line.hold(.stopping) { consumer?.interrupt() } }

    /// After data flow has stopped. Files are finished as far as they got.
    func stop() {
        interrupt()
        line.stop { _ = tell(.end) }
        line.close()
        run.withLock { $0.phase = .stopped }
        held.withLock { _ in consumer = nil }
    }

    // MARK: From the taps, on the streaming threads

    /// `isGone` is asked at each `hold`: whoever leaves waits for nobody's callback.
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
            let outcome = tellPostponed(after: deliver(buffer, channel, times))
            line.leave(outcome)
            return outcome == .failed ? .error : .ok
        case .queued(let lost):
            if let lost { lose(lost) }
            return .ok
        case .ignored: return .ok
        case .failed: return .error
        }
    }

    package func receive(_ signal: Signal, unless isGone: () -> Bool = { false }) {
        guard !line.isInCallback else { return afterCallback.append(signal) }
        switch line.admit(signal, unless: isGone) {
        case .deliver: line.leave(tellPostponed(after: tell(signal)))
        case .queued, .ignored, .failed: break
        }
    }

    /// Waits until the end has been told: on the bus it means that every block was delivered. In a callback it is told behind
    /// that.
    func waitForEnd() { if !line.isInCallback { line.waitForEnd() } }

    /// The stream that comes by `tap` is flushed; the others go on.
    func flushStarted(_ tap: ObjectIdentifier, _ channel: SpeakerChannel?) {
        hold(for: tap)
        guard let channel else { return }
        line.change { $0.removeFrames { $0.channel === channel } }
    }

    /// Nobody waits in the handler's channel, for a tap whose stream is flushed, or that goes.
    func hold(for tap: ObjectIdentifier) {
        // As one step: between them another's release would be undone, and nobody be left who does it again.
        held.withLock {
            $0.insert(tap)
            line.hold(.paused) { consumer?.interrupt() }
        }
    }

    func release(for tap: ObjectIdentifier) {
        held.withLock {
            if $0.remove(tap) != nil, $0.isEmpty { line.release(.paused) { consumer?.resume() } }
        }
    }

    /// Blocks come again after the end.
    func reopen() { line.change { if $0.phase == .ended { _ = $0.reopen() } } }

    // MARK: In a callback

    func deliver(_ block: Block) -> DeliveryOutcome {
        let buffer = block.buffer.take()
        return tellPostponed(after: deliver(buffer.access, block.channel, block.times))
    }

    /// What the callback itself brought about.
    private func tellPostponed(after outcome: DeliveryOutcome) -> DeliveryOutcome {
        var outcome = outcome
        while !afterCallback.isEmpty {
            let told = tell(afterCallback.removeFirst())
            if outcome == .passed { outcome = told }
        }
        return outcome
    }

    func lose(_ block: Block) {
        _ = block.buffer.take()
        statistics.countDrop()
    }

    static func discard(_ block: Block) { _ = block.buffer.take() }

    private func deliver(
        _ buffer: BufferAccess, _ channel: SpeakerChannel, _ times: AudioTimes
    ) -> DeliveryOutcome {
        guard let format else { return .passed }
        hasFinished = false
        if told[channel.number] == nil { changeStatus(channel, true) }
        let began = monotonicNanoseconds()
        if isLive, let runningTime = times.running, let now = owner.element?.currentRunningTime {
            statistics.lateness.store(Int64(bitPattern: now.nanoseconds &- runningTime.nanoseconds), ordering: .relaxed)
        }
        guard let consumer else {
            statistics.countFrame()
            return .passed
        }
        var failure: MediaGraphError?
        let isKept = buffer.withAudioBuffer(format.info, .read) { mapped -> Bool in
            var frame = MGAudioFrame(
                mapped, in: buffer, format.caps, times: times, streamStart: channel.streamStart,
                isEdited: false)
            do throws(MediaGraphError) { return try consumer.receive(&frame, of: channel.abi) } catch {
                failure = error
                return true
            }
        }
        if let failure { return fail(failure) }
        guard let isKept else {
            return fail(.processingFailed(.init("audio", actual: "a buffer that can't be mapped for reading")))
        }
        if !isKept { statistics.countDrop() }
        statistics.countFrame()
        statistics.handlerTime.wrappingAdd(monotonicNanoseconds() - began, ordering: .relaxed)
        return .passed
    }

    func tell(_ signal: Signal) -> DeliveryOutcome {
        switch signal {
        case .status(let channel, let on):
            changeStatus(channel, on)
            return .passed
        case .end:
            guard !hasFinished else { return .ended }
            hasFinished = true
            for channel in told.values.sorted(by: { $0.number < $1.number }) { changeStatus(channel, false) }
            do throws(MediaGraphError) {
                try consumer?.finish()
                return .ended
            } catch { return fail(error) }
        }
    }

    private func changeStatus(_ channel: SpeakerChannel, _ on: Bool) {
        guard on != (told[channel.number] != nil) else { return }
        told[channel.number] = on ? channel : nil
        // On the bus a stream is on before the handler has it, and off when the handler knows.
        if on { owner.post(SpeakerStatus.message(channel.stream, on: true)) }
        consumer?.statusChanged(isOn: on, of: channel.abi)
        if !on { owner.post(SpeakerStatus.message(channel.stream, on: false)) }
    }

    private func fail(_ error: MediaGraphError) -> DeliveryOutcome {
        // One failure, one error on the bus.
        guard !hasFailed else { return .failed }
        hasFailed = true
        owner.postError(.processing, "\(owner.name): handler \(consumer?.name ?? ""): \(error)")
        return .failed
    }
}
