import MediaGraph

/// Who is in the sessions of a graph, and what each of them sends, as a line for each session.
struct SessionRoster {
    /// Whether each stream that is on is stalled, by its kind and user.
    private typealias Users = [String: [String: Bool]]

    /// In the order of their names.
    private var sessions: [(node: String, users: Users)] = []
    /// Whom each session reads.
    private var read: [String: [String]] = [:]

    /// - Parameter subscriptions: of the graph; a session that reads somebody has a line from the beginning.
    init(_ subscriptions: [SessionSubscriptions] = []) {
        for session in subscriptions {
            change(session.node) { _ in }
            // One's own streams come without anybody else.
            read[session.node] = session.users.filter { $0 != session.user }
        }
    }

    /// Takes what a session tells of others and of itself; false for anything else.
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

    /// No wider than `width`, and no more than `height` of them.
    func lines(style: Style, width: Int, height: Int) -> [ProgressTable.Line] {
        let longest = min(24, sessions.map { TextWidth.columns($0.node) }.max() ?? 0)
        return sessions.prefix(max(0, height)).map { node, users in
            let name = TextWidth.padded(TextWidth.truncated(TextWidth.printable(node), to: longest), to: longest)
            let line = TextWidth.truncated("  \(name)  \(TextWidth.printable(text(node, users)))", to: width)
            return ProgressTable.Line(text: line, width: TextWidth.columns(line))
        }
    }

    /// `alice: audio, video (stalled) · bob: share · carol · waiting for dave (nobody of that name is here)`
    private func text(_ node: String, _ users: Users) -> String {
        let here = users.sorted { $0.key < $1.key }.map { user, kinds in
            let streams = kinds.sorted { $0.key < $1.key }.map { $0.value ? "\($0.key) (stalled)" : $0.key }
            return streams.isEmpty ? user : "\(user): \(streams.joined(separator: ", "))"
        }
        let missing = (read[node] ?? []).filter { users[$0] == nil }
        return (here + Self.waiting(for: missing)).joined(separator: " · ")
    }

    private static func waiting(for users: [String]) -> [String] {
        users.isEmpty ? [] : ["waiting for \(users.joined(separator: ", ")) (nobody of that name is here)"]
    }

    /// What a log says at the beginning, of each session that reads others.
    static func logLines(_ subscriptions: [SessionSubscriptions]) -> [String] {
        subscriptions.compactMap { session in
            let others = session.users.filter { $0 != session.user }
            guard !others.isEmpty else { return nil }
            return TextWidth.printable("\(session.node): \(session.user) waits for \(others.joined(separator: ", "))")
        }
    }

    /// What a log says of it; `nil` for anything else.
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
