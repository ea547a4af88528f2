import GStreamer
import MediaGraphElements
import Synchronization

/// What leaves a device's chain: it is counted and looked after, held until there is a place for it, and cut off when the
/// device has gone.
final class DeviceFlow: FlowWatch, @unchecked Sendable {
    // `@unchecked Sendable`: constants, atomics and a monitor.

    enum Gate: Int, AtomicRepresentable {
        /// The first buffer waits.
        case held
        case open
        case cut
    }

    private let gate: Atomic<Gate>
    private let waiting = BlockingMonitor(())
    private let statistics: NodeStatistics
    /// Downstream has been told that the stream is off.
    private let tellsStatus: Bool
    private let isFirst = Atomic<Bool>(true)
    private let firstArrival = Atomic<UInt64>(0)
    private let lastArrival = Atomic<UInt64>(0)
    private let lastEnd = Atomic<UInt64>(0)
    /// What comes before this running time was given to downstream otherwise.
    private let begin = Atomic<UInt64>(0)
    private let happened: @Sendable (Event) -> Void

    enum Event: Sendable {
        /// The first buffer waits.
        case arrived
        /// The first buffer goes out, so late after its timestamp.
        case began(Caps?, at: ClockTime?, latency: ClockTime)
        /// What comes leaves a hole behind what came before; it goes out when this has been heard.
        case resumed
        case ended
    }

    /// - Parameter isHeld: whether what comes first waits for `open`.
    init(
        isHeld: Bool, tellsStatus: Bool, _ statistics: NodeStatistics, _ happened: @escaping @Sendable (Event) -> Void
    ) {
        gate = Atomic(isHeld ? .held : .open)
        self.tellsStatus = tellsStatus
        self.statistics = statistics
        self.happened = happened
    }

    /// Any thread. `begin` is the running time that downstream has had already.
    func open(from begin: ClockTime) {
        self.begin.store(begin.nanoseconds, ordering: .relaxed)
        waiting.withLock { _ in
            _ = gate.compareExchange(expected: .held, desired: .open, ordering: .acquiringAndReleasing)
        }
    }

    /// Nothing goes out any more, and nobody waits. Any thread.
    func cut() { waiting.withLock { _ in gate.store(.cut, ordering: .releasing) } }

    /// Nanoseconds since something came, or since the last `touch`.
    var silence: UInt64 {
        let (now, last) = (monotonicNanoseconds(), lastArrival.load(ordering: .relaxed))
        return now - min(now, last)
    }

    /// Counts as something that came.
    func touch() { lastArrival.store(monotonicNanoseconds(), ordering: .relaxed) }

    /// It begins to flow again: a sound server may have slept.
    func resume() {
        touch()
        firstArrival.store(lastArrival.load(ordering: .relaxed), ordering: .relaxed)
    }

    /// Whether it has given anything.
    var hasBegun: Bool { !isFirst.load(ordering: .relaxed) }

    /// Nanoseconds over which it has given data.
    var span: UInt64 {
        guard !isFirst.load(ordering: .acquiring) else { return 0 }
        let (first, last) = (firstArrival.load(ordering: .relaxed), lastArrival.load(ordering: .relaxed))
        return last - min(first, last)
    }

    /// The running time up to which it has given data; `nil` before it has.
    var end: ClockTime? {
        let end = lastEnd.load(ordering: .relaxed)
        return end == 0 ? nil : ClockTime(nanoseconds: end)
    }

    /// Nanoseconds that are no jitter any more.
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
            // What has no time in the stream isn't the device's coming back.
            guard timestamp.nanoseconds >= begin.load(ordering: .relaxed) else { return false }
            let last = lastEnd.load(ordering: .relaxed)
            if last > 0, timestamp.nanoseconds > last + Self.hole {
                happened(.resumed)
                guard gate.load(ordering: .acquiring) != .cut else { return false }
            }
            let end = timestamp.nanoseconds + (buffer.duration?.nanoseconds ?? 0)
            lastEnd.store(end, ordering: .relaxed)
        }
        touch()
        if isFirst.load(ordering: .relaxed) {
            firstArrival.store(monotonicNanoseconds(), ordering: .relaxed)
            isFirst.store(false, ordering: .releasing)
            if tellsStatus { pad.pushSticky(StreamStatus.event(on: true)) }
            happened(.began(pad.caps, at: timestamp, latency: pad.latency))
            // Whoever hears of it may have found that this isn't the device that was meant.
            guard gate.load(ordering: .acquiring) != .cut else { return false }
        }
        statistics.countFrame()
        return true
    }

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
