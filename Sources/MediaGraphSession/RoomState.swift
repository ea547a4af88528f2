import MediaGraphCore

extension Room {
    /// A room's users and streams, and how it reaches remote users. The room's lock guards it.
    struct State: Sendable {
        /// The users who are in the room, joining or leaving.
        var users: [String: RoomVisits] = [:]
        /// The number of visits so far.
        var visitCount: UInt64 = 0
        /// Weak references to the streams.
        var streams: [StreamKey: StreamReference] = [:]
        /// The streams of all users, local and remote.
        var announced = AnnouncedStreams()
        /// Set while there are users.
        var reach: RoomReach?
        /// Whether a thread is making, starting or stopping the transport.
        var isChangingTransport = false
        /// What callers of `join` haven't been told yet.
        var outcomes: [(completion: RoomVisits.Completion, result: Result<Void, MediaGraphError>)] = []
        /// How often the transport has reported that a remote user joined or left.
        var remoteChanges: UInt64 = 0

        var transport: (any RoomTransport)? {
            if case .everybody(let transport) = reach { transport } else { nil }
        }

        func streams(where isIncluded: (RoomStream) -> Bool) -> [RoomStream] {
            streams.values.compactMap(\.stream).filter(isIncluded)
        }

        /// Queues a notice for all welcomed members but one. Returns their names, sorted, for `deliver`.
        mutating func tell(_ notice: RoomNotice, except user: String? = nil) -> [String] {
            let told = users.filter { $0.key != user && $0.value.isWelcome }.keys.sorted()
            for user in told { users[user]?.queue(notice) }
            return told
        }

        /// Queues a command for a member, or for all but the sender, as far as they satisfy `isReached`. Returns the names
        /// of the members to notify.
        mutating func tell(
            _ command: SessionCommand, from user: String, to recipient: String?, where isReached: (RoomVisits) -> Bool
        ) -> [String] {
            let told = users.filter { name, visits in
                (recipient.map { name == $0 } ?? (name != user)) && isReached(visits)
            }.keys.sorted()
            for name in told { users[name]?.queue(.command(command, from: user, isForAll: recipient == nil)) }
            return told
        }

        /// Records a change of a stream. Returns the names of the members to notify.
        mutating func record(_ change: StreamChange, of key: StreamKey) -> [String] {
            // Members ignore what they know already.
            _ = announced.record(change, of: key)
            // Under the lock, so that the stream receives concurrent changes in the order in which they are recorded.
            if case .status(let isOn) = change { streams[key]?.stream?.setExpected(isOn) }
            return tell(.stream(key, change))
        }

        /// Records a user's new profile. Returns the names of the members to notify.
        mutating func record(_ profile: UserProfile, of user: String) -> [String] {
            users[user]?.setProfile(profile)
            return tell(.profile(user, profile))
        }

        /// Forgets the streams of a user who has left. Returns the names of the members to notify of streams that have
        /// ended.
        mutating func forgetStreams(of user: String) -> [String] {
            let told = announced.endings(of: user).flatMap { record($0.change, of: $0.key) }
            announced.forgetStreams(of: user)
            return told
        }

        /// Queues what a new member has to know, and tells the others of the member. From here on, the member is told
        /// of each change. Returns the others' names and the number of the member's visit, for `deliver`; `nil` if
        /// `remote`, the list of remote users, is older than the last change.
        mutating func welcome(
            _ user: String, _ remote: [String: UserProfile], at changes: UInt64, _ last: [RoomNotice]
        ) -> (others: [String], visit: UInt64?)? {
            guard changes == remoteChanges else { return nil }
            let others = tell(.joined(user, users[user]?.profile ?? UserProfile()), except: user)
            let here = others.map { ($0, users[$0]?.profile ?? UserProfile()) }
            let present = remote.merging(here) { _, local in local }.sorted { $0.key < $1.key }
            let streams = announced.changes.map { RoomNotice.stream($0.key, $0.change) }
            let known = present.map { RoomNotice.joined($0.key, $0.value) } + streams + last
            return (others, users[user]?.welcome(known))
        }

        /// Returns the outcomes to report now; none while the transport is being changed or has to be.
        mutating func takeOutcomes() -> [(completion: RoomVisits.Completion, result: Result<Void, MediaGraphError>)] {
            guard !isChangingTransport, users.isEmpty == (reach == nil) else { return [] }
            defer { outcomes = [] }
            return outcomes
        }

        mutating func next(of user: String, after done: RoomVisits.Step?) -> RoomVisits.Step? {
            let step = users[user]?.next(after: done, in: reach)
            if users[user]?.isEmpty == true { users[user] = nil }
            return step
        }

        /// Returns how the transport has to change, and makes the caller's thread the one that changes it; `nil` if
        /// nothing has to change, or if another thread is changing it.
        mutating func nextChange() -> TransportChange? {
            guard !isChangingTransport, users.isEmpty != (reach == nil) else { return nil }
            isChangingTransport = true
            guard let old = reach else { return .open }
            // From here on the room no longer uses this transport.
            (reach, announced) = (nil, AnnouncedStreams())
            let streams = streams { _ in true }
            switch old {
            case .starting(let transport), .everybody(let transport): return .close(transport, streams)
            case .thisProcess: return .close(nil, streams)
            }
        }
    }

    enum TransportChange: Sendable {
        case open
        case close((any RoomTransport)?, [RoomStream])
    }

    struct StreamReference: Sendable {
        weak var stream: RoomStream?
    }
}
