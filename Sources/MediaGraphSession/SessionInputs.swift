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

    private var isSession: Bool { factoryName == NodeName.mediaSession }
}
