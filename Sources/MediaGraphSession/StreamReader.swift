import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A bounded queue between a stream's publisher and one reader, so that neither waits for the other. If the reader is slow,
/// buffers are dropped for it alone and counted: the oldest raw frame, or, of an encoded stream, new frames until the next key
/// frame, which replaces the whole queue. Encoded frames before the reader's first key frame are skipped.
package final class StreamReader: Sendable {
    /// What comes in order with the buffers. Nothing is lost but what is no longer true, and that only to a reader that is stuck.
    package enum Signal: Sendable {
        /// A user's stream begins, or comes back.
        case begin
        case format(StreamFormat)
        case timing(StreamTiming)
        case status(Bool)
        /// What comes can't be shown, for this reason.
        case refused(String)

        /// Whether those that follow, with no frame in between, leave nothing of it. Of what a stream was before it began anew
        /// only its status counts.
        fileprivate func isOutdated(by later: [Signal]) -> Bool {
            switch self {
            case .begin: later.contains { if case .begin = $0 { true } else { false } }
            case .format:
                later.contains { if case .begin = $0 { true } else if case .format = $0 { true } else { false } }
            case .timing:
                later.contains { if case .begin = $0 { true } else if case .timing = $0 { true } else { false } }
            case .refused:
                later.contains { if case .begin = $0 { true } else if case .refused = $0 { true } else { false } }
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
    /// Of an encoded stream: to lose one costs all up to the next key frame, and they are small.
    private static let predictedBound = 8

    package struct Frame: TimedMedia, Sendable {
        package let buffer: UnmanagedBuffer
        /// Which of the stream's it is: the same for every reader.
        package let number: UInt64

        package var timestamp: ClockTime? { buffer.access.decodingTimestamp ?? buffer.access.presentationTimestamp }
        package var byteCount: Int { buffer.access.size }
    }

    package enum Step {
        case buffer(Frame)
        case signal(Signal)
        /// Downstream may want something else from now on.
        case negotiate
        /// Frames have been lost because more can't be kept for as long as the reader's graph makes them wait. Once a run.
        case memoryFull
        /// Downstream can't take what was given last.
        case refusedDownstream
        /// The user should be sending but nothing arrives, or, with false, something arrives again.
        case stalled(Bool)
        /// Nothing came in the time that it was waited for.
        case idle
        /// Return at once.
        case flush
        /// The graph was asked to end.
        case end
    }

    private struct State: Sendable {
        var queue: BoundedQueue<Frame, Signal>
        var coding = Coding()
        /// In PLAYING: what waited through a pause would be shown as new when it is old.
        var isPlaying = false
        var isFlushing = false
        var isEnding = false
        var isToNegotiate = false
        var demand = Resolution.native
        var stream = StreamReference()
        var latency = ClockTime.zero
        var graphLatency = ClockTime.zero
        var memoryNotice = MemoryNotice.none
        var isRefusedDownstream = false
        var stallWatch = StallWatch()
        /// A stall that has ended, unless the reader has been told.
        var hasResumed = false

        mutating func takeResumption() -> Bool {
            defer { hasResumed = false }
            return hasResumed
        }

        mutating func recordArrival(at now: Int64) { hasResumed = stallWatch.recordArrival(at: now) || hasResumed }

        /// Whether there is no room for a frame with this timestamp.
        mutating func isFull(for timestamp: ClockTime?, bound: Int) -> Bool {
            guard queue.isFull(for: timestamp, bound: bound, latency: graphLatency) else { return false }
            if memoryNotice == .none, graphLatency > .zero, queue.frameCount > bound, queue.isMemoryFull {
                memoryNotice = .due
            }
            return true
        }

        mutating func takeRefusal() -> Bool {
            defer { isRefusedDownstream = false }
            return isRefusedDownstream
        }

        mutating func takeMemoryNotice() -> Bool {
            guard memoryNotice == .due else { return false }
            memoryNotice = .given
            return true
        }

        mutating func takeNegotiation() -> Bool {
            defer { isToNegotiate = false }
            return isToNegotiate
        }
    }

    private enum MemoryNotice { case none, due, given }

    /// What the stream's frames need of each other.
    private struct Coding: Sendable {
        let isEncoded: Bool
        /// Frames that need others before them have come.
        var isPredicted = false
        /// Before the first key frame, and where one that others need was lost.
        var lacksKeyFrame: Bool

        /// Of a stream that begins.
        init(isEncoded: Bool = false) { (self.isEncoded, lacksKeyFrame) = (isEncoded, isEncoded) }
    }

    private struct StreamReference: Sendable {
        weak var stream: RoomStream?
    }

    package let statistics: NodeStatistics
    private let monitor: BlockingMonitor<State>
    /// Microseconds.
    private let now: @Sendable () -> Int64

    /// - Parameter bound: buffers that may wait.
    package init(
        bound: Int, statistics: NodeStatistics = NodeStatistics(),
        now: @escaping @Sendable () -> Int64 = { Int64(monotonicNanoseconds() / 1000) }
    ) {
        self.statistics = statistics
        self.now = now
        monitor = BlockingMonitor(State(queue: BoundedQueue(bound: bound, policy: .dropOldest)))
    }

    // MARK: The stream's side

    /// What of the stream's height is enough for it.
    var demand: Resolution { monitor.withLock { $0.demand } }

    /// What it reads, and asks; with `nil` nothing of that is left.
    func join(_ stream: RoomStream?) {
        monitor.withLock { $0.stream.stream = stream }
        guard stream == nil else { return }
        discard { state in
            state.queue.removeSignals { _ in true }
            state.coding = Coding()
            state.stallWatch.stop()
        }
    }

    // MARK: The publisher's thread

    /// Never waits. Buffers that are lost for it are let go by the caller, outside all locks. True when it can show nothing
    /// before the next key frame.
    func offer(_ buffer: BufferAccess, number: UInt64, losing: (UnmanagedBuffer) -> Void) -> Bool {
        let isKeyframe = buffer.isKeyframe
        let now = now()
        return monitor.withLock { state in
            guard state.isPlaying, !state.isFlushing else {
                state.coding.lacksKeyFrame = state.coding.isEncoded
                return false
            }
            state.recordArrival(at: now)
            let new = Frame(buffer: UnmanagedBuffer(buffer.retained), number: number)
            if state.coding.isEncoded, !isKeyframe { state.coding.isPredicted = true }
            guard state.coding.isPredicted else {
                state.coding.lacksKeyFrame = false
                // More of them may be left from what the stream was before, or from a longer latency.
                while state.isFull(for: new.timestamp, bound: state.queue.bound), let lost = state.queue.removeOldest()
                {
                    losing(lost.buffer)
                }
                state.queue.force(new)
                return false
            }
            let isFull = state.isFull(for: new.timestamp, bound: Self.predictedBound)
            if isKeyframe {
                state.coding.lacksKeyFrame = false
                if isFull { state.queue.removeFrames { losing($0.buffer) } }
            } else if isFull || state.coding.lacksKeyFrame {
                state.coding.lacksKeyFrame = true
                losing(new.buffer)
                return true
            }
            state.queue.force(new)
            return false
        }
    }

    /// A buffer was lost to every reader before it could be offered. It counts as one that arrived.
    func countLoss() {
        let now = now()
        monitor.withLock { state in
            if state.isPlaying, !state.isFlushing { state.recordArrival(at: now) }
        }
        statistics.countDrop()
    }

    /// Whether the user should be sending the stream.
    func setExpected(_ isExpected: Bool) {
        let now = now()
        monitor.withLock { state in
            if isExpected { state.stallWatch.expect(at: now) } else { state.stallWatch.stop() }
        }
    }

    func signal(_ signal: Signal) {
        monitor.withLock { state in
            switch signal {
            case .begin: state.coding = Coding()
            case .format(let format):
                state.coding = Coding(isEncoded: format.isEncoded)
                state.stallWatch.setPace(format.pace)
            case .timing, .status, .refused: break
            }
            state.queue.append(signal)
            if state.queue.signalCount > Self.signalBound { state.queue.removeSignals { $0.isOutdated(by: $1) } }
        }
    }

    // MARK: The reader's side

    /// What is queued is lost, and counted; until `resume`.
    func flush() {
        discard { state in
            state.isFlushing = true
            state.stallWatch.interrupt()
        }
    }

    func resume() { monitor.withLock { $0.isFlushing = false } }

    package func play() { monitor.withLock { $0.isPlaying = true } }

    func pause() {
        discard { state in
            state.isPlaying = false
            state.stallWatch.interrupt()
        }
    }

    private func discard(_ body: (inout State) -> Void) {
        var lost: [UnmanagedBuffer] = []
        monitor.withLock { state in
            body(&state)
            state.queue.removeFrames { lost.append($0.buffer) }
        }
        for buffer in lost { lose(buffer) }
    }

    /// `next` says so, ahead of all that waits.
    package func negotiate() { monitor.withLock { $0.isToNegotiate = true } }

    /// `next` says that downstream can't take what was given last.
    func downstreamRefused() { monitor.withLock { $0.isRefusedDownstream = true } }

    /// How much later than its timestamps a frame of the stream may come, as its reader's graph has been told.
    var latency: ClockTime { monitor.withLock { $0.latency } }

    /// True when it has changed.
    func setLatency(_ latency: ClockTime) -> Bool {
        monitor.withLock { state in
            defer { state.latency = latency }
            return state.latency != latency
        }
    }

    /// How long the reader's graph makes frames wait between their timestamps and their sinks: while they wait, the frames
    /// behind them need room.
    func setGraphLatency(_ latency: ClockTime) { monitor.withLock { $0.graphLatency = latency } }

    /// Of all readers of a graph, which may have several sessions.
    static let latencyChanges = GraphCounter("readers-latency")

    func setDemand(_ resolution: Resolution) {
        let stream = monitor.withLock { state -> RoomStream? in
            guard state.demand != resolution else { return nil }
            state.demand = resolution
            return state.stream.stream
        }
        stream?.demandChanged()
    }

    /// Nothing can be shown before the next key frame.
    func requestKeyFrame() { monitor.withLock { $0.stream.stream }?.requestKeyFrame() }

    /// The stream ends for this reader.
    package func end() { monitor.withLock { $0.isEnding = true } }

    /// A new run of the reader's graph.
    func restart() {
        monitor.withLock { state in
            (state.isEnding, state.graphLatency, state.memoryNotice) = (false, .zero, .none)
            state.isRefusedDownstream = false
            state.stallWatch.restart()
        }
    }

    package func lose(_ buffer: UnmanagedBuffer) {
        _ = buffer.take()
        statistics.countDrop()
    }

    /// Waits for something to do, so many microseconds at most; `nil`: until there is.
    package func next(timeout: Int64? = nil) -> Step {
        let step = monitor.wait(timeout: timeout) { state -> Step? in
            guard !state.isFlushing else { return .flush }
            // Of what was there before a negotiation, if there is one.
            guard !state.takeRefusal() else { return .refusedDownstream }
            guard !state.takeNegotiation() else { return .negotiate }
            guard !state.takeMemoryNotice() else { return .memoryFull }
            guard !state.takeResumption() else { return .stalled(false) }
            switch state.queue.take() {
            case .frame(let buffer): return .buffer(buffer)
            case .signal(let signal): return .signal(signal)
            case nil: return state.isEnding ? .end : nil
            }
        }
        return step ?? idle()
    }

    private func idle() -> Step {
        let now = now()
        return monitor.withLock { $0.isPlaying && $0.stallWatch.check(at: now) } ? .stalled(true) : .idle
    }
}
