import GStreamer
import Synchronization

extension Graph {
    /// Plays a part of the graph's files in each run that starts from now on: from one position in the medium to another,
    /// `nil` for its beginning and its end. The part begins with the frame that is shown at `start`. Streams that aren't
    /// decoded begin at the preceding key frame, or, from FLV and fragmented MP4, at the next one.
    ///
    /// Exact as far as the format is: in an MPEG transport stream positions are estimates, and Matroska's times, which are
    /// whole milliseconds, may let one frame more in.
    ///
    /// Throws `wrongUsage` for an empty range. A run ends with an error where a source can't seek, as a camera can't, and
    /// where an MPEG program stream is demuxed outside of `decodebin`.
    public func setMediaRange(from start: ClockTime? = nil, to end: ClockTime? = nil) throws(GraphError) {
        if let end, end <= (start ?? .zero) { throw .wrongUsage("the part to play ends before it begins") }
        playRange.set(from: start, to: end)
    }
}

/// The part of its files that a graph plays in each run. `begin` and `end` run on the graph's control queue; any thread may
/// call the others.
final class PlayRange: Sendable {
    private struct State: Sendable {
        var start: ClockTime?
        var end: ClockTime?
        var range: MediaRange?
    }

    private let state = Mutex(State())

    func set(from start: ClockTime?, to end: ClockTime?) {
        state.withLock { ($0.start, $0.end) = (start, end) }
    }

    /// Whether the latest run has a range; until `end`.
    var isLimited: Bool { state.withLock { $0.range != nil } }

    /// Before a run.
    func begin(in pipeline: Pipeline, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let (start, end) = state.withLock { ($0.start, $0.end) }
        guard start != nil || end != nil else { return }
        let range = MediaRange(in: pipeline, from: start, to: end, enqueue: enqueue) { element, refusal in
            let reason =
                switch refusal {
                case .cantSeek: "can't seek, so no part of its stream can be selected (--from, --to); files can be"
                case .programStream:
                    "its streams appear one by one, so no part of them can be selected (--from, --to): use decodebin, or remux the file first"
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
