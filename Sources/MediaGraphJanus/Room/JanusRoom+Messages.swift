import GStreamer
import MediaGraphCore
import MediaGraphSession

/// What the users' programs tell each other through data channels.
extension JanusRoom {
    /// How often everybody says everything again, for those who have begun to listen.
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
        guard let visit = local[user], visit.hasChannel, let connection = visit.publication?.connection else { return }
        var state = visit.state
        state.hears = remote.filter { $0.value.state != nil }.keys.sorted()
        // Each user says it for all of this program, since any of them may leave.
        for (key, resolution) in wants { state.wants[key.user, default: [:]][key.kind.rawValue] = resolution }
        let text = RoomMessage(state: state).text
        Self.log.log(.debug, nil, "\(user) says \(text)")
        _ = connection.send(text)
    }

    /// Handles a text of a remote user.
    func received(_ text: String, from user: String) {
        Self.log.log(.debug, nil, "\(user) has said \(text)")
        guard let message = RoomMessage(text) else {
            return Self.log.log(.info, nil, "a text of \(user) isn't one of MediaGraph's")
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
        if stream.isOn != old.isOn, owner(of: key.feed) == key.user {
            remote[key.feed]?.feed?.setAnnounced(stream.isOn, key.kind)
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

    /// How long commands wait for a user who has come, but doesn't hear their sender.
    static let patience = Duration.seconds(10)

    /// Sends the commands whose recipients hear their senders. Each recipient gets them in order.
    func sendCommands() {
        for user in local.keys {
            guard let visit = local[user], visit.hasChannel, !visit.commands.isEmpty,
                let connection = visit.publication?.connection
            else { continue }
            let deaf = remote.filter { $0.key != Self.share && !$0.value.hears(user) }
            let awaited = Set(deaf.filter { thread.clock.now < $0.value.patienceEnd }.keys)
            var allWait = false
            var waiting: [(command: SessionCommand, recipient: String?)] = []
            for (command, recipient) in visit.commands {
                // A command for all that waits holds up everybody's later ones.
                let mustWait = allWait || recipient.map(awaited.contains) ?? !awaited.isEmpty
                if let recipient, !mustWait, deaf[recipient] != nil {
                    shared.commands.add(-1)
                    shared.notify { $0.warn("a command of \"\(user)\" is lost: \"\(recipient)\" receives none") }
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
