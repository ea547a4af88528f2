import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// Watches the buffers that leave a device's chain: counts them, measures silence, holds the first one until the chain
/// is shown downstream, and drops everything after the device was lost.
final class DeviceFlow: FlowWatch, @unchecked Sendable {
    // `@unchecked Sendable`: constants, atomics and a monitor.

    enum Gate: Int, AtomicRepresentable {
        /// The first buffer waits.
        case held
        /// Buffers pass.
        case open
        /// Buffers are dropped.
        case cut
    }

    private let gate: Atomic<Gate>
    private let waiting = BlockingMonitor(())
    private let clock: TimerClock
    private let statistics: NodeStatistics
    /// Whether to send "status on" before the first buffer, because downstream was told that the stream is off.
    private let tellsStatus: Bool
    private let isFirst = Atomic<Bool>(true)
    private let isVideo = Atomic<Bool>(false)
    private let firstArrival = Atomic<UInt64>(0)
    private let lastArrival = Atomic<UInt64>(0)
    private let lastEnd = Atomic<UInt64>(0)
    /// Buffers before this running time are dropped: the stand-in has already filled that time.
    private let begin = Atomic<UInt64>(0)
    private let happened: @Sendable (Event) -> Void

    enum Event: Sendable {
        /// The first buffer has arrived and waits.
        case arrived
        /// The first buffer leaves, with this latency after its timestamp.
        case began(Caps?, at: ClockTime?, latency: Duration)
        /// A buffer arrived after a hole in the stream. It leaves when the event has been handled.
        case resumed
        /// The device's elements have ended the stream.
        case ended
    }

    /// Creates a watch. With `isHeld`, the first buffer waits for `open`. `happened` is called on the streaming thread.
    init(
        isHeld: Bool, tellsStatus: Bool, _ statistics: NodeStatistics, clock: TimerClock,
        _ happened: @escaping @Sendable (Event) -> Void
    ) {
        gate = Atomic(isHeld ? .held : .open)
        self.tellsStatus = tellsStatus
        (self.statistics, self.clock) = (statistics, clock)
        self.happened = happened
    }

    /// Lets buffers pass. Downstream has already been given data up to the running time `begin`. May be called on any
    /// thread.
    func open(from begin: ClockTime) {
        self.begin.store(begin.nanoseconds, ordering: .relaxed)
        waiting.withLock { _ in
            _ = gate.compareExchange(expected: .held, desired: .open, ordering: .acquiringAndReleasing)
        }
    }

    /// Drops all buffers from now on, and ends the wait of the first one. May be called on any thread.
    func cut() { waiting.withLock { _ in gate.store(.cut, ordering: .releasing) } }

    /// Nanoseconds since the last buffer, or since the last `touch`.
    var silence: UInt64 {
        let (now, last) = (clock.now, lastArrival.load(ordering: .relaxed))
        return now - min(now, last)
    }

    /// Restarts the measurement of silence.
    func touch() { lastArrival.store(clock.now, ordering: .relaxed) }

    /// Restarts the measurements for a stream that resumes; its sound server may have been suspended.
    func resume() {
        touch()
        firstArrival.store(lastArrival.load(ordering: .relaxed), ordering: .relaxed)
    }

    /// Whether a buffer has passed.
    var hasBegun: Bool { !isFirst.load(ordering: .relaxed) }

    /// Nanoseconds between the first and the last buffer.
    var span: UInt64 {
        guard !isFirst.load(ordering: .acquiring) else { return 0 }
        let (first, last) = (firstArrival.load(ordering: .relaxed), lastArrival.load(ordering: .relaxed))
        return last - min(first, last)
    }

    /// The running time at which the last buffer ends; `nil` before the first one.
    var end: ClockTime? {
        let end = lastEnd.load(ordering: .relaxed)
        return end == 0 ? nil : ClockTime(nanoseconds: end)
    }

    /// The length in nanoseconds from which a gap counts as a hole rather than jitter.
    private static let hole: UInt64 = 100_000_000

    // MARK: The streaming thread

    override func passes(_ buffer: BufferAccess, at pad: FlowPad) -> Bool {
        switch gate.load(ordering: .acquiring) {
        case .open: break
        case .cut: return false
        case .held: guard waitsForOpening() else { return false }
        }
        let timestamp = buffer.presentationTimestamp
        if let timestamp {
            // Buffers that are too early don't count as the device's return.
            guard timestamp.nanoseconds >= begin.load(ordering: .relaxed) else { return false }
            let last = lastEnd.load(ordering: .relaxed)
            if last > 0, timestamp.nanoseconds > last + Self.hole {
                happened(.resumed)
                guard gate.load(ordering: .acquiring) != .cut else { return false }
            }
            let end = timestamp.nanoseconds + (buffer.durationNanoseconds ?? 0)
            lastEnd.store(end, ordering: .relaxed)
        }
        touch()
        if isFirst.load(ordering: .relaxed) {
            firstArrival.store(clock.now, ordering: .relaxed)
            let caps = pad.caps
            isVideo.store(caps.flatMap(MediaType.init) == .video, ordering: .relaxed)
            isFirst.store(false, ordering: .releasing)
            if tellsStatus { pad.pushSticky(StreamStatus.event(on: true)) }
            happened(.began(caps, at: timestamp, latency: pad.latency))
            // The handler may have found that this is another device, and cut the flow.
            guard gate.load(ordering: .acquiring) != .cut else { return false }
        }
        statistics.countFrame()
        return true
    }

    /// True for video: this is where the device's frames enter the graph.
    override var stampsCaptureTime: Bool { isVideo.load(ordering: .relaxed) }

    private func waitsForOpening() -> Bool {
        touch()
        happened(.arrived)
        return waiting.wait { [self] _ -> Bool? in
            switch gate.load(ordering: .acquiring) {
            case .held: nil
            case .open: true
            case .cut: false
            }
        } ?? false
    }

    override func passesEndOfStream() -> Bool {
        guard gate.load(ordering: .acquiring) == .open else { return false }
        happened(.ended)
        return gate.load(ordering: .acquiring) == .open
    }
}
