import MediaGraph

/// What a graph's nodes and sinks have done by one moment; what every form of report shows.
struct ProgressSample: Sendable, Equatable {
    struct Row: Codable, Sendable, Equatable {
        var name: String
        /// The factory's name.
        var element: String
        var frames: UInt64
        /// Of the last second or two; at the end, of the whole run.
        var framesPerSecond: Double
        var dropped: UInt64
        /// Frames that a sender was told are refused.
        var refused: UInt64
        /// Time in the handler for each frame; nodes only, and only where it was measured.
        var handlerMilliseconds: Double?
        /// From a live frame's time to its delivery; pipes only.
        var latencyMilliseconds: Double?
    }

    /// Seconds since PLAYING.
    var time: Double
    /// The length of the stream in seconds and how far it is, where that is known.
    var position: Double?
    var duration: Double?
    /// Sources first.
    var rows: [Row]

    /// The row that a summary counts by: the first pipe, or else the first sink, or else the last node.
    var summaryRow: Row? {
        rows.first { $0.element == "rawdatapipe" } ?? rows.first { !Nodes.factoryNames.contains($0.element) } ?? rows.last
    }
}

/// Turns counters into rates.
struct ProgressMeter: Sendable {
    private struct Reading: Sendable {
        var time: Double
        var counts: [String: NodeCounts]
    }

    /// The last two seconds, oldest first.
    private var readings: [Reading] = []
    private(set) var latencies = LatencySamples()

    static let window = 2.0

    /// Takes the counters at `time`, and what was live among them as latency samples.
    mutating func add(_ progress: [ElementProgress], at time: Double) {
        let counts = Dictionary(progress.map { ($0.name, $0.counts) }, uniquingKeysWith: { first, _ in first })
        readings.append(Reading(time: time, counts: counts))
        while readings.count > 2, readings[1].time <= time - Self.window { readings.removeFirst() }
        for element in progress {
            if let latency = Self.latency(element) { latencies.add(latency) }
        }
    }

    /// The counters with the rates of the last seconds.
    func sample(_ progress: [ElementProgress], at time: Double) -> ProgressSample {
        sample(progress, at: time, since: readings.first ?? Reading(time: 0, counts: [:]))
    }

    /// The counters with the rates of the whole run.
    func total(_ progress: [ElementProgress], at time: Double) -> ProgressSample {
        sample(progress, at: time, since: Reading(time: 0, counts: [:]))
    }

    private func sample(_ progress: [ElementProgress], at time: Double, since begin: Reading) -> ProgressSample {
        let rows = progress.map { element in
            let (now, before) = (element.counts, begin.counts[element.name] ?? NodeCounts.none)
            // Counters begin anew when an element is restarted inside the graph.
            let frames = now.frames >= before.frames ? now.frames - before.frames : now.frames
            let handling = now.handlerTime >= before.handlerTime ? now.handlerTime.seconds - before.handlerTime.seconds : 0
            let elapsed = time - begin.time
            return ProgressSample.Row(
                name: element.name, element: element.factory, frames: now.frames,
                framesPerSecond: elapsed > 0 ? (Double(frames) / elapsed).rounded(toPlaces: 1) : 0, dropped: now.dropped,
                refused: now.refused,
                handlerMilliseconds: element.isNode && frames > 0 && handling > 0
                    ? (handling / Double(frames) * 1000).rounded(toPlaces: 3) : nil,
                latencyMilliseconds: Self.latency(element)?.rounded(toPlaces: 3))
        }
        return ProgressSample(time: time.rounded(toPlaces: 3), rows: rows)
    }

    private static func latency(_ element: ElementProgress) -> Double? {
        element.counts.lateness == 0 ? nil : Double(element.counts.lateness) / 1_000_000
    }
}

extension Double {
    func rounded(toPlaces places: Int) -> Double {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
