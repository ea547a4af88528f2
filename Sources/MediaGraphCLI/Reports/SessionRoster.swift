import MediaGraph

/// The users in the sessions of a graph and the streams that they send, with one line per session.
struct SessionRoster {
    /// The streams that are on: for each user, by kind, whether the stream is stalled.
    private typealias Users = [String: [String: Bool]]

    /// The sessions, sorted by the names of their nodes.
    private var sessions: [(node: String, users: Users)] = []
    /// The users that each session reads, by the name of its node.
    private var subscribed: [String: [String]] = [:]

    /// Creates a roster.
    ///
    /// - Parameter subscriptions: The subscriptions of the graph. A session that reads another user has a line from the
    ///   beginning.
    init(_ subscriptions: [SessionSubscriptions] = []) {
        for session in subscriptions {
            change(session.node) { _ in }
            // A session that reads its own user doesn't wait for anybody.
            subscribed[session.node] = session.users.filter { $0 != session.user }
        }
    }

    /// Processes an event about a user of a session. Returns `false` for other events.
    mutating func add(_ event: GraphEvent) -> Bool {
        switch event {
        case .userJoined(let node, let user): change(node) { $0[user] = $0[user] ?? [:] }
        case .userLeft(let node, let user): change(node) { $0[user] = nil }
        case .userStream(let node, let user, let kind, true): change(node) { $0[user, default: [:]][kind] = false }
        case .userStream(let node, let user, let kind, false): change(node) { $0[user]?[kind] = nil }
        case .userStalled(let node, let user, let kind, let isStalled):
            change(node) { if $0[user]?[kind] != nil { $0[user]?[kind] = isStalled } }
        default: return false
        }
        return true
    }

    private mutating func change(_ node: String, _ body: (inout Users) -> Void) {
        if !sessions.contains(where: { $0.node == node }) {
            sessions.insert((node, [:]), at: sessions.firstIndex { $0.node > node } ?? sessions.endIndex)
        }
        for index in sessions.indices where sessions[index].node == node { body(&sessions[index].users) }
    }

    /// Returns one line per session, at most `width` columns wide, and at most `height` lines.
    func lines(style: Style, width: Int, height: Int) -> [ProgressTable.Line] {
        let longest = min(24, sessions.map { TextWidth.columns($0.node) }.max() ?? 0)
        return sessions.prefix(max(0, height)).map { node, users in
            let name = TextWidth.padded(TextWidth.truncated(TextWidth.printable(node), to: longest), to: longest)
            let line = TextWidth.truncated("  \(name)  \(TextWidth.printable(text(node, users)))", to: width)
            return ProgressTable.Line(text: line, width: TextWidth.columns(line))
        }
    }

    /// Returns `alice: audio, video (stalled) · bob: share · carol · waiting for dave (not in the room)`.
    private func text(_ node: String, _ users: Users) -> String {
        let here = users.sorted { $0.key < $1.key }.map { user, kinds in
            let streams = kinds.sorted { $0.key < $1.key }.map { $0.value ? "\($0.key) (stalled)" : $0.key }
            return streams.isEmpty ? user : "\(user): \(streams.joined(separator: ", "))"
        }
        let missing = (subscribed[node] ?? []).filter { users[$0] == nil }
        return (here + Self.waiting(for: missing)).joined(separator: " · ")
    }

    private static func waiting(for users: [String]) -> [String] {
        users.isEmpty ? [] : ["waiting for \(users.joined(separator: ", ")) (not in the room)"]
    }

    /// Returns the lines for the beginning of a log: one for each session that reads other users.
    static func logLines(_ subscriptions: [SessionSubscriptions]) -> [String] {
        subscriptions.compactMap { session in
            let others = session.users.filter { $0 != session.user }
            guard !others.isEmpty else { return nil }
            return TextWidth.printable("\(session.node): \(session.user) waits for \(others.joined(separator: ", "))")
        }
    }

    /// Returns the line of a log for an event about a user; `nil` for other events.
    static func logLine(_ event: GraphEvent) -> String? {
        switch event {
        case .userJoined(let node, let user): TextWidth.printable("\(node): \(user) is here")
        case .userLeft(let node, let user): TextWidth.printable("\(node): \(user) has left")
        case .userStream(let node, let user, let kind, let isOn):
            TextWidth.printable("\(node): \(user)'s \(kind) is \(isOn ? "on" : "off")")
        case .userStalled(let node, let user, let kind, true):
            TextWidth.printable("\(node): \(user)'s \(kind) is on but sends nothing; \(user)'s program may be hanging")
        case .userStalled(let node, let user, let kind, false):
            TextWidth.printable("\(node): \(user)'s \(kind) has resumed")
        default: nil
        }
    }
}
