import MediaGraph

/// The progress of a graph's nodes and sinks at one moment, as all reports show it.
struct ProgressSample: Sendable, Equatable {
    struct Row: Codable, Sendable, Equatable {
        var name: String
        /// The name of the factory.
        var element: String
        /// `frames`, or `buffers` for a stock sink that doesn't receive video.
        var unit: String
        var frames: UInt64
        /// The rate over the last two seconds; at the end, over the whole run.
        var framesPerSecond: Double
        var dropped: UInt64
        /// Whether it is the last element of a branch.
        var endsBranch = false
        /// Frames that a node refused; its sender got an error for each.
        var refused: UInt64
        /// The average time per frame in the handler; `nil` if it wasn't measured, and for elements that aren't nodes.
        var handlerMilliseconds: Double?
        /// The time from a live frame's timestamp to its delivery; `nil` for elements other than pipes.
        var latencyMilliseconds: Double?
        /// Samples that came too late for a live mix; `nil` if there are none.
        var lateSamples: UInt64?
        /// Sound that a microphone discarded because the device's clock ran ahead; `nil` if there is none.
        var skippedMilliseconds: Double?
        /// Silence that a microphone inserted where no sound came; `nil` if there is none.
        var silenceMilliseconds: Double?

        /// The losses other than drops, as text; `nil` if there are none.
        var losses: String? {
            var parts: [String] = []
            if refused > 0 { parts.append("\(refused) refused") }
            if let lateSamples { parts.append("\(lateSamples) samples too late") }
            if let skippedMilliseconds { parts.append("\(Numbers.fixed(skippedMilliseconds, 0)) ms skipped") }
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
    }

    /// Seconds since PLAYING.
    var time: Double
    /// The position in the stream and its duration in seconds; `nil` if unknown.
    var position: Double?
    var duration: Double?
    /// One row per node or sink, sources first.
    var rows: [Row]

    /// The row whose frames the summary reports: the first pipe, or else the first sink of frames, or else the last
    /// row.
    var summaryRow: Row? {
        rows.first { $0.element == "rawdatapipe" } ?? rows.first {
            !Nodes.factoryNames.contains($0.element) && $0.unit == "frames"
        } ?? rows.last
    }
}
