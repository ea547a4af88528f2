import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// Whose streams a session of a graph reads, whether they are there or not.
public struct SessionSubscriptions: Sendable, Hashable {
    /// The session's node.
    public let node: String
    /// The session's own user.
    public let user: String
    /// In the order of their names, each once.
    public let users: [String]
}

extension Graph {
    /// The sessions of the graph that read somebody, in the order of their names. Any thread.
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
