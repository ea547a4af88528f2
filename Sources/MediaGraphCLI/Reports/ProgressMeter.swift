import GStreamer
import MediaGraph

/// Computes rates from the counters of a graph's elements.
struct ProgressMeter: Sendable {
    private struct Reading: Sendable {
        var time: Double
        var counts: [String: NodeCounts]
    }

    /// The readings of the last two seconds, oldest first.
    private var readings: [Reading] = []
    private var current: [ElementProgress] = []
    /// The last counters of each element.
    private var latest: [String: NodeCounts] = [:]
    /// The frames that each element had counted before its counter was reset.
    private var earlier: [String: UInt64] = [:]
    private(set) var latencies = LatencySamples()

    /// The time in seconds over which rates are averaged.
    static let window = 2.0

    /// Adds the counters at `time` in seconds, and the latencies of live elements.
    mutating func add(_ progress: [ElementProgress], at time: Double) {
        update(progress)
        let counts = Dictionary(current.map { ($0.name, $0.counts) }, uniquingKeysWith: { first, _ in first })
        readings.append(Reading(time: time, counts: counts))
        while readings.count > 2, readings[1].time <= time - Self.window { readings.removeFirst() }
        for element in progress {
            if let latency = Self.latency(element) { latencies.add(latency) }
        }
    }

    /// Adds the frames from before a counter was reset. GstBaseSink resets its counter at each segment, and muxers send
    /// a segment to seek back and finish a file.
    private mutating func update(_ progress: [ElementProgress]) {
        current = progress.map { element in
            let before = latest[element.name] ?? .none
            if element.counts.frames < before.frames { earlier[element.name, default: 0] += before.frames }
            latest[element.name] = element.counts
            var element = element
            element.counts.frames += earlier[element.name] ?? 0
            return element
        }
    }

    /// Returns the counters, with rates over the last two seconds.
    func sample(at time: Double) -> ProgressSample {
        sample(at: time, since: readings.first ?? Reading(time: 0, counts: [:]))
    }

    /// Adds the final counters and returns them, with rates over the whole run.
    mutating func total(_ progress: [ElementProgress], at time: Double) -> ProgressSample {
        update(progress)
        return sample(at: time, since: Reading(time: 0, counts: [:]))
    }

    private func sample(at time: Double, since begin: Reading) -> ProgressSample {
        let elapsed = time - begin.time
        let rows = current.map { element in
            let (now, before) = (element.counts, begin.counts[element.name] ?? NodeCounts.none)
            let frames = now.frames >= before.frames ? now.frames - before.frames : now.frames
            let handling =
                now.handlerTime >= before.handlerTime ? (now.handlerTime - before.handlerTime).seconds : 0
            return ProgressSample.Row(
                name: element.name, element: element.factory, unit: element.unit.rawValue, frames: now.frames,
                framesPerSecond: elapsed > 0 ? (Double(frames) / elapsed).rounded(toPlaces: 1) : 0,
                dropped: now.dropped,
                endsBranch: element.endsBranch,
                refused: now.refused,
                handlerMilliseconds: element.isNode && frames > 0 && handling > 0
                    ? (handling / Double(frames) * 1000).rounded(toPlaces: 3) : nil,
                latencyMilliseconds: Self.latency(element)?.rounded(toPlaces: 3),
                lateSamples: now.lateSamples == 0 ? nil : now.lateSamples,
                skippedMilliseconds: Self.milliseconds(now.skipped), silenceMilliseconds: Self.milliseconds(now.silence)
            )
        }
        return ProgressSample(time: time.rounded(toPlaces: 3), rows: rows)
    }

    /// Converts a time to milliseconds; `nil` for zero.
    private static func milliseconds(_ time: Duration) -> Double? {
        time == .zero ? nil : (time.seconds * 1000).rounded(toPlaces: 3)
    }

    private static func latency(_ element: ElementProgress) -> Double? {
        // A negative lateness means that data came early, as from a file that is read ahead: there is no latency.
        element.counts.lateness == .zero ? nil : max(0, element.counts.lateness / .milliseconds(1))
    }
}

extension Double {
    func rounded(toPlaces places: Int) -> Double {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
