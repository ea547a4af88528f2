import CMediaGraphABI
import DequeModule
import GStreamer
import MediaGraphCore
import Synchronization

/// Lets what a source sends into the graph between `startSend` and `stopSend`, and refuses it with a typed error before
/// and after: the one lock around a `SendQueue`, and what happens to a payload outside of it.
///
/// Senders hold it, so it outlives the element. A payload is copied outside the lock; the check of the gate and the place in
/// the queue are one step, so nothing gets in once `close` has begun.
///
/// `@unchecked Sendable`: as its superclass; the state is behind the monitor's lock.
final class SendGate<Payload: SentPayload>: SenderControl, @unchecked Sendable {
    typealias Queue = SendQueue<Payload>

    struct Settings: Sendable {
        var pace = Pace.live
        var policy = OverflowPolicy.dropOldest
        /// By the payload's weight.
        var bound = 2
        /// How long a sender waits for room; `nil`: as long as it takes.
        var blockTimeout: ClockTime? = .milliseconds(100)
        /// How long a source's task may take to end.
        var stopTimeout = ClockTime.seconds(1)
        var rules = Payload.anything
    }

    struct State: Sendable {
        var queue = Queue()
        /// Tasks that wait for room, in order: they get it before anyone who asks later.
        var waiting = Deque<WaitingSend<Payload>>()
        /// Of these, those that wait no more and haven't been told.
        var settled: [SettledSend<Payload>] = []
        var nextTicket: UInt64 = 0
        /// A timer looks whether the stream has ended while tasks wait.
        var isWatched = false
        var settings = Settings()
    }

    let monitor = BlockingMonitor(State())
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
    override var stopTimeout: ClockTime { monitor.withLock(wakes: false) { $0.settings.stopTimeout } }
    override var level: Int { monitor.withLock(wakes: false) { $0.queue.level } }

    override func endOfStream() { end(.endOfStream) }

    /// The error comes on the bus when what was sent before it has been delivered.
    override func fail(_ error: MediaGraphError) {
        if !end(.failure(error)) { owner.postError(.processing, "\(owner.name): \(error)") }
    }

    override func cancel(_ ticket: UInt64) { giveUp(ticket) }

    // MARK: The node's side

    func initialize(_ settings: Settings) {
        statistics.reset()
        monitor.withLock {
            // Tickets are never given twice: time-outs and cancellations of the last cycle may still come.
            let nextTicket = $0.nextTicket
            $0 = State()
            $0.nextTicket = nextTicket
            $0.settings = settings
            $0.queue.initialize(bound: settings.bound, policy: settings.policy, pace: settings.pace)
        }
    }

    func uninitialize() { discard(monitor.withLock { $0.queue.uninitialize() }) }

    /// Before `startSend`.
    func open() {
        monitor.withLock { $0.queue.open() }
    }

    /// After `startSend`.
    func startSendReturned() { monitor.withLock { $0.queue.opened() } }

    /// Call it before `stopSend`. Waiting sends fail, but aren't counted as refused. Then waits until all accepted payloads and
    /// status off have left the node. Gives up if the stream stalls, for example at a sink that holds a frame in PAUSED.
    func close() {
        let refused = monitor.withLock { state in
            state.queue.close()
            return state.takeWaiting()
        }
        refuse(refused, counts: false)
        alarm.cancel()
        var last: (delivered: UInt64, crossings: UInt64)?
        for _ in 0..<20 {
            if monitor.wait(timeout: 100_000, { $0.queue.isDrained ? true : nil }) != nil { return }
            // A thread that is on its way here only waits for a processor.
            let (isDelivering, delivered) = monitor.withLock { ($0.queue.isDelivering, $0.queue.deliveredCount) }
            let now = (delivered: delivered, crossings: crossings.load(ordering: .relaxed))
            if isDelivering || now.crossings % 2 == 1, let last, last == now { break }
            last = now
        }
        monitor.withLock { $0.queue.abandonDrain() }
    }

    /// Takes over the graph's latency. With `pace=live` the queue may hold that much media beyond its bound; with `pace=fast`
    /// the latency is ignored, and senders wait.
    func latencyDecided(_ latency: ClockTime) {
        monitor.withLock { state in
            guard state.settings.pace == .live else { return }
            state.queue.latency = latency
            if !padHasEnded { state.admitWaiting() }
        }
        tellSettled()
    }

    func downstreamReconfigured() {
        monitor.withLock { $0.queue.reconfigure() }
        wakeStream()
    }

    /// A flush, or the end of data flow: what is queued is lost, and counted.
    func flush() {
        let lost = monitor.withLock { state in
            let lost = state.queue.flush()
            state.admitWaiting()
            return lost
        }
        wakeStream()
        discard(lost)
        tellSettled()
    }

    func resume() { monitor.withLock { $0.queue.resume() } }

    /// READY→PAUSED: a new stream, whose pad has forgotten the last one's caps, segment and status.
    func streamBegins() {
        monitor.withLock { $0.queue.streamBegins() }
    }

    private func discard(_ lost: [Payload]) { for payload in lost { lose(payload) } }

    /// A payload that nobody gets, counted.
    func lose(_ payload: Payload) {
        payload.discard()
        statistics.countDrop()
    }

    /// A streaming thread that waits for the clock has to look again.
    @inline(__always)
    func wakeStream() { if Payload.isClocked { alarm.cancel() } }

    // MARK: The streaming thread

    /// Call it when the streaming thread goes downstream, and when the thread returns.
    @inline(__always)
    func streamingThreadMoved(isOutward: Bool) {
        let count = crossings.load(ordering: .relaxed)
        if (count % 2 == 0) == isOutward { crossings.store(count &+ 1, ordering: .relaxed) }
    }

    /// Waits for something to do.
    func next() -> Queue.Step {
        while true {
            // A flag rather than their list, which would be counted a reference on for each frame.
            var areSettled = false
            let step = monitor.wait { $0.next(&areSettled) }
            if areSettled { tellSettled() }
            // `drained` is a result, so that whoever waits for it is woken; there is nothing else to do.
            switch step {
            case .drained, nil: continue
            case let step?: return step
            }
        }
    }

    /// The same up to a running time; `nil` then. A payload must be clocked.
    func next(by deadline: ClockTime) -> Queue.Step? {
        while true {
            // Before the look at the queue: what comes between the two is in time.
            let now = owner.element?.currentRunningTime
            var areSettled = false
            let step = monitor.withLock { $0.next(&areSettled) }
            if areSettled { tellSettled() }
            switch step {
            case .drained: continue
            case let step?: return step
            case nil: break
            }
            guard let now, now < deadline, let element = owner.element else { return nil }
            alarm.wait(for: deadline, of: element) { monitor.withLock(wakes: false) { $0.queue.hasNext } }
        }
    }

    /// Waits for a running time at which something that was taken is due, while what is sent keeps the clock's pace.
    func waitInPace(until time: ClockTime) {
        while let element = owner.element, let now = element.currentRunningTime, now < time {
            let keepsPace = { [monitor] in
                monitor.withLock(wakes: false) { $0.settings.pace == .live && $0.queue.keepsPace }
            }
            guard keepsPace() else { return }
            alarm.wait(for: time, of: element) { !keepsPace() }
        }
    }

    /// Waits while frames would be refused because sending hasn't begun, or has been stopped. False when it never will, or by
    /// `interrupted`, which is asked at each `wake`.
    func waitUntilOpen(_ interrupted: () -> Bool) -> Bool {
        wait { state -> Bool? in
            if padHasEnded { return false }
            if state.queue.isOpen { return true }
            return interrupted() || state.queue.hasEnded || state.queue.phase == .uninitialized ? false : nil
        } ?? false
    }

    /// The source pad has sent EOS, because the source ended the stream or downstream refused a buffer. No buffer is accepted until
    /// a flush or a new stream.
    @inline(__always)
    var padHasEnded: Bool { pad?.hasEnded == true }

    /// Why no buffer will be taken any more, where that is so.
    var refusal: FlowReturn? { pad?.refusal }

    /// How often waiting senders check the pad's EOS flag. Nothing wakes them: `GstBaseSrc` doesn't tell its subclass, and a pad
    /// probe costs 650 instructions for each buffer.
    static var pollInterval: ClockTime { .milliseconds(50) }

    /// Waits until `body`, which runs under the lock and checks `padHasEnded`, gives a value; `nil` when `timeout` has run out.
    /// Without a timeout it waits as long as it takes.
    @inline(__always)
    func wait<Result>(upTo timeout: ClockTime? = nil, _ body: (inout State) -> Result?) -> Result? {
        var left = timeout?.nanoseconds ?? .max
        while true {
            let slice = min(left, Self.pollInterval.nanoseconds)
            if let result = monitor.wait(timeout: Int64(slice / 1000), body) { return result }
            if timeout != nil { left -= slice }
            if left == 0 { return nil }
        }
    }

    func wake() { monitor.withLock { _ in } }

    /// Nothing will be taken any more.
    var hasEnded: Bool { padHasEnded || monitor.withLock(wakes: false) { $0.queue.hasEnded } }

    /// How the stream ends, when `next` says that it does.
    var ending: Queue.Ending? { monitor.withLock(wakes: false) { $0.queue.ending } }
}

extension SendGate.State {
    /// What the streaming thread does next; `nil`: wait. Sets `areSettled` when waiting sends got room: the caller must then call
    /// `tellSettled`.
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
