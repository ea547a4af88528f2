import MediaGraph

/// What a graph's nodes and sinks have done by one moment; what every form of report shows.
struct ProgressSample: Sendable, Equatable {
    struct Row: Codable, Sendable, Equatable {
        var name: String
        /// The factory's name.
        var element: String
        /// "frames", or "buffers" for a stock sink that gets no pictures.
        var unit: String
        var frames: UInt64
        /// Of the last second or two; at the end, of the whole run.
        var framesPerSecond: Double
        var dropped: UInt64
        /// Whether it is the last element of a branch.
        var endsBranch = false
        /// Frames that a sender was told are refused.
        var refused: UInt64
        /// Time in the handler for each frame; nodes only, and only where it was measured.
        var handlerMilliseconds: Double?
        /// From a live frame's time to its delivery; pipes only.
        var latencyMilliseconds: Double?
        /// Of sound, where there is any of it: samples that came too late for a live mix, what a microphone left out because
        /// its clock ran ahead, and silence that it put where none came.
        var lateSamples: UInt64?
        var skippedMilliseconds: Double?
        var silenceMilliseconds: Double?

        /// What was lost otherwise than by a drop, for people; `nil` where nothing was.
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
    /// The length of the stream in seconds and how far it is, where that is known.
    var position: Double?
    var duration: Double?
    /// Sources first.
    var rows: [Row]

    /// The row that a summary counts by: the first pipe, or else the first sink, or else the last node.
    var summaryRow: Row? {
        rows.first { $0.element == "rawdatapipe" } ?? rows.first {
            !Nodes.factoryNames.contains($0.element) && $0.unit == "frames"
        } ?? rows.last
    }
}
