import GStreamer

extension Graph {
    /// Plays a part of the graph's files in each run from now on: from one position in the medium to another, `nil` for its
    /// beginning and its end. Call it before the graph is started. Streams that aren't decoded begin at the key frame before.
    ///
    /// Throws `wrongUsage` for an empty range. A run ends with an error where a source can't seek, as a camera can't.
    public func setMediaRange(from start: ClockTime? = nil, to end: ClockTime? = nil) throws(GraphError) {
        if let end, end <= (start ?? .zero) { throw .wrongUsage("the part to play ends before it begins") }
        let range = MediaRange(from: start, to: end) { [weak self] body in
            self?.enqueue(body)
        } refused: { element in
            element.postError(
                .settings,
                "\(element.name): can't seek, so no part of its stream can be selected (--from, --to); files can be")
        }
        mediaRange.withLock { $0 = range }
    }
}
