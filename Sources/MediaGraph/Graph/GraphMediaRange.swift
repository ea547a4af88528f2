import GStreamer
import Synchronization

extension Graph {
    /// Plays a part of the graph's files, between two positions in the medium, in each run that starts from now on. `nil` means
    /// the beginning or the end. Decoded streams begin with the frame that is shown at `start`; others begin at the preceding
    /// key frame, or, from FLV and fragmented MP4, at the next one.
    ///
    /// Accuracy depends on the format. Positions in MPEG transport and program streams are estimates. Matroska's timestamps
    /// are whole milliseconds, so one extra frame may be included.
    ///
    /// Throws `wrongUsage` for an empty range. A run ends with an error if a source can't seek (a camera, say), or if
    /// `mpegpsdemux` is used outside of `decodebin`.
    public func setMediaRange(from start: ClockTime? = nil, to end: ClockTime? = nil) throws(GraphError) {
        if let end, end <= (start ?? .zero) { throw .wrongUsage("the part to play ends before it begins") }
        mediaRange.set(from: start, to: end)
    }
}

/// The part of its files that a graph plays in each run. `begin` and `end` run on the graph's control queue; any thread may
/// call the others.
final class GraphMediaRange: Sendable {
    private struct State: Sendable {
        var start: ClockTime?
        var end: ClockTime?
        var range: MediaRange?
    }

    private let state = Mutex(State())

    func set(from start: ClockTime?, to end: ClockTime?) {
        state.withLock { ($0.start, $0.end) = (start, end) }
    }

    /// Whether the current run plays only a part. Keeps its answer after the run until `end()`.
    var isLimited: Bool { state.withLock { $0.range != nil } }

    /// Before a run.
    func begin(in pipeline: Pipeline, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let (start, end) = state.withLock { ($0.start, $0.end) }
        guard start != nil || end != nil else { return }
        let range = MediaRange(in: pipeline, from: start, to: end, enqueue: enqueue) { element, refusal in
            let reason =
                switch refusal {
                case .cantSeek:
                    "can't seek, so no part of its stream can be played (--from, --to): use a source that can, such as a file"
                case .programStream:
                    "no part of an MPEG program stream can be played here (--from, --to): replace mpegpsdemux with decodebin, or remux the file first, to Matroska, say"
                }
            element.postError(.settings, "\(element.name): \(reason)")
        }
        state.withLock { $0.range = range }
    }

    /// After a run.
    func end() {
        let range = state.withLock { $0.range.take() }
        range?.stop()
    }
}
