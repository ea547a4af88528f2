import CMediaGraphABI
import DequeModule
import GStreamer
import Synchronization

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
        /// How long a sender waits for room.
        var blockTimeout = ClockTime.milliseconds(100)
        /// How long a source's task may take to end.
        var stopTimeout = ClockTime.seconds(1)
        /// What the source has said that it sends; empty: anything.
        var declared: [VideoCapability] = []
    }

    struct State: Sendable {
        var queue = SendQueue<QueuedFrame>()
        /// Tasks that wait for room, in order: they get it before anyone who asks later.
        var waiting = Deque<WaitingSend>()
        var nextTicket: UInt64 = 0
        var timeline = SendTimeline()
        var settings = Settings()
        /// The last sender's, for the next one.
        var format: SentFormat?
        /// What downstream was told.
        var delivered: SentFormat?
        var hasSegment = false
    }

    let statistics = NodeStatistics()
    let monitor = BlockingMonitor(State())
    /// Senders that wait for the clock.
    let alarm = ClockAlarm()
    let owner: WeakElement
    /// What every frame says is to be flipped in it (`Flip`).
    let flip = Atomic<Int32>(0)

    /// Frames may come before PLAYING, when the element's clock and base time don't go together yet.
    private let startsEarly: Bool

    init(owner: WeakElement, startsEarly: Bool = false) {
        self.owner = owner
        self.startsEarly = startsEarly
    }

    /// `nil` without a clock to tell it by.
    var runningTime: ClockTime? {
        guard let element = owner.element, !startsEarly || element.isPlaying else { return nil }
        return element.currentRunningTime
    }

    // MARK: The node's side

    func initialize(_ settings: Settings) {
        statistics.reset()
        monitor.withLock {
            // Tickets are never given twice: time-outs and cancellations of the last cycle may still come.
            let nextTicket = $0.nextTicket
            $0 = State()
            $0.nextTicket = nextTicket
            $0.settings = settings
            $0.queue.initialize(bound: settings.maxFrames, policy: settings.policy)
        }
    }

    func uninitialize() { discard(monitor.withLock { $0.queue.uninitialize() }) }

    /// Before `startSend`.
    func open() {
        monitor.withLock {
            $0.queue.open()
            $0.timeline = SendTimeline()
        }
    }

    /// After `startSend`.
    func startSendReturned() { monitor.withLock { $0.queue.opened() } }

    /// Before `stopSend`: whoever waits is refused. Then waits until what was accepted has left the node, and status off
    /// behind it; but not for a stream that stands still, as when a sink is in PAUSED already and holds a frame.
    func close() {
        let refused = monitor.withLock { state in
            state.queue.close()
            return state.takeWaiting()
        }
        refuse(refused)
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
        let (lost, admitted) = monitor.withLock { state in
            state.hasSegment = false
            let lost = state.queue.flush()
            var admitted: [WaitingSend] = []
            while let send = state.admitWaiting() { admitted.append(send) }
            return (lost, admitted)
        }
        discard(lost)
        for send in admitted { complete(send, nil) }
    }

    func resume() { monitor.withLock { $0.queue.resume() } }

    /// READY→PAUSED: a new stream, whose pad has forgotten the last one's caps, segment and status.
    func streamBegins() {
        monitor.withLock { state in
            state.delivered = nil
            state.hasSegment = false
            state.queue.streamBegins()
        }
    }

    private func discard(_ lost: [QueuedFrame]) { for frame in lost { lose(frame) } }

    /// A frame that nobody gets, counted.
    func lose(_ frame: QueuedFrame) {
        frame.discard()
        statistics.countDrop()
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
            var admitted: WaitingSend?
            let step = monitor.wait { state -> Step? in
                switch state.queue.next() {
                case .frame(let frame, let isFirst):
                    if !state.waiting.isEmpty { admitted = state.admitWaiting() }
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
            if let admitted { complete(admitted, nil) }
            // `drained` is a result, so that whoever waits for it is woken; there is nothing else to do.
            switch step {
            case .drained, nil: continue
            case let step?: return step
            }
        }
    }

    /// How the stream ends, when `next` says that it does.
    var ending: SendQueue<QueuedFrame>.Ending? { monitor.withLock(wakes: false) { $0.queue.ending } }
}
