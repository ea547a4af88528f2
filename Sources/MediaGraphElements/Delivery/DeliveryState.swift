import GStreamer

/// A notification delivered in stream order between frames.
protocol DeliverySignal: Sendable {
    /// Whether this is end-of-stream: nothing follows until a flush.
    var isEnd: Bool { get }
    /// Whether the signal may come before the first caps.
    var mayPrecedeCaps: Bool { get }
}

/// The state that all threads of one receiver's delivery share, as a pure state machine. `DeliveryLine` adds the lock
/// and the thread.
///
/// ```
/// idle ──arm──▶ armed ──open──▶ open ◀──flush──▶ ended        any ──cancel──▶ cancelled
///   ▲                             └──▶ failed, detached            (unsubscribed)
///   └───────────stop──────────────────────┘
/// ```
struct DeliveryState<Frame: Sendable, Signal: DeliverySignal> {
    enum Phase {
        /// Between runs.
        case idle
        /// A run has begun. Whether upstream is live, and thus which thread delivers, isn't known yet.
        case armed
        /// Frames are delivered.
        case open
        /// The receiver was told end-of-stream. A flush reopens the delivery.
        case ended
        /// The handler failed. Nothing more is delivered in this run.
        case failed
        /// The handler failed and was detached. Nothing more is delivered in this run, and the stream goes on.
        case detached
        /// The receiver is unsubscribed. Nothing is ever delivered again.
        case cancelled
    }

    typealias Holds = DeliveryHolds
    typealias Queue = BoundedQueue<Frame, Signal>

    private(set) var phase = Phase.idle
    private(set) var holds: Holds = []
    /// Between the streaming thread and the delivery thread; `nil` if the streaming thread delivers.
    private var queue: Queue?
    /// The thread that is in a callback; 0 if none is.
    private var caller: UInt = 0
    /// Frames removed from the queue. The owner releases them outside its lock, since releasing a frame may call
    /// anything.
    private var removed: [Frame] = []

    // MARK: The run

    /// READY→PAUSED. Returns false if the delivery is cancelled.
    mutating func arm() -> Bool {
        guard phase != .cancelled else { return false }
        phase = .armed
        holds = []
        queue = nil
        return true
    }

    /// Starts to accept frames. Called when the stream's liveness is known, which decides whether there is a queue.
    mutating func open(_ queue: Queue?) {
        guard phase == .armed else { return }
        self.queue = queue
        phase = .open
    }

    /// PAUSED→READY, after the last callback.
    mutating func stop() {
        guard phase != .cancelled else { return }
        // Frames that came after the delivery thread had ended.
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

    /// Removes a hold. Returns true if no hold is left.
    mutating func release(_ reason: Holds) -> Bool {
        holds.remove(reason)
        return holds.isEmpty
    }

    /// FLUSH_STOP: accepts frames again, also after end-of-stream. Returns false outside a run.
    mutating func reopen() -> Bool {
        switch phase {
        case .open, .ended:
            removeFrames()
            phase = .open
            return true
        case .idle, .armed, .failed, .detached, .cancelled: return false
        }
    }

    /// Removes queued frames: all of them, or those of one stream among several when that stream is flushed.
    mutating func removeFrames(where matches: (Frame) -> Bool = { _ in true }) {
        queue?.removeFrames(where: matches) { removed.append($0) }
    }

    /// Returns, once, the frames that `hold`, `reopen`, `stop`, `cancel` or `leave` removed from the queue.
    mutating func takeRemoved() -> [Frame] {
        guard !removed.isEmpty else { return [] }
        defer { removed = [] }
        return removed
    }

    // MARK: Frames and signals from the streaming thread

    enum Admission {
        /// The caller must deliver it and then call `leave`.
        case deliver
        /// The delivery thread delivers it. `lost` is the frame that was dropped to make room.
        case queued(lost: Frame?)
        /// It isn't delivered.
        case ignored
        case failed
    }

    /// Decides what happens to a frame. Returns `nil` while another thread is in a callback; the caller then waits and
    /// retries.
    @inline(__always)
    mutating func admit(on thread: UInt, _ frame: () -> Frame) -> Admission? {
        guard phase == .open else { return phase == .failed ? .failed : .ignored }
        guard queue != nil else { return enter(thread) }
        guard !holds.contains(.flushing) else { return .ignored }
        if case .dropped(let lost) = queue!.offer(frame()) { return .queued(lost: lost) }
        return .queued(lost: nil)
    }

    /// The same for a signal.
    mutating func admit(_ signal: Signal, on thread: UInt) -> Admission? {
        switch phase {
        case .idle, .detached, .cancelled: return .ignored
        // STREAM_START and tags come before the first caps.
        case .armed, .ended: if !signal.mayPrecedeCaps { return .ignored }
        case .open, .failed: break
        }
        guard queue != nil else { return enter(thread) }
        queue!.append(signal)
        return .queued(lost: nil)
    }

    /// Makes `thread` the caller, since callbacks from several threads must not overlap.
    @inline(__always)
    private mutating func enter(_ thread: UInt) -> Admission? {
        guard caller == 0 || caller == thread else { return holds.contains(.stopping) ? .ignored : nil }
        caller = thread
        return .deliver
    }

    /// Whether a thread that waits for the receiver to be told end-of-stream may stop waiting.
    var hasEnded: Bool { phase != .open || !holds.isDisjoint(with: [.flushing, .stopping]) }

    // MARK: Work of the delivery thread

    enum Work {
        case deliver(Frame)
        case handle(Signal)
        /// The run stops or has failed: the frame counts as dropped.
        case drop(Frame)
        case exit
    }

    /// Returns the delivery thread's next work; `nil` if there is nothing to do.
    mutating func next(on thread: UInt) -> Work? {
        guard phase != .cancelled, phase != .detached, queue != nil else { return .exit }
        switch queue!.take() {
        case .frame(let frame) where holds.contains(.stopping) || phase == .failed: return .drop(frame)
        case .frame(let frame):
            caller = thread
            return .deliver(frame)
        case .signal(let signal):
            caller = thread
            return .handle(signal)
        case nil: return holds.contains(.stopping) ? .exit : nil
        }
    }

    // MARK: Callbacks in flight

    /// Enters the last callback of a run, when no more frames come. Returns false if the receiver must not be told the
    /// end, and `nil` while another thread is in a callback.
    mutating func enterLast(on thread: UInt) -> Bool? {
        switch phase {
        case .armed, .open, .failed:
            guard isQuiet(for: thread) else { return nil }
            caller = thread
            return true
        case .idle, .ended, .detached, .cancelled: return false
        }
    }

    typealias Outcome = DeliveryOutcome

    /// Reports that the callback has returned.
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
        case (.open, .detached), (.ended, .detached):
            phase = .detached
            removeFrames()
        case (.idle, _), (.armed, _), (.open, .passed), (.ended, _), (.failed, _), (.detached, _), (.cancelled, _):
            break
        }
    }

    func isCaller(_ thread: UInt) -> Bool { caller == thread }

    /// Returns whether no callback is in flight, except on `thread` itself.
    func isQuiet(for thread: UInt) -> Bool { caller == 0 || caller == thread }
}

/// The reasons why no thread may wait in the handler at present.
struct DeliveryHolds: OptionSet {
    let rawValue: Int
    static let paused = DeliveryHolds(rawValue: 1)
    static let flushing = DeliveryHolds(rawValue: 2)
    static let stopping = DeliveryHolds(rawValue: 4)
}

/// The outcome of a callback. `gone` means that the receiver no longer exists, and `detached` that it failed and gets
/// nothing more in this run.
enum DeliveryOutcome { case passed, ended, failed, detached, gone }
