import GStreamer
import MediaGraphCore

/// What a session and its readers need from a camera: the answer to a query that a source sends downstream.
/// `mediasession` answers the query, and sends `Resolution.demandChanged` upstream if the answer changes. Without one,
/// as outside a session, only downstream's caps limit the source.
package struct VideoDemand: Sendable, Equatable {
    /// The largest size and rate that the session is configured for.
    var limit: VideoCapability
    /// The height that is sufficient for all readers; `native` if a reader accepts any height or there are no readers.
    var resolution: Resolution

    package init(limit: VideoCapability, resolution: Resolution) { (self.limit, self.resolution) = (limit, resolution) }

    private static let queryName = "mediagraph-video-demand"

    /// Answers the query at the session's pad.
    package static func answer(at pad: Pad, _ demand: @escaping @Sendable () -> VideoDemand) {
        pad.answer(queryName) {
            let demand = demand()
            return [
                ("width", Int32(clamping: demand.limit.width)), ("height", Int32(clamping: demand.limit.height)),
                ("framerate", demand.limit.framesPerSecond), ("resolution", demand.resolution.rawValue),
            ]
        }
    }

    /// Sends the query downstream from a source's pad; `nil` if nobody answers.
    init?(askedAt pad: Pad) {
        guard let answer = pad.askDownstream(Self.queryName), let width: Int32 = answer["width"],
            let height: Int32 = answer["height"], let rate: Fraction = answer["framerate"],
            let resolution = (answer["resolution"] as Int32?).flatMap(Resolution.init(rawValue:))
        else { return nil }
        limit = VideoCapability(width: Int(width), height: Int(height), framesPerSecond: rate)
        self.resolution = resolution
    }

    /// What a source should send if it can send anything: the limit, in its shape scaled down to the height that is
    /// sufficient for the readers.
    var ideal: VideoCapability {
        let height = Int(resolution.rawValue)
        guard resolution != .native, height < limit.height else { return limit }
        // Even, because 4:2:0 formats need an even width.
        let width = max(2, (limit.width * height / limit.height + 1) & ~1)
        return VideoCapability(width: width, height: height, framesPerSecond: limit.framesPerSecond)
    }

    /// Whether the capability is within the session's limit.
    func allows(_ capability: VideoCapability) -> Bool {
        limit.hasRoom(for: capability) && capability.framesPerSecond.value <= limit.framesPerSecond.value
    }

    /// Returns the capability to suggest: of those within the session's limit, the smallest that is high enough for all
    /// readers, or else the largest, at the highest rate within the limit. If the source has none within the
    /// limit, returns the one that exceeds it least.
    func suggestion(from list: [VideoCapability]) -> VideoCapability? {
        let fitting = list.filter { limit.hasRoom(for: $0) }
        let within = fitting.filter(allows)
        let candidates = [within, fitting, list].first { !$0.isEmpty } ?? []
        let sufficient = resolution == .native ? [] : candidates.filter { $0.height >= resolution.rawValue }
        let area =
            fitting.isEmpty
            ? candidates.map(\.area).min() : sufficient.map(\.area).min() ?? candidates.map(\.area).max()
        let sized = candidates.filter { $0.area == area }
        let (slow, fast) = (
            sized.filter { $0.framesPerSecond.value <= limit.framesPerSecond.value },
            sized.filter { $0.framesPerSecond.value > limit.framesPerSecond.value }
        )
        return slow.max { $0.framesPerSecond.value < $1.framesPerSecond.value }
            ?? fast.min { $0.framesPerSecond.value < $1.framesPerSecond.value }
    }
}

extension VideoCapability {
    fileprivate var area: Int { width * height }

    /// Whether a frame of that size fits within this size, as it is or turned by 90°.
    fileprivate func hasRoom(for other: VideoCapability) -> Bool {
        max(other.width, other.height) <= max(width, height) && min(other.width, other.height) <= min(width, height)
    }
}

/// What downstream says about the format that a source may send.
struct DownstreamConstraints: Sendable {
    /// The caps that downstream accepts; `nil` for anything.
    var caps: Caps?
    /// What a session wants; `nil` outside of one.
    var demand: VideoDemand?

    static let anything = DownstreamConstraints()
}

extension Pad {
    /// What downstream of this source pad says about the format, queried now.
    var downstreamConstraints: DownstreamConstraints {
        DownstreamConstraints(caps: peerCaps(), demand: VideoDemand(askedAt: self))
    }
}
