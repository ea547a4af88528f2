import GStreamer
import Synchronization

extension Graph {
    /// Plays only the part of the graph's files between two positions, in each run that starts from now on. `nil` means
    /// the beginning or the end. Decoded streams begin with the frame that is shown at `start`; others begin at the
    /// preceding key frame, or, in FLV and fragmented MP4, at the next one.
    ///
    /// Accuracy depends on the format. Positions in MPEG transport and program streams are estimates. Matroska's
    /// timestamps are whole milliseconds, so one extra frame may be included.
    ///
    /// Throws `wrongUsage` for an empty range. A run ends with an error if a source can't seek, such as a camera; if a
    /// stream that isn't decoded has no key frame in the range; if the input ends before `start`; or if `mpegpsdemux`
    /// is used outside of `decodebin`.
    public func setMediaRange(from start: ClockTime? = nil, to end: ClockTime? = nil) throws(GraphError) {
        if let end, end <= (start ?? .zero) { throw .wrongUsage("the part to play ends before it begins") }
        mediaRange.set(from: start, to: end)
    }
}

/// The part of its files that a graph plays in each run. `begin` and `end` are called on the graph's control queue, the
/// other members on any thread.
final class GraphMediaRange: Sendable {
    private struct State: Sendable {
        var start: ClockTime?
        var end: ClockTime?
        var range: MediaRange?
    }

    private let state = Mutex(State())

    /// Returns a time in seconds, rounded to milliseconds, such as `2.996`.
    private static func text(_ seconds: Double) -> String { "\((seconds * 1000).rounded() / 1000)" }

    func set(from start: ClockTime?, to end: ClockTime?) {
        state.withLock { ($0.start, $0.end) = (start, end) }
    }

    /// The range that the current run plays; `nil` between `end()` and the next `begin`, and without a range.
    var current: MediaRange? { state.withLock { $0.range } }

    /// Applies the range to the coming run.
    func begin(in pipeline: Pipeline, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let (start, end) = state.withLock { ($0.start, $0.end) }
        guard start != nil || end != nil else { return }
        let range = MediaRange(in: pipeline, from: start, to: end, enqueue: enqueue) { element, refusal in
            let reason =
                switch refusal {
                case .cantSeek:
                    "can't seek, so no part of its stream can be played (--from, --to): use a source that can, such as a file"
                case .programStream:
                    "no part of an MPEG program stream can be played here (--from, --to): replace mpegpsdemux with decodebin, or remux the file first, for example to Matroska"
                case .isPastEnd(let duration):
                    "can't start at \(Self.text((start ?? .zero).seconds)) s (--from): the input is only \(Self.text(duration.seconds)) s long"
                }
            element.postError(.settings, "\(element.name): \(reason)")
        }
        state.withLock { $0.range = range }
    }

    /// Removes the range after a run.
    func end() {
        let range = state.withLock { $0.range.take() }
        range?.stop()
    }
}
