import GStreamer
import MediaGraphCore

/// The capabilities that a source may use, which are its declared capabilities that downstream accepts, and the one that
/// is suggested to it. In a session, those that exceed its configuration are left out, unless all do.
struct SupportedCapabilities: Sendable, Equatable {
    let list: [VideoCapability]
    /// In a session, what the session and its readers ask for. Elsewhere the capability with the largest area; of
    /// several, the one with the highest rate.
    let suggested: VideoCapability?

    private static let usualSizes = [(160, 90), (320, 180), (640, 360), (1280, 720), (1920, 1080), (3840, 2160)]
    private static let usualRates = [Fraction(15, 1), Fraction(30, 1), Fraction(60, 1)]

    /// `declared` is the source's own list; empty if the source can send any size.
    init(declared: [VideoCapability], downstream: DownstreamConstraints) {
        let demand = downstream.demand
        var candidates = declared
        if declared.isEmpty {
            candidates = Self.usual(for: downstream.caps)
            // A source that can send any size can send what the session asks for.
            candidates += [demand?.limit, demand?.ideal].compactMap(\.self).filter { !candidates.contains($0) }
        }
        let accepted = downstream.caps.map { Self.accepted(candidates, by: $0) } ?? candidates
        let within = accepted.filter { demand?.allows($0) ?? true }
        let list = within.isEmpty ? accepted : within
        self.list = list
        suggested =
            if let demand {
                declared.isEmpty && list.contains(demand.ideal) ? demand.ideal : demand.suggestion(from: list)
            } else {
                list.max {
                    ($0.width * $0.height, $0.framesPerSecond.value) < ($1.width * $1.height, $1.framesPerSecond.value)
                }
            }
    }

    private static func accepted(_ candidates: [VideoCapability], by downstream: Caps) -> [VideoCapability] {
        candidates.filter { capability in
            let caps = Caps(
                """
                video/x-raw, width=\(capability.width), height=\(capability.height), \
                framerate=(fraction)\(capability.framesPerSecond)
                """)
            return caps.map(downstream.canIntersect) ?? false
        }
    }

    /// Returns the common sizes from 90p to 2160p and the common rates, plus each fixed size or rate in downstream's
    /// caps.
    private static func usual(for downstream: Caps?) -> [VideoCapability] {
        var sizes = usualSizes
        var rates = usualRates
        for index in 0..<(downstream.map { $0.isAny ? 0 : $0.count } ?? 0) {
            let structure = downstream![index]
            if let width = structure["width", as: Int32.self], let height = structure["height", as: Int32.self],
                !sizes.contains(where: { $0 == (Int(width), Int(height)) })
            {
                sizes.append((Int(width), Int(height)))
            }
            if let rate = structure["framerate", as: Fraction.self], rate.numerator > 0, !rates.contains(rate) {
                rates.append(rate)
            }
        }
        return sizes.flatMap { size in
            rates.map { VideoCapability(width: size.0, height: size.1, framesPerSecond: $0) }
        }
    }
}
