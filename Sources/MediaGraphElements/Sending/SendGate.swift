import CMediaGraphABI
import DequeModule
import GStreamer
import MediaGraphCore
import Synchronization

/// The gate between a source's senders and the node's streaming thread. Accepts payloads between `startSend` and
/// `stopSend`, and refuses them with a typed error before and after.
///
/// The gate holds the only lock around a `SendQueue`, and does everything that must happen outside that lock. Senders
/// retain the gate, so it outlives the element. A payload is copied before the lock is taken. The gate checks whether
/// it is open and queues the payload in one critical section, so no payload gets in once `close` has begun.
///
/// `@unchecked Sendable`: like its superclass; the monitor's lock guards the state.
final class SendGate<Payload: SentPayload>: SenderControl, @unchecked Sendable {
    typealias Queue = SendQueue<Payload>

    struct Settings: Sendable {
        var pace = Pace.live
        var policy = OverflowPolicy.dropOldest
        /// The queue's capacity, in units of the payload's `weight`.
        var bound = 2
        /// How long a sender waits for room; `nil` for no limit. Read for each payload.
        var blockTimeoutNanoseconds: UInt64? = 100_000_000
        /// How long the node waits for a source's task to end.
        var stopTimeout = Duration.seconds(1)
        var rules = Payload.initialRules
    }

    struct State: Sendable {
        var queue = Queue()
        /// Sends of tasks that wait for room, oldest first. They get room before any later `sendLater`.
        var waiting = Deque<WaitingSend<Payload>>()
        /// Sends that no longer wait, but whose tasks haven't been notified yet.
        var settled: [SettledSend<Payload>] = []
        var nextTicket: UInt64 = 0
        /// Whether a timer is polling for the end of the stream, as it does while tasks wait.
        var isWatched = false
        var settings = Settings()
    }

    let monitor = BlockingMonitor(State())
    /// Whether downstream has asked the source to stop sending until further notice.
    let isMuted = Atomic<Bool>(false)
    /// The source pad: its EOS flag shows that the stream has ended. `nil` if the element has none.
    private let pad: Pad?
    /// Counts how often the streaming thread leaves the node and returns; odd while the thread is downstream. The queue
    /// can't tell: the thread also carries buffers that never were in the queue, such as silence.
    private let crossings = Atomic<UInt64>(0)
    let marks: Payload.Marks

    init(owner: WeakElement, marks: Payload.Marks, startsEarly: Bool = false) {
        self.marks = marks
        pad = owner.element?.staticPad("src")
        super.init(owner: owner, startsEarly: startsEarly)
    }

    override var isOpen: Bool { !padHasEnded && monitor.withLock(wakes: false) { $0.queue.isOpen } }
    override var pace: Pace { monitor.withLock(wakes: false) { $0.settings.pace } }
    override var stopTimeout: Duration { monitor.withLock(wakes: false) { $0.settings.stopTimeout } }
    override var level: Int { monitor.withLock(wakes: false) { $0.queue.level } }

    override func endOfStream() { end(.endOfStream) }

    /// Posts the error on the bus after the payloads that were sent before it have been delivered.
    override func fail(_ error: MediaGraphError) {
        if !end(.failure(error)) { owner.postError(.processing, "\(owner.name): \(error)") }
    }

    override func cancel(_ ticket: UInt64) { cancelSend(ticket) }

    // MARK: The node's side

    func initialize(_ settings: Settings) {
        statistics.reset()
        monitor.withLock {
            // Tickets are never reused: time-outs and cancellations of the last cycle may still arrive.
            let nextTicket = $0.nextTicket
            $0 = State()
            $0.nextTicket = nextTicket
            $0.settings = settings
            $0.queue.initialize(bound: settings.bound, policy: settings.policy, pace: settings.pace)
        }
    }

    func uninitialize() { discard(monitor.withLock { $0.queue.uninitialize() }) }

    /// Starts accepting payloads. Call it before `startSend`, so that the source can send from inside that call. What
    /// hasn't left since `close` goes out as part of the new cycle, after status off.
    func open() {
        monitor.withLock { state in
            if !state.queue.isDrained { state.queue.abandonDrain() }
            state.queue.open()
        }
    }

    /// Lets senders block. Call it after `startSend` has returned.
    func startSendReturned() { monitor.withLock { $0.queue.opened() } }

    /// Stops accepting payloads, without waiting. Call it immediately before `stopSend`, and `drain` afterwards.
    ///
    /// Waiting sends fail, but aren't counted as refused. With `keepsQueue`, the accepted payloads stay in the queue for
    /// the next cycle, and only status off still goes out. `isRequested` says whether a receiver asked the source to stop.
    func close(keepsQueue: Bool = false, isRequested: Bool = false) {
        let refused = monitor.withLock { state in
            state.queue.close(keepsFrames: keepsQueue, isRequested: isRequested)
            return state.takeWaiting()
        }
        refuse(refused, counts: false)
        alarm.cancel()
    }

    /// How `drain` has ended.
    enum Drainage: Equatable {
        /// What had to go out has gone out.
        case complete
        /// The streaming thread can't move: a sink that no longer plays holds a buffer, or the stream has ended.
        case held
        /// The streaming thread is downstream and hasn't moved for a while.
        case stalled
    }

    /// Blocks until the payloads and the status off that `close` still lets go out have left the node, or can't leave
    /// it. The remaining payloads stay in the queue. `keepsQueue` means the same as for `close`; it may be set here
    /// only, if the sinks stopped after `close`.
    func drain(keepsQueue: Bool = false) -> Drainage {
        if keepsQueue {
            monitor.withLock { state in
                if !state.queue.isDrained { state.queue.close(keepsFrames: true) }
            }
        }
        let interval = monitor.withLock { $0.queue.keepsFrames } ? 1 : 100
        var last: (delivered: UInt64, crossings: UInt64)?
        var unchangedChecks = 0
        for milliseconds in stride(from: 0, to: 2000, by: interval) {
            if monitor.withLock({ $0.queue.isDrained }) { return .complete }
            // Looked at again and again, because nothing tells the gate when a sink begins to hold a buffer.
            if isHeld {
                monitor.withLock { $0.queue.abandonDrain() }
                return .held
            }
            if milliseconds > 0, milliseconds % 100 == 0 {
                // The stream has stalled only if the streaming thread is downstream and doesn't move for half a second. A
                // thread that is inside the node may just be waiting for a processor.
                let (isDelivering, delivered) = monitor.withLock { ($0.queue.isDelivering, $0.queue.deliveredCount) }
                let now = (delivered: delivered, crossings: crossings.load(ordering: .relaxed))
                let isUnchanged = (isDelivering || now.crossings % 2 == 1) && last.map { $0 == now } == true
                unchangedChecks = isUnchanged ? unchangedChecks + 1 : 0
                if unchangedChecks == 5 { break }
                last = now
            }
            _ = monitor.wait(timeout: .milliseconds(interval)) { $0.queue.isDrained ? true : nil }
        }
        monitor.withLock { $0.queue.abandonDrain() }
        return .stalled
    }

    /// Whether the streaming thread can't come back for what has to go out.
    private var isHeld: Bool {
        guard let pad else { return false }
        if pad.hasEnded || pad.isFlushing { return true }
        let isDownstream =
            monitor.withLock { $0.queue.keepsFrames && $0.queue.isOffHeld }
            || crossings.load(ordering: .relaxed) % 2 == 1
        return isDownstream && pad.leadsToHeldBuffer
    }

    /// Called when the graph's latency has been decided. With `pace=live` the queue may hold that much media beyond its
    /// bound; with `pace=fast` the latency is ignored, and senders wait.
    func latencyDecided(_ latency: Duration) {
        monitor.withLock { state in
            guard state.settings.pace == .live else { return }
            state.queue.latencyNanoseconds = latency.nanoseconds
            if !padHasEnded { state.admitWaiting() }
        }
        notifySettled()
    }

    func downstreamReconfigured() {
        monitor.withLock { $0.queue.reconfigure() }
        wakeStream()
    }

    /// Drops the queued payloads and counts them as dropped. Called when a flush begins or data flow ends.
    func flush() {
        let lost = monitor.withLock { state in
            let lost = state.queue.flush()
            state.admitWaiting()
            return lost
        }
        wakeStream()
        discard(lost)
        notifySettled()
    }

    func resume() { monitor.withLock { $0.queue.resume() } }

    /// Begins a new stream (READY→PAUSED). The source pad no longer has the previous stream's caps, segment and status.
    func streamBegins() {
        monitor.withLock { $0.queue.streamBegins() }
    }

    private func discard(_ lost: [Payload]) { for payload in lost { drop(payload) } }

    /// Discards a payload that was accepted but isn't delivered, and counts it as dropped.
    func drop(_ payload: Payload) {
        payload.discard()
        statistics.countDrop()
    }

    /// Wakes a streaming thread that waits for the clock, so that it checks the queue again.
    @inline(__always)
    func wakeStream() { if Payload.isClocked { alarm.cancel() } }

    // MARK: The streaming thread

    /// Records that the streaming thread leaves the node to go downstream, or returns from there.
    @inline(__always)
    func streamingThreadMoved(isOutward: Bool) {
        let count = crossings.load(ordering: .relaxed)
        if (count % 2 == 0) == isOutward { crossings.store(count &+ 1, ordering: .relaxed) }
    }

    /// Waits for the streaming thread's next step.
    func next() -> Queue.Step {
        while true {
            // A flag instead of the list of settled sends: the list would cost a retain and a release for each frame.
            var areSettled = false
            let step = monitor.wait { $0.next(&areSettled) }
            if areSettled { notifySettled() }
            // `drained` is a result only so that the monitor wakes `close`; the streaming thread has nothing to do.
            switch step {
            case .drained, nil: continue
            case let step?: return step
            }
        }
    }

    /// Waits for the streaming thread's next step, at most until a running time; returns `nil` at that time. Only for
    /// payloads that are clocked.
    func next(by deadline: ClockTime) -> Queue.Step? {
        while true {
            // Read the clock before the queue: a payload that arrives between the two is still in time.
            let now = owner.element?.currentRunningTime
            var areSettled = false
            let step = monitor.withLock { $0.next(&areSettled) }
            if areSettled { notifySettled() }
            switch step {
            case .drained: continue
            case let step?: return step
            case nil: break
            }
            guard let now, now < deadline, let element = owner.element else { return nil }
            alarm.wait(for: deadline, of: element) { monitor.withLock(wakes: false) { $0.queue.hasNext } }
        }
    }

    /// Waits until a running time, at which a buffer taken from the queue is due. Returns earlier if buffers no longer
    /// go out at the clock's pace.
    func waitInPace(until time: ClockTime) {
        while let element = owner.element, let now = element.currentRunningTime, now < time {
            let keepsPace = { [monitor] in
                monitor.withLock(wakes: false) { $0.settings.pace == .live && $0.queue.keepsPace }
            }
            guard keepsPace() else { return }
            alarm.wait(for: time, of: element) { !keepsPace() }
        }
    }

    /// Waits until the gate is open. Returns false if the stream has ended or the node is uninitialized, or if
    /// `interrupted`, which the gate calls at each `wake`, returns true.
    func waitUntilOpen(_ interrupted: () -> Bool) -> Bool {
        wait { state -> Bool? in
            if padHasEnded { return false }
            if state.queue.isOpen { return true }
            return interrupted() || state.queue.hasEnded || state.queue.phase == .uninitialized ? false : nil
        } ?? false
    }

    /// Whether the source pad has sent EOS, because the source ended the stream or downstream refused a buffer. The pad
    /// then takes no buffer until a flush or a new stream.
    @inline(__always)
    var padHasEnded: Bool { pad?.hasEnded == true }

    /// Why downstream takes no more buffers; `nil` while downstream takes them.
    var refusal: FlowReturn? { pad?.refusal }

    /// How often waiting senders check the pad's EOS flag. Polling is needed because nothing wakes the senders:
    /// `GstBaseSrc` doesn't notify its subclass, and a pad probe costs 650 instructions for each buffer.
    static var pollIntervalNanoseconds: UInt64 { 50_000_000 }

    /// Waits until `body` returns a value, at most for the timeout; `nil` if the time has run out. Without a timeout
    /// there is no limit. `body` runs under the lock and must check `padHasEnded`.
    @inline(__always)
    func wait<Result>(
        upToNanoseconds timeout: UInt64? = nil, _ body: (inout sending State) -> sending Result?
    ) -> sending Result? {
        var left = timeout ?? .max
        while true {
            let slice = min(left, Self.pollIntervalNanoseconds)
            if let result = monitor.wait(timeoutNanoseconds: slice, body) { return result }
            if timeout != nil { left -= slice }
            if left == 0 { return nil }
        }
    }

    /// Makes waiting senders check their conditions again.
    func wake() { monitor.withLock { _ in } }

    /// Whether the stream has ended, so that the gate accepts no more payloads.
    var hasEnded: Bool { padHasEnded || monitor.withLock(wakes: false) { $0.queue.hasEnded } }

    /// How the stream ends, once `next` has returned `end`.
    var ending: Queue.Ending? { monitor.withLock(wakes: false) { $0.queue.ending } }
}

extension SendGate.State {
    /// Returns what the streaming thread does next; `nil` if it must wait. Sets `areSettled` if waiting sends got room:
    /// the caller must then call `notifySettled`.
    @inline(__always)
    mutating func next(_ areSettled: inout Bool) -> SendQueue<Payload>.Step? {
        let step = queue.next()
        guard !waiting.isEmpty else { return step }
        switch step {
        case .frame, .announced:
            admitWaiting()
            areSettled = true
        default: break
        }
        return step
    }
}
