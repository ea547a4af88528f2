import GStreamer
import MediaGraphCore

/// What a queue is filled by.
protocol Queueable: TimedMedia {
    /// Whether the bound is nanoseconds of media, rather than a number of frames.
    static var isBoundByTime: Bool { get }
    /// 1 for what is counted, or how many nanoseconds it lasts.
    var weight: Int { get }
}

/// What lies between senders and a source's streaming thread: the gate and the queue in one state machine.
///
/// Pure: no lock, no thread, no clock. Whoever owns it locks, waits where it says so, and lets go of what it gives back.
/// Frames come out in the order in which they went in. What else the stream is told has its place among them: status on
/// before the first frame of each cycle, off behind its last, the end behind everything.
struct SendQueue<Frame: Queueable> {
    /// Where the node is in its lifecycle.
    enum Phase: Sendable {
        case uninitialized, initialized
        /// Inside `startSend`: frames are accepted and nobody waits, for the state change would wait with them.
        case starting
        case sending
        case stopped
    }

    /// How the stream ends, behind what is queued.
    enum Ending: Sendable {
        case endOfStream
        case failure(MediaGraphError)
    }

    enum Room: Sendable {
        /// `put` takes a frame, though it may drop one for it.
        case free
        /// Wait.
        case full
        /// Outside `startSend`…`stopSend`, or behind the end.
        case closed
    }

    /// What the streaming thread does next.
    enum Step {
        /// Deliver; `isFirst` of its cycle: status on goes ahead of it.
        case frame(Frame, isFirst: Bool)
        /// Status off.
        case off
        /// Downstream wants to negotiate anew.
        case reconfigure
        /// Nothing: whoever waits for the queue to run dry may go on.
        case drained
        /// The stream ends, as `ending` says.
        case end
        /// Stop at once.
        case flush
    }

    private enum Drain {
        case none, wanted, done
        /// Given up: what is left waits for the next cycle.
        case abandoned
    }

    private(set) var phase = Phase.uninitialized
    private(set) var ending: Ending?
    /// Downstream takes nothing any more, until a flush.
    private var isRefused = false
    private var queue = BoundedQueue<Frame, Never>(bound: 2, policy: .block)
    /// How much is queued, by weight.
    private(set) var level = 0
    private var bound = 2
    /// How long the graph makes what goes out wait for its sinks: so much may be queued beyond the bound.
    var latency = ClockTime.zero
    private var isOn = false
    private var isFlushing = false
    private var needsReconfigure = false
    private var drain = Drain.none
    /// An off that came too late for its place: before anything else.
    private var isOffOverdue = false
    /// The streaming thread is downstream with something.
    private(set) var isDelivering = false
    private(set) var delivered: UInt64 = 0

    // MARK: The lifecycle

    mutating func initialize(bound: Int, policy: OverflowPolicy) {
        self = SendQueue()
        self.bound = bound
        // One that drops counts frames; for the others it is only what room is made for.
        queue = BoundedQueue(bound: min(bound, 1000), policy: policy)
        phase = .initialized
    }

    mutating func open() {
        phase = .starting
        drain = .none
    }

    mutating func opened() { if phase == .starting { phase = .sending } }

    /// Nothing gets in any more. `isDrained` says when everything that did is out, and status off behind it.
    mutating func close() {
        phase = .stopped
        drain = isOn || queue.frameCount > 0 ? .wanted : .done
    }

    var isDrained: Bool { drain == .done }

    /// The stream stands still, so the queue can't run dry: what is in it stays for the next cycle, behind an off.
    mutating func abandonDrain() {
        isOffOverdue = isOn
        drain = .abandoned
    }

    /// The frames that are lost with it.
    mutating func uninitialize() -> [Frame] {
        phase = .uninitialized
        return takeAll()
    }

    var isOpen: Bool { (phase == .starting || phase == .sending) && ending == nil && !isRefused }

    /// The end is asked for, or downstream has made one.
    var hasEnded: Bool { ending != nil || isRefused }

    // MARK: Senders

    /// Whether senders wait while the queue is full; with the policy `refuse` their sends fail instead.
    var waits: Bool { queue.policy != .refuse }

    /// Whether a frame with this timestamp gets in now. `suspends`: a task sends it, which may wait at any time.
    func room(for timestamp: ClockTime?, suspends: Bool) -> Room {
        guard isOpen else { return .closed }
        guard level >= bound, isFull(for: timestamp) else { return .free }
        switch queue.policy {
        // While the state change runs no thread may wait, and a source that blocks loses nothing.
        case .block: return suspends || phase == .sending ? .full : .free
        case .refuse: return .full
        case .dropOldest, .dropNewest: return .free
        }
    }

    /// Takes a frame, where there is room. What is lost for it: the oldest frame, or this one.
    @inline(__always)
    mutating func put(_ frame: Frame) -> Frame? {
        let isFull = level >= bound && isFull(for: frame.timestamp)
        level += frame.weight
        if isFull, case .dropped(let lost) = overflow(frame) { return lost }
        if !isFull { queue.force(frame) }
        return nil
    }

    /// With the bound reached: whether more waits than the graph's latency accounts for.
    @inline(never)
    private func isFull(for timestamp: ClockTime?) -> Bool {
        guard latency > .zero else { return true }
        return Frame.isBoundByTime
            ? level - bound >= Int(clamping: latency.nanoseconds) || queue.isMemoryFull
            : queue.isFull(for: timestamp, bound: bound, latency: latency)
    }

    /// What a full queue does is for its policy to say; where it neither drops nor may wait, it takes more than its bound.
    @inline(never)
    private mutating func overflow(_ frame: Frame) -> BoundedQueue<Frame, Never>.Offer {
        let offer = queue.offer(frame)
        switch offer {
        case .accepted: break
        case .dropped(let lost): level -= lost.weight
        case .full: queue.force(frame)
        }
        return offer
    }

    /// The first end counts.
    mutating func end(_ ending: Ending) { if self.ending == nil { self.ending = ending } }

    // MARK: Downstream

    /// Nothing gets in any more, and nothing follows what is queued: downstream has ended the stream.
    mutating func refuse() { isRefused = true }

    mutating func reconfigure() { needsReconfigure = true }

    /// Until `resume` the streaming thread is told to stop. The frames that are lost by it.
    mutating func flush() -> [Frame] {
        isFlushing = true
        if drain == .wanted { drain = .done }
        return takeAll()
    }

    mutating func resume() {
        isFlushing = false
        isRefused = false
    }

    /// A stream that has been told nothing yet; its predecessor's off would come too late.
    mutating func streamBegins() {
        isFlushing = false
        isRefused = false
        ending = nil
        isOn = false
        isOffOverdue = false
        isDelivering = false
    }

    private mutating func takeAll() -> [Frame] {
        var lost: [Frame] = []
        queue.removeFrames { lost.append($0) }
        level = 0
        return lost
    }

    // MARK: The streaming thread

    /// What to do next; `nil`: wait.
    mutating func next() -> Step? {
        isDelivering = false
        if isFlushing { return .flush }
        if isOffOverdue { return switchOff() }
        if needsReconfigure {
            needsReconfigure = false
            return .reconfigure
        }
        if drain == .abandoned { return nil }
        if case .frame(let frame) = queue.take() {
            isDelivering = true
            delivered += 1
            level -= frame.weight
            defer { isOn = true }
            return .frame(frame, isFirst: !isOn)
        }
        if isOn, phase == .stopped || ending != nil { return switchOff() }
        if drain == .wanted {
            drain = .done
            return .drained
        }
        return ending == nil ? nil : .end
    }

    /// Whether `next` has something to say.
    var hasNext: Bool {
        if isFlushing || isOffOverdue || needsReconfigure { return true }
        if drain == .abandoned { return false }
        return queue.frameCount > 0 || drain == .wanted || ending != nil || isOn && phase == .stopped
    }

    /// Whether what is queued goes out at the clock's pace: not behind `close`, when everybody waits for it.
    var keepsPace: Bool { !isFlushing && (phase == .starting || phase == .sending) }

    private mutating func switchOff() -> Step {
        isOn = false
        isOffOverdue = false
        isDelivering = true
        return .off
    }
}

extension SendQueue: Sendable where Frame: Sendable {}
