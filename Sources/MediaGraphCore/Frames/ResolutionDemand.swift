import GStreamer

/// How a pipe's resolution travels upstream: in answers to ALLOCATION queries, where sinks say what buffers they need.
///
/// A pipe lists each height that is enough for it. Where a `tee` asks several branches, what all of them list is left, and
/// the least of that is what the most demanding needs. Whoever knows nothing of this lists none, and gets the stream as it
/// is. Upstream asks again upon RECONFIGURE, which every new link sends, and upon an event of our own: RECONFIGURE itself
/// would have cameras and encoders negotiate for nothing.
extension Resolution {
    package static let demandChanged = Structure("mediagraph-demand-changed")

    /// The heights that are asked for, from the least: what is between two of them is asked for as the next, and the pipe
    /// does the rest.
    private static let heights: [(resolution: Resolution, api: MetaAPI)] = [
        90, 120, 144, 180, 240, 270, 288, 360, 432, 480, 540, 576, 600, 720, 768, 900, 1080, 1200, 1440, 1620, 2160,
    ].map { (Resolution(height: $0)!, MetaAPI(listed: "MediaGraphAtMost\($0)LinesAPI")) }

    /// What a pipe lists that needs no more than this.
    package var sufficient: [MetaAPI] {
        guard self != .native else { return [] }
        return Self.heights.filter { $0.resolution.rawValue >= rawValue }.map(\.api)
    }

    /// What is enough for all who have answered.
    package init(sufficientFor query: AllocationQuery) {
        self = Self.heights.first { query.lists($0.api) }?.resolution ?? .native
    }

    /// For an element that looks at frames itself: it gets them as they are, whatever those behind it need.
    package static func removeDemand(from query: AllocationQuery) { for height in heights { query.remove(height.api) } }

    /// The one that is enough for all; `nil` where there are none.
    package static func greatest(_ list: some Sequence<Resolution>) -> Resolution? {
        list.contains(.native) ? .native : list.max { $0.rawValue < $1.rawValue }
    }
}

extension Resolution: Codable {
    /// From another process. Only what is asked for by that name: a stream makes and keeps a size for each.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let number = try container.decode(Int32.self)
        guard let known = Resolution(rawValue: number),
            known == .native || Self.heights.contains(where: { $0.0 == known })
        else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no resolution has \(number) lines")
        }
        self = known
    }
}
