import GStreamer
import Synchronization

extension Graph {
    /// Plays a part of the graph's files in each run from now on: from one position in the medium to another, `nil` for its
    /// beginning and its end. It holds from the next start. Streams that aren't decoded begin at the key frame before.
    ///
    /// Exact as far as the format is: MPEG transport and program streams are found by estimate, and Matroska's times, which are
    /// whole milliseconds, may let one frame more in.
    ///
    /// Throws `wrongUsage` for an empty range. A run ends with an error where a source can't seek, as a camera can't.
    public func setMediaRange(from start: ClockTime? = nil, to end: ClockTime? = nil) throws(GraphError) {
        if let end, end <= (start ?? .zero) { throw .wrongUsage("the part to play ends before it begins") }
        playedPart.set(from: start, to: end)
    }
}

/// The part of its files that a graph plays in each run. All but `set` on the graph's control queue.
final class PlayedPart: Sendable {
    private struct State: Sendable {
        var start: ClockTime?
        var end: ClockTime?
        var range: MediaRange?
    }

    private let state = Mutex(State())

    func set(from start: ClockTime?, to end: ClockTime?) {
        state.withLock { ($0.start, $0.end) = (start, end) }
    }

    /// The run that goes on, or has ended, has one.
    var isLimited: Bool { state.withLock { $0.range != nil } }

    /// Before a run.
    func begin(in pipeline: Pipeline, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let (start, end) = state.withLock { ($0.start, $0.end) }
        guard start != nil || end != nil else { return }
        let range = MediaRange(in: pipeline, from: start, to: end, enqueue: enqueue) { element in
            element.postError(
                .settings,
                "\(element.name): can't seek, so no part of its stream can be selected (--from, --to); files can be")
        }
        state.withLock { $0.range = range }
    }

    /// After a run.
    func end() {
        let range = state.withLock { $0.range.take() }
        range?.stop()
    }
}
