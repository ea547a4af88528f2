import GStreamer
import MediaGraphCore

/// A piece of media that a `SendQueue` can hold.
protocol Queueable: TimedMedia {
    /// The format. All pieces of one format share one object.
    associatedtype Format: AnyObject
    associatedtype Timeline: SendTimeline where Timeline.Payload == Self
    /// Whether the queue's bound is in nanoseconds of media, instead of a number of frames.
    static var isBoundByTime: Bool { get }
    /// The duration in nanoseconds if `isBoundByTime`, otherwise 1.
    var weight: Int { get }
    var format: Format { get }
    /// Returns whether this is the piece's format. This is cheaper than `format`, which retains.
    func has(_ format: Format?) -> Bool
}

/// Decides the timestamps of payloads. The queue makes a new timeline for each `startSend`. Pure.
protocol SendTimeline: Sendable {
    associatedtype Payload
    init()
    /// Stamps a payload. Returns false, and leaves the timeline unchanged, if the payload exceeds the declared rate.
    /// Called in the order in which payloads enter the queue.
    mutating func stamp(_ payload: Payload, _ time: SendTime, _ pace: Pace) -> Bool
    /// Stamps a payload that exceeds the declared rate but has waited for room since it was sent.
    mutating func stampBeyondRate(_ payload: Payload, _ time: SendTime)
}

/// The running time that a payload was sent with.
enum SendTime: Sendable {
    /// The sender's timestamp.
    case given(ClockTime)
    /// The time of arrival, if the sender gave no timestamp.
    case arrived(ClockTime)

    var clockTime: ClockTime {
        switch self {
        case .given(let time), .arrived(let time): time
        }
    }

    /// `raw` is the sender's timestamp in nanoseconds, or `GST_CLOCK_TIME_NONE`.
    @inline(__always)
    init(_ raw: UInt64, arrival: () -> ClockTime?) {
        if raw != .max { self = .given(ClockTime(nanoseconds: raw)) } else { self = .arrived(arrival() ?? .zero) }
    }
}

/// The state machine between senders and a source's streaming thread. It decides which frames are accepted, which
/// timestamps they get, and what goes downstream.
///
/// Pure: no lock, no thread, no clock. The owner locks, waits when the queue says so, and discards the frames that the
/// queue returns as lost. Frames leave in the order in which they entered. Status on goes out before the first frame of
/// each `startSend`…`stopSend` cycle, status off after its last frame, and the end of the stream after everything else.
struct SendQueue<Frame: Queueable> {
    /// Where the node is in its lifecycle.
    enum Phase: Sendable {
        case uninitialized, initialized
        /// Inside `startSend`: frames are accepted, but senders don't block, because the state change would block with
        /// them.
        case starting
        case sending
        case stopped
    }

    /// How the stream ends, after the queued frames.
    enum Ending: Sendable {
        case endOfStream
        case failure(MediaGraphError)
    }

    /// The result of offering a frame to the queue.
    enum Offer {
        case accepted
        /// The queue was full and dropped a frame: the new one or the oldest one.
        case dropped(Frame)
        /// There is no room: the sender waits, or its send fails if the policy is `refuse`.
        case full
        /// The frame came outside `startSend`…`stopSend`, or after the end of the stream.
        case closed
        /// The frame exceeds the rate that its source declared.
        case tooFrequent
    }

    /// What the streaming thread does next.
    enum Step {
        /// Deliver a frame in the current format.
        case frame(Frame)
        /// Send the `caps`, the `segment` and status `on`, in this order, then deliver the frame.
        case announced(Frame, caps: Bool, segment: Bool, on: Bool)
        /// Send status off. `isRequested` is true if a receiver asked the source to stop.
        case off(isRequested: Bool)
        /// Negotiate again, as downstream asked.
        case reconfigure
        /// Do nothing: the queue has drained, so a thread that waits for that can continue.
        case drained
        /// End the stream as `ending` says.
        case end
        /// Stop at once, because of a flush.
        case flush
    }

    private enum Drain {
        case none
        /// The accepted frames have to go out, and status off after them.
        case wanted
        /// Only status off has to go out. The remaining frames stay for the next cycle.
        case offWanted
        case done
        /// The remaining frames stay for the next cycle.
        case abandoned
    }

    private(set) var phase = Phase.uninitialized
    private(set) var ending: Ending?
    /// Whether downstream refused the caps. The queue then accepts no frames until a flush or a new stream.
    private var isRefused = false
    private var queue = BoundedQueue<Frame, Never>(bound: 2, policy: .block)
    /// The total weight of the queued frames.
    private(set) var level = 0
    private var bound = 2
    private var pace = Pace.live
    private var timeline = Frame.Timeline()
    /// The format of the last accepted frame; the next one usually has the same.
    var format: Frame.Format?
    /// The format of the last caps sent downstream.
    private(set) var announcedFormat: Frame.Format?
    private var hasSegment = false
    /// The graph's latency in nanoseconds. The queue may hold that much media beyond its bound, because the sinks make
    /// it wait that long.
    var latencyNanoseconds: UInt64 = 0
    /// Whether status on has been sent, and status off hasn't.
    private var isOn = false
    private var isFlushing = false
    private var needsReconfigure = false
    private var drain = Drain.none
    /// Whether status off couldn't be sent in its place; it then goes out before anything else.
    private var isOffOverdue = false
    /// Whether the next status off follows a receiver's request.
    private var isOffRequested = false
    /// Whether the streaming thread is downstream with a frame or an event.
    private(set) var isDelivering = false
    private(set) var deliveredCount: UInt64 = 0

    // MARK: The lifecycle

    mutating func initialize(bound: Int, policy: OverflowPolicy, pace: Pace = .live) {
        self = SendQueue()
        (self.bound, self.pace) = (bound, pace)
        // `BoundedQueue` enforces this bound only when it drops, and then the bound is a number of frames. With the
        // other policies the bound only reserves memory, and may be nanoseconds.
        queue = BoundedQueue(bound: min(bound, 1000), policy: policy)
        phase = .initialized
    }

    /// Starts accepting frames; senders don't block before `opened`.
    mutating func open() {
        phase = .starting
        drain = .none
        if !isOffOverdue { isOffRequested = false }
        timeline = Frame.Timeline()
    }

    /// Lets senders block.
    mutating func opened() { if phase == .starting { phase = .sending } }

    /// Stops accepting frames. `isDrained` becomes true when the accepted frames, and status off after them, have gone
    /// out.
    ///
    /// With `keepsFrames`, for sinks that take no frames any more, the frames stay for the next cycle, and only status
    /// off goes out. While the queue is flushing, nothing can go out, and the queue counts as drained. `isRequested` says
    /// whether a receiver asked the source to stop.
    mutating func close(keepsFrames: Bool = false, isRequested: Bool = false) {
        phase = .stopped
        isOffRequested = isRequested
        if keepsFrames {
            isOffOverdue = isOn
            // Status off may have been taken, but not have gone out yet.
            let isUnderWay = drain == .wanted || drain == .offWanted
            drain = (isOn || isUnderWay) && !isFlushing ? .offWanted : .abandoned
        } else {
            drain = !isFlushing && (isOn || queue.frameCount > 0) ? .wanted : .done
        }
    }

    /// Whether nothing more has to go out because of `close`.
    var isDrained: Bool { drain != .wanted && drain != .offWanted }

    /// Whether frames stay in the queue after `close`.
    var keepsFrames: Bool { drain == .offWanted || drain == .abandoned }

    /// Whether status off waits behind a frame that is downstream.
    var isOffHeld: Bool { isOffOverdue && isDelivering }

    /// Gives up draining because the stream has stalled. The queued frames stay for the next cycle; status off goes out
    /// before them.
    mutating func abandonDrain() {
        isOffOverdue = isOn
        drain = .abandoned
    }

    /// Ends the node's run. Returns the frames that are lost.
    mutating func uninitialize() -> [Frame] {
        phase = .uninitialized
        return takeAll()
    }

    var isOpen: Bool { (phase == .starting || phase == .sending) && ending == nil && !isRefused }

    /// Whether the source asked for the end of the stream, or downstream refused the caps.
    var hasEnded: Bool { ending != nil || isRefused }

    // MARK: Senders

    /// Whether senders wait while the queue is full. With the policy `refuse` their sends fail instead.
    var blocksSenders: Bool { queue.policy != .refuse }

    /// Stamps and queues a frame if there is room.
    ///
    /// - Parameters:
    ///   - suspends: Whether the sender is a task, which may wait in any phase.
    ///   - hasWaited: Whether the frame has waited for room. A frame without a timestamp is then never too frequent.
    @inline(__always)
    mutating func offer(_ frame: Frame, _ time: SendTime, suspends: Bool, hasWaited: Bool = false) -> Offer {
        guard isOpen else { return .closed }
        let isBounded = level >= bound
        if isBounded, refuses(suspends), isFull(for: time.clockTime) { return .full }
        if !timeline.stamp(frame, time, pace) {
            guard hasWaited, case .arrived = time else { return .tooFrequent }
            timeline.stampBeyondRate(frame, time)
        }
        if !frame.has(format) { format = frame.format }
        // Check again with the new timestamp, which may be ahead of the time of arrival.
        let isFull = isBounded && isFull(for: frame.timestamp)
        level += frame.weight
        if isFull { return overflow(frame) }
        queue.appendBeyondBound(frame)
        return .accepted
    }

    /// Returns whether a full queue takes no frame, so that the sender must wait or fails.
    private func refuses(_ suspends: Bool) -> Bool {
        switch queue.policy {
        // During the state change no thread may wait, and with `block` no frame may be lost: the queue exceeds its
        // bound.
        case .block: suspends || phase == .sending
        case .refuse: true
        case .dropOldest, .dropNewest: false
        }
    }

    /// Returns whether a queue that has reached its bound is full. Frames that wait only because of the graph's latency
    /// don't count.
    @inline(never)
    private func isFull(for timestamp: ClockTime?) -> Bool {
        guard latencyNanoseconds > 0 else { return true }
        return Frame.isBoundByTime
            ? level - bound >= Int(clamping: latencyNanoseconds) || queue.isMemoryFull
            : queue.isFull(for: timestamp, bound: bound, latencyNanoseconds: latencyNanoseconds)
    }

    /// Drops a frame if the policy says so. With the other policies the frame is queued beyond the bound.
    @inline(never)
    private mutating func overflow(_ frame: Frame) -> Offer {
        switch queue.offer(frame) {
        case .accepted: return .accepted
        case .dropped(let lost):
            level -= lost.weight
            return .dropped(lost)
        case .full:
            queue.appendBeyondBound(frame)
            return .accepted
        }
    }

    /// Requests the end of the stream. Only the first request counts.
    mutating func end(_ ending: Ending) { if self.ending == nil { self.ending = ending } }

    // MARK: Downstream

    /// Stops accepting frames because downstream refused the caps.
    mutating func refuse() { isRefused = true }

    mutating func reconfigure() { needsReconfigure = true }

    /// Tells the streaming thread to stop until `resume`. Returns the frames that are lost.
    mutating func flush() -> [Frame] {
        isFlushing = true
        hasSegment = false
        if drain == .wanted || drain == .offWanted { drain = .done }
        return takeAll()
    }

    mutating func resume() {
        isFlushing = false
        isRefused = false
    }

    /// Resets the state of the stream. The new stream has no caps and no segment yet, and a status off of the previous
    /// stream would come too late.
    mutating func streamBegins() {
        announcedFormat = nil
        hasSegment = false
        isFlushing = false
        isRefused = false
        ending = nil
        isOn = false
        isOffOverdue = false
        isOffRequested = false
        isDelivering = false
    }

    private mutating func takeAll() -> [Frame] {
        var lost: [Frame] = []
        queue.removeFrames { lost.append($0) }
        level = 0
        return lost
    }

    // MARK: The streaming thread

    /// Returns what the streaming thread does next; `nil` if it must wait.
    mutating func next() -> Step? {
        isDelivering = false
        if isFlushing { return .flush }
        if isOffOverdue { return switchOff() }
        if needsReconfigure {
            needsReconfigure = false
            return .reconfigure
        }
        if drain == .offWanted {
            drain = .abandoned
            return .drained
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

    /// Whether `next` would return a step.
    var hasNext: Bool {
        if isFlushing || isOffOverdue || needsReconfigure || drain == .offWanted { return true }
        if drain == .abandoned { return false }
        return queue.frameCount > 0 || drain == .wanted || ending != nil || isOn && phase == .stopped
    }

    /// Whether queued frames go out at the clock's pace. After `close` they go out at once, because the node waits for
    /// them.
    var keepsPace: Bool { !isFlushing && (phase == .starting || phase == .sending) }

    private mutating func announced(_ frame: Frame) -> Step {
        defer { (announcedFormat, hasSegment, isOn) = (frame.format, true, true) }
        return .announced(
            frame, caps: !frame.has(announcedFormat), segment: !isOn && !hasSegment, on: !isOn)
    }

    private mutating func switchOff() -> Step {
        defer { isOffRequested = false }
        isOn = false
        isOffOverdue = false
        isDelivering = true
        return .off(isRequested: isOffRequested)
    }
}

extension SendQueue: Sendable where Frame: Sendable, Frame.Format: Sendable {}
