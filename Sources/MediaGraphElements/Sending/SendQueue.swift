import GStreamer
import MediaGraphCore

/// What a queue is filled by.
protocol Queueable: TimedMedia {
    /// What it is, the same object for all that are alike.
    associatedtype Format: AnyObject
    associatedtype Timeline: SendTimeline where Timeline.Payload == Self
    /// Whether the bound is nanoseconds of media, rather than a number of frames.
    static var isBoundByTime: Bool { get }
    /// 1 for what is counted, or how many nanoseconds it lasts.
    var weight: Int { get }
    var format: Format { get }
    func has(_ format: Format?) -> Bool
}

/// When payloads are shown. Begins anew with each `startSend`. Pure.
protocol SendTimeline: Sendable {
    associatedtype Payload
    init()
    /// Stamps a payload; false, and nothing is counted, when it comes too soon. In the order in which they get in.
    mutating func stamp(_ payload: Payload, _ time: SendTime, _ pace: Pace) -> Bool
    /// Stamps one that came too soon and has waited for its place since.
    mutating func force(_ payload: Payload, _ time: SendTime)
}

/// A payload's own timestamp, or when it came.
enum SendTime: Sendable {
    case given(ClockTime)
    case arrived(ClockTime)

    var clockTime: ClockTime {
        switch self {
        case .given(let time), .arrived(let time): time
        }
    }

    @inline(__always)
    init(_ raw: UInt64, arrival: () -> ClockTime?) {
        if raw != .max { self = .given(ClockTime(nanoseconds: raw)) } else { self = .arrived(arrival() ?? .zero) }
    }
}

/// What lies between senders and a source's streaming thread, as one state machine: when frames get in, when they are shown,
/// and what goes downstream.
///
/// Pure: no lock, no thread, no clock. Its owner locks, waits where it says so, and lets go of what it gives back.
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

    /// What became of a frame that was offered.
    enum Offer {
        case accepted
        /// Lost: this frame, or the oldest.
        case dropped(Frame)
        /// No room: the sender waits, or is refused if the policy is `refuse`.
        case full
        /// Outside `startSend`…`stopSend`, or behind the end.
        case closed
        /// Faster than its source has declared.
        case tooFrequent
    }

    /// What the streaming thread does next.
    enum Step {
        /// Deliver a frame like the one before.
        case frame(Frame)
        /// Deliver it behind something new: `caps`, `segment` and status `on`, in this order.
        case announced(Frame, caps: Bool, segment: Bool, on: Bool)
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
    /// Downstream refused the caps; nothing is accepted until a flush or a new stream.
    private var isRefused = false
    private var queue = BoundedQueue<Frame, Never>(bound: 2, policy: .block)
    /// How much is queued, by weight.
    private(set) var level = 0
    private var bound = 2
    private var pace = Pace.live
    private var timeline = Frame.Timeline()
    /// The format of the last accepted frame; the next one usually has the same.
    var format: Frame.Format?
    /// The format of the last caps sent downstream.
    private(set) var announcedFormat: Frame.Format?
    private var hasSegment = false
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
    private(set) var deliveredCount: UInt64 = 0

    // MARK: The lifecycle

    mutating func initialize(bound: Int, policy: OverflowPolicy, pace: Pace = .live) {
        self = SendQueue()
        (self.bound, self.pace) = (bound, pace)
        // One that drops counts frames; for the others it is only what room is made for.
        queue = BoundedQueue(bound: min(bound, 1000), policy: policy)
        phase = .initialized
    }

    mutating func open() {
        phase = .starting
        drain = .none
        timeline = Frame.Timeline()
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

    /// Takes a frame and stamps it, where there is room. `suspends`: the sender is a task, which may wait in any phase. `hasWaited`:
    /// the frame waited for room; without a timestamp of its own it is then never too frequent.
    @inline(__always)
    mutating func offer(_ frame: Frame, _ time: SendTime, suspends: Bool, hasWaited: Bool = false) -> Offer {
        guard isOpen else { return .closed }
        let isBounded = level >= bound
        if isBounded, refuses(suspends), isFull(for: time.clockTime) { return .full }
        if !timeline.stamp(frame, time, pace) {
            guard hasWaited, case .arrived = time else { return .tooFrequent }
            timeline.force(frame, time)
        }
        if !frame.has(format) { format = frame.format }
        // By the timestamp that it was given: it may be ahead of the time at which it came.
        let isFull = isBounded && isFull(for: frame.timestamp)
        level += frame.weight
        if isFull { return overflow(frame) }
        queue.force(frame)
        return .accepted
    }

    /// Whether a full queue takes nothing, so that its sender waits or fails.
    private func refuses(_ suspends: Bool) -> Bool {
        switch queue.policy {
        // While the state change runs no thread may wait, and a source that blocks loses nothing.
        case .block: suspends || phase == .sending
        case .refuse: true
        case .dropOldest, .dropNewest: false
        }
    }

    /// Called when the bound is reached. Frames that wait only because of the graph's latency don't count.
    @inline(never)
    private func isFull(for timestamp: ClockTime?) -> Bool {
        guard latency > .zero else { return true }
        return Frame.isBoundByTime
            ? level - bound >= Int(clamping: latency.nanoseconds) || queue.isMemoryFull
            : queue.isFull(for: timestamp, bound: bound, latency: latency)
    }

    /// Drops as the policy says; where it neither drops nor may wait, the queue takes more than its bound.
    @inline(never)
    private mutating func overflow(_ frame: Frame) -> Offer {
        switch queue.offer(frame) {
        case .accepted: return .accepted
        case .dropped(let lost):
            level -= lost.weight
            return .dropped(lost)
        case .full:
            queue.force(frame)
            return .accepted
        }
    }

    /// The first end counts.
    mutating func end(_ ending: Ending) { if self.ending == nil { self.ending = ending } }

    // MARK: Downstream

    /// Downstream refused the caps: nothing gets in any more, and nothing follows what is queued.
    mutating func refuse() { isRefused = true }

    mutating func reconfigure() { needsReconfigure = true }

    /// Until `resume` the streaming thread is told to stop. The frames that are lost by it.
    mutating func flush() -> [Frame] {
        isFlushing = true
        hasSegment = false
        if drain == .wanted { drain = .done }
        return takeAll()
    }

    mutating func resume() {
        isFlushing = false
        isRefused = false
    }

    /// A stream that has been told nothing yet: no caps, no segment; its predecessor's off would come too late.
    mutating func streamBegins() {
        announcedFormat = nil
        hasSegment = false
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
            deliveredCount += 1
            level -= frame.weight
            return isOn && frame.has(announcedFormat) ? .frame(frame) : announced(frame)
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

    private mutating func announced(_ frame: Frame) -> Step {
        defer { (announcedFormat, hasSegment, isOn) = (frame.format, true, true) }
        return .announced(
            frame, caps: !frame.has(announcedFormat), segment: !isOn && !hasSegment, on: !isOn)
    }

    private mutating func switchOff() -> Step {
        isOn = false
        isOffOverdue = false
        isDelivering = true
        return .off
    }
}

extension SendQueue: Sendable where Frame: Sendable, Frame.Format: Sendable {}
