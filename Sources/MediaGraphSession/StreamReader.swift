import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A bounded queue between a stream's publisher and one reader, so that neither waits for the other.
///
/// If the reader is slow, buffers are dropped for it alone and counted. Of a raw stream, the oldest frame is dropped.
/// Of an encoded stream, new frames are dropped until the next key frame, which then replaces the whole queue. Encoded
/// frames before the reader's first key frame are skipped.
package final class StreamReader: Sendable {
    /// The number of queued signals above which outdated ones are removed. Only a stuck reader has so many.
    private static let signalBound = 32
    /// The number of frames of an encoded stream that may wait. More than of a raw stream, because they are small, and
    /// a lost frame makes all frames up to the next key frame useless.
    private static let predictedBound = 8

    /// A queued buffer.
    package struct Frame: TimedMedia, Sendable {
        package let buffer: UnmanagedBuffer
        /// The frame's number in the stream, the same for every reader.
        package let number: UInt64

        package var timestamp: ClockTime? { buffer.access.decodingTimestamp ?? buffer.access.presentationTimestamp }
        package var byteCount: Int { buffer.access.size }
    }

    /// The next thing for the reader to do.
    package enum Step {
        case buffer(Frame)
        case signal(Signal)
        /// Negotiate again, because downstream may want another format.
        case negotiate
        /// Warn that frames were dropped: the graph's latency would require more memory than the queue may use. Once
        /// per run.
        case memoryFull
        /// Handle that downstream rejected the last format.
        case refusedDownstream
        /// Report that the stream has stalled, or, with false, resumed.
        case stalled(Bool)
        /// Nothing arrived within the timeout.
        case idle
        /// Return at once, because the element is flushing.
        case flush
        /// End the stream, because the graph was asked to.
        case end
    }

    private struct State: Sendable {
        var queue: BoundedQueue<Frame, Signal>
        var coding = Coding()
        /// Whether the graph is PLAYING. Buffers that arrive during a pause are dropped, since they would be shown
        /// late.
        var isPlaying = false
        var isFlushing = false
        var isEnding = false
        var isToNegotiate = false
        /// `nil` until downstream has been asked.
        var demand: Resolution?
        var stream = StreamReference()
        var prefersEncoded = false
        var latency = Duration.zero
        var graphLatencyNanoseconds: UInt64 = 0
        var memoryNotice = MemoryNotice.none
        var isRefusedDownstream = false
        var stallWatch = StallWatch()
        /// Whether a stall has ended and the reader hasn't been told yet.
        var hasResumed = false
        /// The timestamp of the last repeated frame, which is the time of its repetition. A frame that follows may have been
        /// captured before.
        var repeatedTimestamp: ClockTime?

        mutating func takeResumption() -> Bool {
            defer { hasResumed = false }
            return hasResumed
        }

        /// Returns the frame with a timestamp after that of a frame that was offered again. With an earlier one, `vp8enc` and
        /// `vp9enc` 1.22 would encode it, and drop the result without saying so.
        mutating func inOrder(_ buffer: BufferAccess) -> UnmanagedBuffer {
            guard let last = repeatedTimestamp, let timestamp = buffer.presentationTimestamp, timestamp <= last else {
                repeatedTimestamp = nil
                return UnmanagedBuffer(buffer.retained)
            }
            let moved = buffer.retained.writable()
            // More than a tick of RTP's clocks.
            let next = ClockTime(nanoseconds: last.nanoseconds + 1_000_000)
            moved.access.presentationTimestamp = next
            repeatedTimestamp = next
            return UnmanagedBuffer(moved)
        }

        mutating func recordArrival(at now: Int64) { hasResumed = stallWatch.recordArrival(at: now) || hasResumed }

        /// Whether there is no room for a frame with this timestamp.
        mutating func isFull(for timestamp: ClockTime?, bound: Int) -> Bool {
            guard queue.isFull(for: timestamp, bound: bound, latencyNanoseconds: graphLatencyNanoseconds) else {
                return false
            }
            if memoryNotice == .none, graphLatencyNanoseconds > 0, queue.frameCount > bound, queue.isMemoryFull {
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

    /// How the stream's frames depend on each other.
    private struct Coding: Sendable {
        let isEncoded: Bool
        /// Whether frames have arrived that depend on earlier ones.
        var isPredicted = false
        /// Whether frames can't be decoded until the next key frame: before the first one, and after a frame was lost.
        var lacksKeyFrame: Bool

        /// The state at the beginning of a stream.
        init(isEncoded: Bool = false) { (self.isEncoded, lacksKeyFrame) = (isEncoded, isEncoded) }
    }

    private struct StreamReference: Sendable {
        weak var stream: RoomStream?
    }

    package let statistics: NodeStatistics
    private let monitor: BlockingMonitor<State>
    /// Whether a share's last frame is wanted again, unless another one comes soon. Read for each frame, so it isn't behind the
    /// lock.
    private let wantsLatest = Atomic<Bool>(false)
    /// The clock by which a stream stalls.
    private let clock: TimerClock
    /// The clock's time in microseconds.
    private func now() -> Int64 { Int64(clock.now / 1000) }

    /// - Parameters:
    ///   - bound: The number of raw buffers that may wait.
    ///   - statistics: Counts the buffers that are read and dropped.
    ///   - clock: The clock by which a stream stalls.
    package init(bound: Int, statistics: NodeStatistics = NodeStatistics(), clock: TimerClock = .system) {
        self.statistics = statistics
        self.clock = clock
        monitor = BlockingMonitor(State(queue: BoundedQueue(bound: bound, policy: .dropOldest)))
    }

    // MARK: The stream's side

    /// The resolution that is sufficient for this reader; `nil` until downstream has been asked.
    var demand: Resolution? { monitor.withLock { $0.demand } }

    /// Sets the stream that this reader reads. With `nil`, drops everything that is queued.
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

    /// Queues a buffer. Never waits. Passes dropped buffers to `losing`; the caller releases them without holding a
    /// lock. Returns true if the reader can show nothing before the next key frame.
    func offer(_ buffer: BufferAccess, number: UInt64, losing: (UnmanagedBuffer) -> Void) -> Bool {
        let isKeyframe = buffer.isKeyframe
        let now = now()
        return monitor.withLock { state in
            guard state.isPlaying, !state.isFlushing else {
                state.coding.lacksKeyFrame = state.coding.isEncoded
                return false
            }
            state.recordArrival(at: now)
            let new = Frame(buffer: state.inOrder(buffer), number: number)
            if state.coding.isEncoded, !isKeyframe { state.coding.isPredicted = true }
            guard state.coding.isPredicted else {
                state.coding.lacksKeyFrame = false
                // A loop, because the queue may hold more frames than allowed now, from before a change of format or
                // latency.
                while state.isFull(for: new.timestamp, bound: state.queue.bound), let lost = state.queue.removeOldest()
                {
                    losing(lost.buffer)
                }
                state.queue.appendBeyondBound(new)
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
            state.queue.appendBeyondBound(new)
            return false
        }
    }

    /// Queues a raw frame that has been offered before, if nothing else is queued.
    func offerAgain(_ buffer: BufferAccess, number: UInt64) {
        monitor.withLock { state in
            guard state.isPlaying, !state.isFlushing, state.queue.frameCount == 0 else { return }
            state.queue.appendBeyondBound(Frame(buffer: UnmanagedBuffer(buffer.retained), number: number))
            state.repeatedTimestamp = buffer.presentationTimestamp
        }
    }

    /// Counts a buffer that was lost to every reader before it could be offered. For stall detection it has arrived.
    func countLoss() {
        let now = now()
        monitor.withLock { state in
            if state.isPlaying, !state.isFlushing { state.recordArrival(at: now) }
        }
        statistics.countDrop()
    }

    /// Tells the reader that buffers will be missing from now on. Encoded buffers after the gap can be decoded only
    /// from a key frame on.
    func buffersWillBeMissing() { monitor.withLock { $0.coding.lacksKeyFrame = $0.coding.isEncoded } }

    /// Sets whether the user should be sending the stream.
    func setExpected(_ isExpected: Bool) {
        let now = now()
        monitor.withLock { state in
            if isExpected { state.stallWatch.expect(at: now) } else { state.stallWatch.stop() }
        }
    }

    /// Queues a signal behind the queued buffers.
    func signal(_ signal: Signal) {
        monitor.withLock { state in
            switch signal {
            case .begin: (state.coding, state.repeatedTimestamp) = (Coding(), nil)
            case .format(let format):
                state.coding = Coding(isEncoded: format.isEncoded)
                state.stallWatch.setPace(format.pace)
            case .timing, .status, .alpha, .refused: break
            }
            state.queue.append(signal)
            if state.queue.signalCount > Self.signalBound { state.queue.removeSignals { $0.isOutdated(by: $1) } }
        }
    }

    // MARK: The reader's side

    /// Drops and counts what is queued. Buffers that arrive until `resume` are dropped without being counted.
    func flush() {
        discard { state in
            state.isFlushing = true
            state.stallWatch.interrupt()
        }
    }

    /// Ends flushing.
    func resume() { monitor.withLock { $0.isFlushing = false } }

    /// Accepts buffers from now on. Called when the graph goes to PLAYING.
    package func play() { monitor.withLock { $0.isPlaying = true } }

    /// Drops and counts what is queued. Buffers that arrive until `play` are dropped without being counted.
    func pause() {
        discard { state in
            state.isPlaying = false
            state.stallWatch.interrupt()
        }
    }

    /// Removes what is queued, without counting it.
    func takeFrames() -> [UnmanagedBuffer] {
        monitor.withLock { state in
            var frames: [UnmanagedBuffer] = []
            state.queue.removeFrames { frames.append($0.buffer) }
            return frames
        }
    }

    private func discard(_ body: (inout State) -> Void) {
        var lost: [UnmanagedBuffer] = []
        monitor.withLock { state in
            body(&state)
            state.queue.removeFrames { lost.append($0.buffer) }
        }
        for buffer in lost { drop(buffer) }
    }

    /// Makes `next` return `negotiate`, ahead of everything that is queued.
    package func negotiate() { monitor.withLock { $0.isToNegotiate = true } }

    /// Makes `next` return `refusedDownstream`, ahead of everything that is queued.
    func downstreamRefused() { monitor.withLock { $0.isRefusedDownstream = true } }

    /// The stream's latency as the reader's graph knows it: how much later than its timestamp a frame may arrive.
    var latency: Duration { monitor.withLock { $0.latency } }

    /// Sets the stream's latency. Returns whether it has changed.
    func setLatency(_ latency: Duration) -> Bool {
        monitor.withLock { state in
            defer { state.latency = latency }
            return state.latency != latency
        }
    }

    /// Sets the latency of the reader's graph, for which sinks hold frames back. The queue needs room for the frames
    /// that arrive in this time.
    func setGraphLatency(_ latency: Duration) {
        monitor.withLock { $0.graphLatencyNanoseconds = latency.nanoseconds }
    }

    /// Counts the latency changes of all readers of a graph, which may have several sessions.
    static let latencyChanges = GraphCounter("readers-latency")

    /// Sets the resolution that is sufficient for this reader; `nil` if it can't show the stream.
    package func setDemand(_ resolution: Resolution?) {
        let stream = monitor.withLock { state -> RoomStream? in
            guard state.demand != resolution else { return nil }
            state.demand = resolution
            return state.stream.stream
        }
        stream?.demandChanged()
    }

    /// Reads the encoded form of the stream from now on, if there is one, or the decoded one again. Returns whether the form
    /// changes; then its format follows.
    @discardableResult
    func setPrefersEncoded(_ prefersEncoded: Bool) -> Bool {
        let stream = monitor.withLock { state in
            state.prefersEncoded = prefersEncoded
            return state.stream.stream
        }
        return stream?.setPrefersEncoded(prefersEncoded, self) ?? false
    }

    /// Whether this reader reads a stream's encoded form, if there is one.
    var prefersEncoded: Bool { monitor.withLock { $0.prefersEncoded } }

    /// How long a reader of a share that wants the last frame waits for another one, in nanoseconds.
    private static let latestDelay: UInt64 = 100_000_000

    /// Makes a share's last frame come again, if no other one comes soon. Takes effect with the next call of `next`.
    package func requestLatestWhenIdle() {
        let isShare = monitor.withLock { $0.stream.stream }?.key.kind == .share
        if isShare { wantsLatest.store(true, ordering: .releasing) }
    }

    /// Requests a share's last frame again.
    func requestLatest() { monitor.withLock { $0.stream.stream }?.offerLatest(to: self) }

    /// Asks the sender for a key frame.
    func requestKeyFrame() { monitor.withLock { $0.stream.stream }?.requestKeyFrame() }

    /// Makes `next` return `end` after everything that is queued.
    package func end() { monitor.withLock { $0.isEnding = true } }

    /// Prepares for a new run of the reader's graph.
    func restart() {
        monitor.withLock { state in
            (state.isEnding, state.graphLatencyNanoseconds, state.memoryNotice) = (false, 0, .none)
            state.isRefusedDownstream = false
            state.stallWatch.restart()
        }
    }

    /// Releases a buffer that isn't shown, and counts it as dropped.
    package func drop(_ buffer: UnmanagedBuffer) {
        _ = buffer.take()
        statistics.countDrop()
    }

    /// Waits for the next step, at most for the timeout; with `nil`, as long as it takes.
    package func next(timeoutNanoseconds: UInt64? = nil) -> Step {
        let wantsLatest = wantsLatest.load(ordering: .acquiring)
        let timeout = wantsLatest ? min(timeoutNanoseconds ?? .max, Self.latestDelay) : timeoutNanoseconds
        let step = monitor.wait(timeoutNanoseconds: timeout) { state -> Step? in
            guard !state.isFlushing else { return .flush }
            // First, because it refers to the format before a negotiation that may be due.
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
        if let step {
            if wantsLatest, case .buffer = step { self.wantsLatest.store(false, ordering: .relaxed) }
            return step
        }
        guard wantsLatest else { return idle() }
        self.wantsLatest.store(false, ordering: .relaxed)
        requestLatest()
        return next(timeoutNanoseconds: timeoutNanoseconds)
    }

    private func idle() -> Step {
        let now = now()
        return monitor.withLock { $0.isPlaying && $0.stallWatch.check(at: now) } ? .stalled(true) : .idle
    }
}
