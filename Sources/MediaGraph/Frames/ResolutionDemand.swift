import GStreamer

/// How a pipe's resolution travels upstream: in answers to ALLOCATION queries, where sinks say what buffers they need.
///
/// A pipe lists each height that is enough for it. Where a `tee` asks several branches, what all of them list is left, and
/// the least of that is what the most demanding needs. Whoever knows nothing of this lists none, and gets the stream as it
/// is. Upstream asks again upon RECONFIGURE, which every new link sends, and upon an event of our own: RECONFIGURE itself
/// would have cameras and encoders negotiate for nothing.
extension Resolution {
    static let demandChanged = Structure("mediagraph-demand-changed")

    private static let heights = allCases.filter { $0 != .native }.sorted { $0.rawValue < $1.rawValue }
        .map { (resolution: $0, api: MetaAPI(listed: "MediaGraphAtMost\($0.rawValue)LinesAPI")) }

    /// What a pipe lists that needs no more than this.
    var sufficient: [MetaAPI] {
        guard self != .native else { return [] }
        return Self.heights.filter { $0.resolution.rawValue >= rawValue }.map(\.api)
    }

    /// What is enough for all who have answered.
    init(sufficientFor query: AllocationQuery) {
        self = Self.heights.first { query.lists($0.api) }?.resolution ?? .native
    }

    /// For an element that looks at frames itself: it gets them as they are, whatever those behind it need.
    static func removeDemand(from query: AllocationQuery) { for height in heights { query.remove(height.api) } }

    /// The one that is enough for all; `nil` where there are none.
    static func greatest(_ list: some Sequence<Resolution>) -> Resolution? {
        list.contains(.native) ? .native : list.max { $0.rawValue < $1.rawValue }
    }
}

extension Resolution: Codable {}
