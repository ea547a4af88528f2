import GStreamer
import MediaGraph

/// Turns counters into rates.
struct ProgressMeter: Sendable {
    private struct Reading: Sendable {
        var time: Double
        var counts: [String: NodeCounts]
    }

    /// The last two seconds, oldest first.
    private var readings: [Reading] = []
    private var current: [ElementProgress] = []
    /// Each element's counters as they were last, and frames from before they began anew.
    private var latest: [String: NodeCounts] = [:]
    private var earlier: [String: UInt64] = [:]
    private(set) var latencies = LatencySamples()

    static let window = 2.0

    /// Takes the counters at `time`, and what was live among them as latency samples.
    mutating func add(_ progress: [ElementProgress], at time: Double) {
        update(progress)
        let counts = Dictionary(current.map { ($0.name, $0.counts) }, uniquingKeysWith: { first, _ in first })
        readings.append(Reading(time: time, counts: counts))
        while readings.count > 2, readings[1].time <= time - Self.window { readings.removeFirst() }
        for element in progress {
            if let latency = Self.latency(element) { latencies.add(latency) }
        }
    }

    /// Adds what an element had counted before it began anew: GstBaseSink does so at each segment, and muxers send one to go
    /// back and finish a file.
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

    /// The counters with the rates of the last seconds.
    func sample(at time: Double) -> ProgressSample {
        sample(at: time, since: readings.first ?? Reading(time: 0, counts: [:]))
    }

    /// The last counters of all, with the rates of the whole run.
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
                now.handlerTime >= before.handlerTime ? now.handlerTime.seconds - before.handlerTime.seconds : 0
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

    /// `nil` for none.
    private static func milliseconds(_ time: ClockTime) -> Double? {
        time == .zero ? nil : (time.seconds * 1000).rounded(toPlaces: 3)
    }

    private static func latency(_ element: ElementProgress) -> Double? {
        // Less than nothing is what came before its time, as of a file that is read ahead: no latency.
        element.counts.lateness == 0 ? nil : max(0, Double(element.counts.lateness) / 1_000_000)
    }
}

extension Double {
    func rounded(toPlaces places: Int) -> Double {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
