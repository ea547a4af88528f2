import GStreamer

/// What comes between the frames of a delivery.
protocol DeliverySignal: Sendable {
    /// End-of-stream: nothing follows, until a flush.
    var isEnd: Bool { get }
    /// It may come before the first format.
    var isEarly: Bool { get }
}

/// What the delivery to one receiver is doing: all that its threads decide together, as a pure state machine. No lock, no
/// thread; `DeliveryLine` has both.
///
/// ```
/// idle ──arm──▶ armed ──open──▶ open ◀──flush──▶ ended        any ──cancel──▶ cancelled
///   ▲                             └──▶ failed                      (unsubscribed)
///   └───────────stop──────────────────────┘
/// ```
struct DeliveryState<Frame: Sendable, Signal: DeliverySignal> {
    enum Phase {
        /// Between runs.
        case idle
        /// A run has begun, and nothing has come yet.
        case armed
        /// Frames are delivered.
        case open
        /// End-of-stream has been told; a flush opens again.
        case ended
        /// The handler failed: nothing more in this run.
        case failed
        /// Unsubscribed: nothing ever again.
        case cancelled
    }

    typealias Holds = DeliveryHolds
    typealias Queue = BoundedQueue<Frame, Signal>

    private(set) var phase = Phase.idle
    private(set) var holds: Holds = []
    /// Between the streaming thread and the delivery thread; `nil` where the streaming thread delivers.
    private var queue: Queue?
    /// The thread in a callback; 0 for none.
    private var caller: UInt = 0
    /// Out of the queue: the owner lets go of them outside its lock, since a frame's release may call anything.
    private var removed: [Frame] = []

    // MARK: The run

    /// READY→PAUSED. False when it is cancelled.
    mutating func arm() -> Bool {
        guard phase != .cancelled else { return false }
        phase = .armed
        holds = []
        queue = nil
        return true
    }

    /// The stream's liveness is known, and with it who delivers.
    mutating func open(_ queue: Queue?) {
        guard phase == .armed else { return }
        self.queue = queue
        phase = .open
    }

    /// PAUSED→READY, after the last callback.
    mutating func stop() {
        guard phase != .cancelled else { return }
        // What came when the delivery thread had gone already.
        removeFrames()
        phase = .idle
        queue = nil
    }

    mutating func cancel() {
        phase = .cancelled
        removeFrames()
    }

    // MARK: Holds

    mutating func hold(_ reason: Holds) {
        holds.insert(reason)
        guard reason == .flushing else { return }
        removeFrames()
        queue?.removeSignals(where: \.isEnd)
    }

    /// True when nothing holds any more.
    mutating func release(_ reason: Holds) -> Bool {
        holds.remove(reason)
        return holds.isEmpty
    }

    /// FLUSH_STOP: frames come again, after end-of-stream too. False outside a run.
    mutating func reopen() -> Bool {
        switch phase {
        case .open, .ended:
            removeFrames()
            phase = .open
            return true
        case .idle, .armed, .failed, .cancelled: return false
        }
    }

    /// One of several streams is flushed: what waits of it goes.
    mutating func removeFrames(where matches: (Frame) -> Bool = { _ in true }) {
        queue?.removeFrames(where: matches) { removed.append($0) }
    }

    /// What `hold`, `reopen`, `cancel` or `leave` took out of the queue.
    mutating func takeRemoved() -> [Frame] {
        guard !removed.isEmpty else { return [] }
        defer { removed = [] }
        return removed
    }

    // MARK: What the streaming thread brings

    enum Admission {
        /// The caller delivers it, and says `leave` afterwards.
        case deliver
        /// The delivery thread will; lost is the frame that it cost.
        case queued(lost: Frame?)
        /// Nobody is to get it.
        case ignored
        case failed
    }

    /// `nil`: another thread is in a callback; ask again when it has left.
    @inline(__always)
    mutating func admit(on thread: UInt, _ frame: () -> Frame) -> Admission? {
        guard phase == .open else { return phase == .failed ? .failed : .ignored }
        guard queue != nil else { return enter(thread) }
        guard !holds.contains(.flushing) else { return .ignored }
        if case .dropped(let lost) = queue!.offer(frame()) { return .queued(lost: lost) }
        return .queued(lost: nil)
    }

    mutating func admit(_ signal: Signal, on thread: UInt) -> Admission? {
        switch phase {
        case .idle, .cancelled: return .ignored
        // Which stream it is may be said before the first format.
        case .armed, .ended: if !signal.isEarly { return .ignored }
        case .open, .failed: break
        }
        guard queue != nil else { return enter(thread) }
        queue!.append(signal)
        return .queued(lost: nil)
    }

    /// Callbacks come one at a time, whichever thread brings them.
    @inline(__always)
    private mutating func enter(_ thread: UInt) -> Admission? {
        guard caller == 0 || caller == thread else { return holds.contains(.stopping) ? .ignored : nil }
        caller = thread
        return .deliver
    }

    /// Whether end-of-stream, once queued, needs no more waiting for.
    var hasEnded: Bool { phase != .open || !holds.isDisjoint(with: [.flushing, .stopping]) }

    // MARK: What the delivery thread takes

    enum Work {
        case deliver(Frame)
        case tell(Signal)
        /// Stopping, or failed: lost, and to be counted.
        case lose(Frame)
        case exit
    }

    /// `nil`: there is nothing to do.
    mutating func next(on thread: UInt) -> Work? {
        guard phase != .cancelled, queue != nil else { return .exit }
        switch queue!.take() {
        case .frame(let frame) where holds.contains(.stopping) || phase == .failed: return .lose(frame)
        case .frame(let frame):
            caller = thread
            return .deliver(frame)
        case .signal(let signal):
            caller = thread
            return .tell(signal)
        case nil: return holds.contains(.stopping) ? .exit : nil
        }
    }

    // MARK: Callbacks in flight

    /// For the end of a run, when no frames come any more. False when nobody is to hear of it; `nil` while somebody still hears of
    /// something else.
    mutating func enterLast(on thread: UInt) -> Bool? {
        switch phase {
        case .armed, .open, .failed:
            guard isQuiet(for: thread) else { return nil }
            caller = thread
            return true
        case .idle, .ended, .cancelled: return false
        }
    }

    typealias Outcome = DeliveryOutcome

    /// The callback has returned.
    @inline(__always)
    mutating func leave(_ outcome: Outcome) {
        caller = 0
        if outcome != .passed { note(outcome) }
    }

    private mutating func note(_ outcome: Outcome) {
        switch (phase, outcome) {
        case (.open, .ended): phase = .ended
        case (.open, .failed), (.ended, .failed): phase = .failed
        case (_, .gone): cancel()
        case (.idle, _), (.armed, _), (.open, .passed), (.ended, _), (.failed, _), (.cancelled, _): break
        }
    }

    func isCaller(_ thread: UInt) -> Bool { caller == thread }

    /// No callback is in flight, but for the caller's own.
    func isQuiet(for thread: UInt) -> Bool { caller == 0 || caller == thread }
}

/// Why nobody may wait in the handler now.
struct DeliveryHolds: OptionSet {
    let rawValue: Int
    static let paused = DeliveryHolds(rawValue: 1)
    static let flushing = DeliveryHolds(rawValue: 2)
    static let stopping = DeliveryHolds(rawValue: 4)
}

/// What became of a callback.
enum DeliveryOutcome { case passed, ended, failed, gone }
