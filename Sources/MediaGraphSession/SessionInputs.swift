import GStreamer
import MediaGraphCore

extension Element {
    /// Whether all that it gives ends in sessions, which go on without it.
    package var leadsOnlyToSessions: Bool {
        // What is in a bin stands for it.
        if let bin = parent, bin.parent != nil { return bin.leadsOnlyToSessions }
        let peers = pads.filter { $0.direction == .source }.map { $0.peer?.parent }
        return !peers.isEmpty && peers.allSatisfy { $0.map { $0.isSession || $0.leadsOnlyToSessions } ?? false }
    }

    private var isSession: Bool { factoryName == NodeName.mediaSession }
}
