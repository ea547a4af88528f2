import GStreamer

/// One reader's place in a stream: a queue between the publisher's thread and the reader's, so that neither waits for the
/// other. It never grows: what a slow reader hasn't taken is lost to it alone, the oldest first, and counted.
final class StreamReader: Sendable {
    /// What comes in order with the buffers. Nothing is lost but what is no longer true, and that only to a reader that is stuck.
    enum Signal: Sendable {
        /// A user's stream begins, or comes back.
        case begin
        case format(StreamFormat)
        case timing(StreamTiming)
        case status(Bool)

        /// Whether those that follow, with no frame in between, leave nothing of it. Of what a stream was before it began anew
        /// only its status counts.
        fileprivate func isOutdated(by later: [Signal]) -> Bool {
            switch self {
            case .begin: later.contains { if case .begin = $0 { true } else { false } }
            case .format:
                later.contains { if case .begin = $0 { true } else if case .format = $0 { true } else { false } }
            case .timing:
                later.contains { if case .begin = $0 { true } else if case .timing = $0 { true } else { false } }
            case .status:
                later.lazy.compactMap { signal -> Bool? in
                    switch signal {
                    case .status: true
                    case .begin: false
                    default: nil
                    }
                }.first ?? false
            }
        }
    }

    /// As many as no reader has waiting that isn't stuck.
    private static let signalBound = 32

    /// Tells by the numbers of the frames that come whether others were lost before one.
    struct FrameOrder: Sendable {
        private var last: UInt64?

        mutating func hasGap(before number: UInt64) -> Bool {
            defer { last = number }
            return last.map { number != $0 + 1 } ?? false
        }
    }

    struct Frame: Sendable {
        let buffer: UnmanagedBuffer
        /// Which of the stream's it is: the same for every reader.
        let number: UInt64
    }

    enum Step {
        case buffer(Frame)
        case signal(Signal)
        /// Downstream may want something else from now on.
        case negotiate
        /// Nothing came in the time that it was waited for.
        case idle
        /// Return at once.
        case flush
        /// The graph was asked to end.
        case end
    }

    private struct State: Sendable {
        var queue: BoundedQueue<Frame, Signal>
        /// In PLAYING: what waited through a pause would be shown as new when it is old.
        var isPlaying = false
        var isFlushing = false
        var isEnding = false
        var isToNegotiate = false
        var demand = Resolution.native
        /// The stream's.
        var demandChanged: (@Sendable () -> Void)?

        mutating func takeNegotiation() -> Bool {
            defer { isToNegotiate = false }
            return isToNegotiate
        }
    }

    let statistics: NodeStatistics
    private let monitor: BlockingMonitor<State>

    /// - Parameter bound: buffers that may wait.
    init(bound: Int, statistics: NodeStatistics = NodeStatistics()) {
        self.statistics = statistics
        monitor = BlockingMonitor(State(queue: BoundedQueue(bound: bound, policy: .dropOldest)))
    }

    // MARK: The stream's side

    /// What of the stream's height is enough for it.
    var demand: Resolution { monitor.withLock { $0.demand } }

    /// Whom to tell that it has changed.
    func onDemand(_ changed: (@Sendable () -> Void)?) { monitor.withLock { $0.demandChanged = changed } }

    // MARK: The publisher's thread

    /// Never waits. A buffer that is lost for it is let go by the caller, outside all locks.
    func offer(_ buffer: BufferAccess, number: UInt64) -> UnmanagedBuffer? {
        monitor.withLock { state in
            guard state.isPlaying, !state.isFlushing else { return nil }
            let new = Frame(buffer: UnmanagedBuffer(buffer.retained), number: number)
            if case .dropped(let lost) = state.queue.offer(new) { return lost.buffer }
            return nil
        }
    }

    func signal(_ signal: Signal) {
        monitor.withLock { state in
            state.queue.append(signal)
            if state.queue.signalCount > Self.signalBound { state.queue.removeSignals { $0.isOutdated(by: $1) } }
        }
    }

    // MARK: The reader's side

    /// What is queued is lost, and counted; until `resume`.
    func flush() { discard { $0.isFlushing = true } }

    func resume() { monitor.withLock { $0.isFlushing = false } }

    func play() { monitor.withLock { $0.isPlaying = true } }

    func pause() { discard { $0.isPlaying = false } }

    private func discard(_ body: (inout State) -> Void) {
        var lost: [UnmanagedBuffer] = []
        monitor.withLock { state in
            body(&state)
            state.queue.removeFrames { lost.append($0.buffer) }
        }
        for buffer in lost { lose(buffer) }
    }

    /// `next` says so, ahead of all that waits.
    func negotiate() { monitor.withLock { $0.isToNegotiate = true } }

    func setDemand(_ resolution: Resolution) {
        let changed = monitor.withLock { state -> (@Sendable () -> Void)? in
            guard state.demand != resolution else { return nil }
            state.demand = resolution
            return state.demandChanged
        }
        changed?()
    }

    /// The stream ends for this reader.
    func end() { monitor.withLock { $0.isEnding = true } }

    /// A new run of the reader's graph.
    func restart() { monitor.withLock { $0.isEnding = false } }

    func lose(_ buffer: UnmanagedBuffer) {
        _ = buffer.take()
        statistics.countDrop()
    }

    /// Waits for something to do, so many microseconds at most; `nil`: until there is.
    func next(timeout: Int64? = nil) -> Step {
        let step = monitor.wait(timeout: timeout) { state -> Step? in
            guard !state.isFlushing else { return .flush }
            guard !state.takeNegotiation() else { return .negotiate }
            switch state.queue.take() {
            case .frame(let buffer): return .buffer(buffer)
            case .signal(let signal): return .signal(signal)
            case nil: return state.isEnding ? .end : nil
            }
        }
        return step ?? .idle
    }
}
