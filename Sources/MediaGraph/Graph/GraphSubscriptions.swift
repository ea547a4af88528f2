import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// The users whose streams one session of a graph reads, whether or not they are in the room.
public struct SessionSubscriptions: Sendable, Hashable {
    /// The name of the session's node.
    public let node: String
    /// The name of the session's own user.
    public let user: String
    /// The names of the users that the session reads, sorted and without duplicates.
    public let users: [String]
}

extension Graph {
    /// The sessions of the graph that read other users' streams, sorted by node name. Callable from any thread.
    public var sessionSubscriptions: [SessionSubscriptions] {
        let factory = NodeName.mediaSession
        return pipeline.allElements.filter { $0.factoryName == factory }.compactMap { element in
            let users = element.pads.filter { $0.direction == .source }.compactMap {
                UserPad.user(of: $0.name, among: StreamKind.userPads)
            }
            guard !users.isEmpty else { return nil }
            let user = (try? element.property("user", as: String.self)) ?? ""
            return SessionSubscriptions(
                node: element.name, user: user.isEmpty ? element.name : user, users: Set(users).sorted())
        }.sorted { $0.node < $1.node }
    }
}
