import GStreamer
import MediaGraphCore

extension Element {
    /// Whether all of the element's outputs lead to sessions, which continue without them.
    package var leadsOnlyToSessions: Bool {
        // An element inside a bin counts as the bin.
        if let bin = parent, bin.parent != nil { return bin.leadsOnlyToSessions }
        let peers = pads.filter { $0.direction == .source }.map { $0.peer?.parent }
        return !peers.isEmpty && peers.allSatisfy { $0.map { $0.isSession || $0.leadsOnlyToSessions } ?? false }
    }

    /// Whether the element, or an element upstream, sends to several elements, as a `tee` does.
    package var alsoFeedsOthers: Bool {
        // An element inside a bin counts as the bin.
        if let bin = parent, bin.parent != nil { return bin.alsoFeedsOthers }
        // What a session receives isn't sent by a source upstream.
        guard !isSession else { return false }
        let pads = pads
        return pads.count { $0.direction == .source && $0.isLinked } > 1
            || pads.contains { $0.direction == .sink && $0.peer?.parent?.alsoFeedsOthers == true }
    }

    private var isSession: Bool { factoryName == NodeName.mediaSession }
}
