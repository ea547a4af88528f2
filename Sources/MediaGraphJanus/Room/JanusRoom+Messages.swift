import GStreamer
import MediaGraphCore
import MediaGraphSession

/// What the users' programs tell each other through data channels.
extension JanusRoom {
    /// How often each user resends the whole state, for new subscribers.
    static let announcementInterval = Duration.seconds(1)

    func announceRegularly() async {
        while !hasStopped {
            announceAll()
            sendCommands()
            try? await thread.sleep(for: Self.announcementInterval)
        }
    }

    func announceAll() { for user in local.keys { announce(user) } }

    /// Tells the others what a local user is doing.
    func announce(_ user: String) {
        guard let visit = local[user], visit.hasChannel, let connection = visit.feed?.connection else { return }
        var state = visit.state
        for feed in [user, Self.shareFeed] where sender(of: feed) == user {
            for (kind, details) in local[feed]?.feed?.details ?? [:] {
                state.streams[kind.rawValue]?.details = details
            }
        }
        state.receivesFrom = remote.filter { $0.value.state != nil }.keys.sorted()
        // Each user sends it on behalf of the whole program, since any of them may leave.
        for (key, demand) in wants { state.wants[key.user, default: [:]][key.kind.rawValue] = demand.resolution }
        let text = RoomMessage(state: state).text
        Self.log.log(.debug, nil, "\(user) sends \(text)")
        _ = connection.send(text)
    }

    /// Handles a message of a remote user.
    func received(_ text: String, from user: String) {
        Self.log.log(.debug, nil, "\(user) sent \(text)")
        guard let message = RoomMessage(text) else {
            return Self.log.log(.info, nil, "a message of \(user) isn't MediaGraph's")
        }
        if let state = message.state { received(state, from: user) }
        if let command = message.command, let content = command.command {
            shared.notify { $0.remoteSent(content, from: user, to: command.recipient) }
        }
    }

    private func received(_ state: UserState, from user: String) {
        let isFirst = remote[user]?.state == nil
        let hasOtherWants = remote[user]?.state?.wants != state.wants
        remote[user]?.state = state
        setProfile(UserProfile(displayName: state.displayName, customData: state.customData), of: user)
        for (name, stream) in state.streams {
            if let kind = StreamKind(rawValue: name) { set(stream, StreamKey(user: user, kind: kind)) }
        }
        if hasOtherWants || isFirst { updateDemands() }
        // The other user waits for this to send commands.
        if isFirst { announceAll() }
        sendCommands()
    }

    /// Tells the room of a remote user's stream.
    func set(_ stream: UserState.Stream, _ key: StreamKey) {
        var stream = stream
        if key.kind != .microphone { stream.isSpeaking = false }
        if key.kind.isSound { stream.hasAlpha = false }
        let old = remote[key.user]?.streams[key.kind] ?? UserState.Stream()
        remote[key.user]?.streams[key.kind] = stream
        // Before the room, so that readers who hear of the stream get its frames.
        if owner(of: key.feed) == key.user, let feed = remote[key.feed]?.feed {
            feed.setDetails(stream.details, key.kind)
            if stream.isOn != old.isOn { feed.setAllowed(stream.isOn, key.kind) }
        }
        for change in stream.changes(since: old) { shared.notify { $0.remoteStreamChanged(key, change) } }
    }

    // MARK: Commands

    func send(_ command: SessionCommand, from user: String, to recipient: String?) {
        guard local[user] != nil else {
            shared.commands.add(-1)
            return
        }
        local[user]?.commands.append((command, recipient))
        sendCommands()
    }

    /// How long commands wait for a user who has joined, but doesn't receive from their sender yet.
    static let commandTimeLimit = Duration.seconds(10)

    /// Sends the commands whose recipients receive from their senders. Each recipient gets them in order.
    func sendCommands() {
        for user in local.keys {
            guard let visit = local[user], visit.hasChannel, !visit.commands.isEmpty,
                let connection = visit.feed?.connection
            else { continue }
            let unreachable = remote.filter { $0.key != Self.shareFeed && !$0.value.receives(from: user) }
            let awaited = Set(unreachable.filter { thread.clock.now < $0.value.commandDeadline }.keys)
            var allWait = false
            var waiting: [(command: SessionCommand, recipient: String?)] = []
            for (command, recipient) in visit.commands {
                // A command for all that waits holds up everybody's later ones.
                let mustWait = allWait || recipient.map(awaited.contains) ?? !awaited.isEmpty
                if let recipient, !mustWait, unreachable[recipient] != nil {
                    shared.commands.add(-1)
                    shared.notify {
                        $0.warn(
                            "a command from \"\(user)\" to \"\(recipient)\" is lost: that user receives no messages")
                    }
                } else if !mustWait, connection.send(RoomMessage(command: UserCommand(command, to: recipient)).text) {
                    shared.commands.add(-1)
                } else {
                    allWait = allWait || !mustWait || recipient == nil
                    waiting.append((command, recipient))
                }
            }
            local[user]?.commands = waiting
        }
    }
}
