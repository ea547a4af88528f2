import GStreamer
import MediaGraphCore

/// Computes the statistics of a session's streams once a second.
///
/// The streams only count; the meter reads the counters and the clock, so that no frame costs more than that.
final class StreamMeter: Sendable {
    /// A stream's counters at one moment, without rates, and the name of its pad.
    typealias Reading = (pad: String, counters: StreamStatistics)

    private struct State: Sendable {
        var isStopped = false
        /// The counters at `time`, with the rates until then.
        var last: [String: StreamStatistics] = [:]
        var time: UInt64
    }

    private static let interval = Duration.seconds(1)
    private let clock: TimerClock
    private let monitor: BlockingMonitor<State>

    /// Starts to measure.
    ///
    /// - Parameters:
    ///   - clock: The clock that determines a second.
    ///   - read: Returns the current counters. Called without a lock of the meter.
    ///   - report: Called every second with the statistics by pad, while there are streams and once when there are none any
    ///     more. The meter's thread calls it, and `read`; they must not keep the session alive.
    init(
        clock: TimerClock, read: @escaping @Sendable () -> [Reading],
        report: @escaping @Sendable ([String: StreamStatistics]) -> Void
    ) {
        self.clock = clock
        monitor = BlockingMonitor(State(time: clock.now))
        NativeThread("session-meter") { [self] in
            var hasStreams = false
            while waitForNextSecond() {
                let statistics = measure(read())
                if hasStreams || !statistics.isEmpty { report(statistics) }
                hasStreams = !statistics.isEmpty
            }
        }.detach()
    }

    /// Ends the meter's thread. A report that is on its way may still come.
    func stop() { monitor.withLock { $0.isStopped = true } }

    /// The statistics of the last second, by pad.
    var latest: [String: StreamStatistics] { monitor.withLock { $0.last } }

    /// Returns false when the meter has been stopped.
    private func waitForNextSecond() -> Bool {
        let deadline = clock.time(after: Self.interval)
        let isStopped = monitor.wait(until: deadline, on: clock) { $0.isStopped ? true : nil }
        return isStopped != true
    }

    /// Computes the rates since the last call.
    private func measure(_ readings: [Reading]) -> [String: StreamStatistics] {
        let now = clock.now
        return monitor.withLock { state in
            let seconds = Double(now - state.time) / 1_000_000_000
            let last = state.last
            state.time = now
            state.last = Dictionary(
                readings.map { pad, counters in
                    // The counters of a stream that is new, or begins again, start at zero.
                    let before = last[pad].flatMap { $0.frames <= counters.frames ? $0 : nil }
                    var new = counters
                    // Further digits would only be noise.
                    let frames = Double(counters.frames - (before?.frames ?? 0))
                    new.framesPerSecond = (100 * frames / seconds).rounded() / 100
                    let bits = Double(8 * (counters.bytes - min(before?.bytes ?? 0, counters.bytes)))
                    new.bitsPerSecond = (bits / seconds).rounded()
                    return (pad, new)
                }, uniquingKeysWith: { first, _ in first })
            return state.last
        }
    }
}
