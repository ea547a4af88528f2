import GStreamer

/// How a pipe's resolution travels upstream: in answers to ALLOCATION queries, in which sinks describe the buffers they
/// need.
///
/// A pipe lists each height that is sufficient for it. A `tee` keeps only the heights that all its branches list, and
/// the lowest of these is sufficient for the most demanding branch. Elements that don't know this protocol list no
/// heights, and get the stream at its native size. Upstream queries again on RECONFIGURE, which every new link sends,
/// and on our own `mediagraph-demand-changed` event: a RECONFIGURE instead would make cameras and encoders renegotiate
/// for nothing.
extension Resolution {
    package static let demandChanged = Structure("mediagraph-demand-changed")

    /// The heights that pipes ask for, in ascending order. A pipe with a height between two of them asks for the next
    /// higher one, and scales the frames down itself.
    private static let heights: [(resolution: Resolution, api: MetaAPI)] = [
        90, 120, 144, 180, 240, 270, 288, 360, 432, 480, 540, 576, 600, 720, 768, 900, 1080, 1200, 1440, 1620, 2160,
    ].map { (Resolution(height: $0)!, MetaAPI(listed: "MediaGraphAtMost\($0)LinesAPI")) }

    /// The heights that a pipe with this resolution lists.
    package var sufficient: [MetaAPI] {
        guard self != .native else { return [] }
        return Self.heights.filter { $0.resolution.rawValue >= rawValue }.map(\.api)
    }

    /// The resolution that is sufficient for all elements that answered the query.
    package init(sufficientFor query: AllocationQuery) {
        self = Self.heights.first { query.lists($0.api) }?.resolution ?? .native
    }

    /// Removes the listed heights. An element that uses frames itself calls this to get them at their native size,
    /// whatever the elements downstream need.
    package static func removeDemand(from query: AllocationQuery) { for height in heights { query.remove(height.api) } }

    /// Returns the resolution that is sufficient for all in the list; `nil` if the list is empty.
    package static func greatest(_ list: some Sequence<Resolution>) -> Resolution? {
        list.contains(.native) ? .native : list.max { $0.rawValue < $1.rawValue }
    }
}

extension Resolution: Codable {
    /// Decodes a resolution from another process. Accepts only the listed heights: a stream keeps a scaled size for
    /// each one.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let number = try container.decode(Int32.self)
        guard let known = Resolution(rawValue: number),
            known == .native || Self.heights.contains(where: { $0.0 == known })
        else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(number) lines isn't a resolution that pipes ask for")
        }
        self = known
    }
}
