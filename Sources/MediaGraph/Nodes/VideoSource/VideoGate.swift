import CMediaGraphABI
import GStreamer

/// Lets a source's frames into the graph between `startSend` and `stopSend`, and refuses them with a typed error before
/// and after: the one lock around a `SendQueue`, and what happens to a frame outside of it.
///
/// Senders hold it, so it outlives the element. A frame is copied outside the lock; the check of the gate and the place in
/// the queue are one step, so nothing gets in once `close` has begun.
final class VideoGate: Sendable {
    struct Settings: Sendable {
        var pace = Pace.live
        var policy = OverflowPolicy.dropOldest
        var maxFrames = 2
        /// How long a blocking sender waits for room.
        var blockTimeout = ClockTime.milliseconds(100)
    }

    private struct State: Sendable {
        var queue = SendQueue<QueuedFrame>()
        var settings = Settings()
        /// The last sender's, for the next one.
        var format: SentFormat?
        /// What downstream was told.
        var delivered: SentFormat?
        var hasSegment = false
    }

    let statistics = NodeStatistics()
    private let monitor = BlockingMonitor(State())
    /// Senders that wait for the clock.
    private let alarm = ClockAlarm()
    private let owner: WeakElement

    init(owner: WeakElement) { self.owner = owner }

    // MARK: The node's side

    func initialize(_ settings: Settings) {
        statistics.reset()
        monitor.withLock {
            $0 = State()
            $0.settings = settings
            $0.queue.initialize(bound: settings.maxFrames, policy: settings.policy)
        }
    }

    func uninitialize() { discard(monitor.withLock { $0.queue.uninitialize() }) }

    /// Before `startSend`.
    func open() { monitor.withLock { $0.queue.open() } }

    /// After `startSend`.
    func startSendReturned() { monitor.withLock { $0.queue.opened() } }

    /// Before `stopSend`: whoever waits is refused. Then waits until what was accepted has left the node, and status off
    /// behind it; but not for a stream that stands still, as when a sink is in PAUSED already and holds a frame.
    func close() {
        monitor.withLock { $0.queue.close() }
        alarm.cancel()
        var last: UInt64?
        for _ in 0..<20 {
            if monitor.wait(timeout: 100_000, { $0.queue.isDrained ? true : nil }) != nil { return }
            // A thread that is on its way here only waits for a processor.
            let (isStuck, delivered) = monitor.withLock {
                ($0.queue.isDelivering && $0.queue.delivered == last, $0.queue.delivered)
            }
            if isStuck { break }
            last = delivered
        }
        monitor.withLock { $0.queue.abandonDrain() }
    }

    func downstreamReconfigured() { monitor.withLock { $0.queue.reconfigure() } }

    /// A flush, or the end of data flow: what is queued is lost, and counted.
    func flush() {
        discard(
            monitor.withLock {
                $0.hasSegment = false
                return $0.queue.flush()
            })
    }

    func resume() { monitor.withLock { $0.queue.resume() } }

    private func discard(_ lost: [QueuedFrame]) {
        for frame in lost {
            frame.discard()
            statistics.countDrop()
        }
    }

    /// The queue makes up for as much as it holds; frames are stamped as they come, so nothing is added.
    var maximumLatency: ClockTime {
        let (rate, maxFrames) = monitor.withLock(wakes: false) {
            ($0.delivered?.framesPerSecond.value ?? 0, $0.settings.maxFrames)
        }
        return .seconds(Double(maxFrames) / (rate > 0 ? rate : 30))
    }

    // MARK: The streaming thread

    enum Step {
        /// As the one before.
        case frame(QueuedFrame)
        /// Behind something new: `caps`, `segment` and status `on`, in this order.
        case announced(QueuedFrame, caps: Bool, segment: Bool, on: Bool)
        case off, reconfigure, drained, flush
        case end
    }

    /// Waits for something to do.
    func next() -> Step {
        while true {
            let step = monitor.wait { state -> Step? in
                switch state.queue.next() {
                case .frame(let frame, let isFirst):
                    let isNew = !frame.has(state.delivered)
                    guard isFirst || isNew else { return .frame(frame) }
                    defer {
                        state.delivered = frame.format
                        state.hasSegment = true
                    }
                    return .announced(frame, caps: isNew, segment: isFirst && !state.hasSegment, on: isFirst)
                case .off: return .off
                case .reconfigure: return .reconfigure
                case .flush: return .flush
                case .end: return .end
                case .drained: return .drained
                case nil: return nil
                }
            }
            // `drained` is a result, so that whoever waits for it is woken; there is nothing else to do.
            switch step {
            case .drained, nil: continue
            case let step?: return step
            }
        }
    }

    /// How the stream ends, when `next` says that it does.
    var ending: SendQueue<QueuedFrame>.Ending? { monitor.withLock(wakes: false) { $0.queue.ending } }

    // MARK: The sender's side

    var pace: Pace { monitor.withLock(wakes: false) { $0.settings.pace } }
    var runningTime: ClockTime? { owner.element?.currentRunningTime }

    func send(_ frame: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(frame)
            guard let buffer = Self.buffer(of: frame, format.pool) else {
                throw .allocationFailed(.init("a frame", expected: "\(format.pool.info.size) bytes"))
            }
            stamp(buffer.access, frame)
            try enqueue(QueuedFrame(buffer, format), timeout)
        } catch {
            statistics.countRefusal()
            throw error
        }
        statistics.countFrame()
    }

    /// Everything that can refuse a frame before it is looked at. Memory that was handed over goes back then.
    private func admit(_ frame: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) -> (SentFormat, ClockTime) {
        do throws(MediaGraphError) {
            let (isOpen, format, timeout) = monitor.withLock(wakes: false) {
                ($0.queue.isOpen, $0.format, $0.settings.blockTimeout)
            }
            // Nearly every frame is like the one before.
            if isOpen, let format, format.accepts(frame) { return (format, timeout) }
            let new = try SentFormat(frame.pointee)
            guard isOpen else { throw closedError }
            return (new, timeout)
        } catch {
            frame.pointee.release?(frame.pointee.release_context)
            throw error
        }
    }

    /// A buffer around memory that was handed over, where GStreamer's layout allows it; else one with a copy.
    private static func buffer(of frame: UnsafePointer<MGOutgoingFrame>, _ pool: VideoBufferPool) -> Buffer? {
        guard let release = frame.pointee.release, pool.isPackedByDefault else {
            defer { frame.pointee.release?(frame.pointee.release_context) }
            return pool.copy(packed: frame.pointee.data)
        }
        return Buffer(
            wrapping: UnsafeMutableRawBufferPointer(
                start: UnsafeMutableRawPointer(mutating: frame.pointee.data), count: Int(frame.pointee.length)),
            context: frame.pointee.release_context, release: release)
    }

    private func stamp(_ buffer: BufferAccess, _ frame: UnsafePointer<MGOutgoingFrame>) {
        buffer.presentationTimestamp = ClockTime(raw: GstClockTime(frame.pointee.timestamp)) ?? runningTime ?? .zero
        if frame.pointee.rate_numerator > 0 {
            let (seconds, rate) = (UInt64(1_000_000_000), UInt64(frame.pointee.rate_numerator))
            buffer.duration = ClockTime(nanoseconds: seconds * UInt64(frame.pointee.rate_denominator) / rate)
        }
        if frame.pointee.rotation != 0 { Rotation.meta.set(frame.pointee.rotation, on: buffer) }
        buffer.setCaptureTime(wallClockNanoseconds())
    }

    /// Its place in the queue, or what is thrown; with a queue that blocks it waits, within the time-out.
    private func enqueue(_ frame: QueuedFrame, _ timeout: ClockTime) throws(MediaGraphError) {
        let offer = monitor.wait(timeout: Int64(timeout.nanoseconds / 1000)) { state -> SendQueue<QueuedFrame>.Offer? in
            let offer = state.queue.offer(frame)
            if case .full = offer { return nil }
            if !frame.has(state.format) { state.format = frame.format }
            return offer
        }
        switch offer {
        case .accepted: return
        case .dropped(let lost):
            lost.discard()
            statistics.countDrop()
        case .closed:
            frame.discard()
            throw closedError
        case .full, nil:
            frame.discard()
            throw fullError(timeout)
        }
    }

    private var closedError: MediaGraphError {
        .wrongUsage(.init("sending a frame", expected: "a call between startSend and stopSend", actual: "one outside"))
    }

    /// The queue stayed full.
    private func fullError(_ timeout: ClockTime) -> MediaGraphError {
        if let refusal = owner.element.flatMap({ VideoSourceElement.refusal(of: $0) }) {
            return .wrongUsage(
                .init(
                    "sending a frame", expected: "a graph that takes frames", actual: "one that has ended: \(refusal)"))
        }
        return .timeOut(.init("sending a frame", expected: "room in the queue within \(timeout.seconds) s"))
    }

    func wait(until time: ClockTime) -> Bool {
        while true {
            guard monitor.withLock(wakes: false, { $0.queue.isOpen }) else { return false }
            guard pace == .live, let element = owner.element, let now = element.currentRunningTime, now < time else {
                return true
            }
            alarm.wait(for: time, of: element) { !monitor.withLock(wakes: false) { $0.queue.isOpen } }
        }
    }

    /// The stream ends behind what is queued; for the sender only while sending.
    func endOfStream() { monitor.withLock { if $0.queue.isOpen { $0.queue.end(.endOfStream) } } }

    /// The same for whoever sends the element an EOS event: in any state, as with every source.
    func endOfStreamRequested() { monitor.withLock { $0.queue.end(.endOfStream) } }

    /// The graph has refused the stream, and said so on the bus.
    func failed() { monitor.withLock { $0.queue.end(.endOfStream) } }

    /// The error comes on the bus when the frames sent before it have been delivered.
    func fail(_ error: MediaGraphError) {
        let isQueued = monitor.withLock { state in
            guard state.queue.isOpen else { return false }
            state.queue.end(.failure(error))
            return true
        }
        if !isQueued { owner.postError(.processing, "\(owner.name): \(error)") }
    }
}
