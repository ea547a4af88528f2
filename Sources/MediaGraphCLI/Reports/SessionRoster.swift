import MediaGraph

/// The users in the sessions of a graph and the streams that they send, with one line per session.
struct SessionRoster {
    /// The streams of a user that a line shows.
    private struct Streams {
        /// The streams that are on, by kind, and whether each is stalled.
        var isStalled: [String: Bool] = [:]
        var muted: Set<String> = []
        var isSpeaking = false
        /// Empty if the user has none.
        var displayName = ""

        /// Returns `audio (muted), video (stalled)`, and for streams with numbers `video 640×360 30 fps 83 Mbit/s`.
        func text(_ numbers: [String: StreamStatistics]) -> String {
            let shown = isStalled.map { ($0, $1 ? " (stalled)" : $0 == "audio" && isSpeaking ? " (speaking)" : "") }
            return Dictionary(uniqueKeysWithValues: shown)
                .merging(muted.map { ($0, " (muted)") }) { _, muted in muted }
                .sorted { $0.key < $1.key }
                .map { kind, state in kind + state + (numbers[kind].map { " \(SessionRoster.text($0))" } ?? "") }
                .joined(separator: ", ")
        }
    }

    private typealias Users = [String: Streams]

    /// The sessions, sorted by the names of their nodes.
    private var sessions: [(node: String, users: Users)] = []
    /// The numbers of the last second of the streams that each session sends and reads, by the name of its node.
    private var statistics: [String: [StreamStatistics]] = [:]
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
        case .userJoined(let node, let user, let profile), .userProfile(let node, let user, let profile):
            change(node) { $0[user, default: Streams()].displayName = profile.displayName }
        case .userLeft(let node, let user): change(node) { $0[user] = nil }
        case .userStream(let node, let user, let kind, true):
            change(node) { $0[user, default: Streams()].isStalled[kind] = false }
        case .userStream(let node, let user, let kind, false): change(node) { $0[user]?.isStalled[kind] = nil }
        case .userMuted(let node, let user, let kind, true):
            change(node) { $0[user, default: Streams()].muted.insert(kind) }
        case .userMuted(let node, let user, let kind, false): change(node) { $0[user]?.muted.remove(kind) }
        case .userSpeaking(let node, let user, let isSpeaking): change(node) { $0[user]?.isSpeaking = isSpeaking }
        case .userStalled(let node, let user, let kind, let isStalled):
            change(node) { if $0[user]?.isStalled[kind] != nil { $0[user]?.isStalled[kind] = isStalled } }
        default: return false
        }
        return true
    }

    /// Sets the numbers of a session's streams, which are shown until the next ones.
    mutating func set(_ numbers: SessionStatistics) { statistics[numbers.node] = numbers.streams }

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
            let texts = [statistics[node] ?? [], []].map {
                "  \(name)  \(TextWidth.printable(text(node, users, $0)))"
            }
            // The numbers are left out if they don't fit.
            let line = texts.first { TextWidth.columns($0) <= width } ?? TextWidth.truncated(texts[1], to: width)
            return ProgressTable.Line(text: line, width: TextWidth.columns(line))
        }
    }

    /// Returns `alice: audio (muted), video (stalled) · bob: share · carol · waiting for dave (not in the room)`.
    private func text(_ node: String, _ users: Users, _ statistics: [StreamStatistics]) -> String {
        let here = users.sorted { $0.key < $1.key }.map { user, streams in
            let shown = Self.shown(user, streams.displayName)
            let numbers = statistics.filter { $0.user == user }.map { ($0.stream.rawValue, $0) }
            // A user who reads the own stream sends and receives it.
            let text = streams.text(Dictionary(numbers) { first, _ in first })
            return text.isEmpty ? shown : "\(shown): \(text)"
        }
        let missing = (subscribed[node] ?? []).filter { users[$0] == nil }
        return (here + Self.waiting(for: missing)).joined(separator: " · ")
    }

    /// Returns `640×360 30 fps 83 Mbit/s, 2 lost`, and for a stream on a network its bit rate there, with
    /// `, 3 % of packets lost, 40 ms round trip`.
    private static func text(_ numbers: StreamStatistics) -> String {
        var parts = [String]()
        if let width = numbers.width, let height = numbers.height {
            parts.append("\(width)×\(height) \(Numbers.fixed(numbers.framesPerSecond, 0)) fps")
        }
        let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")]
        let bits = numbers.network?.bitsPerSecond ?? numbers.bitsPerSecond
        let (scale, unit) = units.first { bits >= $0.0 } ?? (1, "bit/s")
        let value = bits / scale
        parts.append("\(Numbers.fixed(value, value < 10 && scale > 1 ? 1 : 0)) \(unit)")
        let lost = numbers.lost > 0 ? ["\(numbers.lost) lost"] : []
        return ([parts.joined(separator: " ")] + lost + (numbers.network.map(text) ?? [])).joined(separator: ", ")
    }

    /// Returns `3 % of packets lost` if some are, and `40 ms round trip` if it is known.
    private static func text(_ network: NetworkStatistics) -> [String] {
        // At least 1 % if any packet was lost.
        let loss =
            network.packetLoss > 0 ? "\(max(1, Int((100 * network.packetLoss).rounded()))) % of packets lost" : nil
        let milliseconds = network.roundTripTime.map { $0 / .milliseconds(1) }
        let time = milliseconds.map { "\(Numbers.fixed($0, $0 < 10 ? 1 : 0)) ms round trip" }
        return [loss, time].compactMap(\.self)
    }

    /// Returns `alice`, or `alice (Alice Smith)` if the user has a display name.
    private static func shown(_ user: String, _ displayName: String) -> String {
        displayName.isEmpty ? user : "\(user) (\(displayName))"
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
        case .userJoined(let node, let user, let profile):
            TextWidth.printable("\(node): \(shown(user, profile.displayName)) is here")
        case .userCommand(let node, let user, let command, let isForAll): commandLine(node, user, command, isForAll)
        case .userLeft(let node, let user): TextWidth.printable("\(node): \(user) has left")
        case .userStream(let node, let user, let kind, let isOn):
            TextWidth.printable("\(node): \(user)'s \(kind) is \(isOn ? "on" : "off")")
        case .userMuted(let node, let user, let kind, let isMuted):
            TextWidth.printable("\(node): \(user) has \(isMuted ? "muted" : "unmuted") \(kind)")
        case .userAlpha(let node, let user, let kind, let isOn):
            TextWidth.printable("\(node): \(user)'s \(kind) \(isOn ? "has" : "no longer has") an alpha channel")
        case .userStalled(let node, let user, let kind, true):
            TextWidth.printable("\(node): \(user)'s \(kind) is on but sends nothing; \(user)'s program may be hanging")
        case .userStalled(let node, let user, let kind, false):
            TextWidth.printable("\(node): \(user)'s \(kind) has resumed")
        default: nil
        }
    }

    /// Returns the line for a command: `call: bob to all: raise your hands`.
    static func commandLine(_ node: String, _ user: String, _ command: SessionCommand, _ isForAll: Bool) -> String {
        let content =
            switch command {
            case .text(let text): text
            case .bytes(let bytes): bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
            }
        return TextWidth.printable("\(node): \(user)\(isForAll ? " to all" : ""): \(content)")
    }
}
