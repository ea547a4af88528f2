import GStreamer
import MediaGraphCore
import Synchronization

/// A room: its users in this process, and all users' streams. A stream can be read, which subscribes to it, before its
/// user joins.
///
/// No lock of the room is held while it waits for a transport, calls one, or notifies a member. `RoomVisits` keeps the
/// order of what one user does, and of what a member is notified of.
final class Room: Sendable {
    private struct Reference: Sendable {
        weak var room: Room?
    }

    private struct Address: Hashable {
        let transport: String
        let settings: RoomTransportSettings
        let name: String
    }

    private static let rooms = Mutex<[Address: Reference]>([:])

    let name: String
    private let transportKind: RoomTransportKind
    private let settings: RoomTransportSettings
    private let state = Mutex(State())
    private let shareFloor: ShareFloor

    private init(_ name: String, _ transportKind: RoomTransportKind, _ settings: RoomTransportSettings) {
        self.name = name
        self.transportKind = transportKind
        self.settings = settings
        shareFloor = ShareFloor(clock: transportKind.clock)
    }

    /// Returns the room of that name on that transport. All sessions of this process that name the room, with the same
    /// settings of the transport, share one object.
    static func named(
        _ name: String, over transport: RoomTransportKind, _ settings: RoomTransportSettings = RoomTransportSettings()
    ) -> Room {
        let address = Address(transport: transport.name, settings: settings, name: name)
        return rooms.withLock { rooms in
            if let room = rooms[address]?.room { return room }
            rooms = rooms.filter { $0.value.room != nil }
            let room = Room(name, transport, settings)
            rooms[address] = Reference(room: room)
            return room
        }
    }

    // MARK: Joining and leaving

    /// How long `join` waits for the transport. The transport between processes answers within 6 s, even if it
    /// waits for another process; a server that takes longer than this isn't answering at all.
    static let joinTimeLimit = Duration.seconds(10)

    /// Adds a member and notifies the other members and the new one of each other, as `join(_:completion:)` does, and
    /// waits for that. Calls `begun` before it waits; from then on `leave` ends the wait. Call it without holding a
    /// lock that the room's members take.
    ///
    /// Throws what `join(_:completion:)` reports, and `timeOut` if the transport doesn't answer within `limit`.
    func join(
        _ member: any RoomMember, within limit: Duration = joinTimeLimit, begun: () -> Void = {}
    ) throws(MediaGraphError) {
        let outcome = BlockingMonitor<Result<Void, MediaGraphError>?>(nil)
        join(member, completion: { result in outcome.withLock { $0 = result } })
        begun()
        guard let result = outcome.wait(timeout: limit, { $0 }) else {
            leave(member)
            throw .timeOut(
                .init(
                    "room \"\(name)\"",
                    actual:
                        "transport \(transportKind.name) didn't answer within \(Int(limit.seconds)) s; try again later")
            )
        }
        try result.get()
    }

    /// Adds a member once the transport permits it, and notifies the other members and the new one of each other. The
    /// name is taken at once. Returns at once; calls `completion` once, on any thread, without a lock of the room held.
    ///
    /// The completion gets `alreadyInUse` if a local or remote user has the same name, `notInSession` if the member
    /// leaves meanwhile, and other errors of the transport.
    func join(_ member: any RoomMember, completion: @escaping RoomVisits.Completion) {
        let isFree = state.withLock { state in
            state.visitCount += 1
            return state.users[member.user, default: RoomVisits()].join(member, number: state.visitCount, completion)
        }
        guard isFree else { return completion(.failure(.nameTaken(member.user, in: name))) }
        updateTransport()
        proceed(member.user)
    }

    /// Removes a member, and notifies the others. Cancels the member's join if that isn't complete.
    ///
    /// Notifies the transport before it returns. If another thread is calling the transport for this user, that thread
    /// notifies it afterwards, and `leave` doesn't wait. A user of the same name can join at once.
    func leave(_ member: any RoomMember) {
        let completion = state.withLock { state in
            let completion = state.users[member.user]?.leave(member)
            if state.users[member.user]?.isEmpty == true { state.users[member.user] = nil }
            return completion
        }
        if let completion {
            state.withLock { $0.outcomes.append((completion, .failure(.leftWhileJoining(member.user)))) }
        }
        proceed(member.user)
    }

    /// Tells the transport and the members of a change of a member's stream, once the member is in the room.
    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        if change == .status(isOn: false) { shareFloor.releaseFloor(key) }
        state.withLock { $0.users[key.user]?.streamChanged(key, change) }
        proceed(key.user)
    }

    /// Tells the transport and the members of a member's new profile, once the member is in the room.
    func profileChanged(of member: any RoomMember) {
        state.withLock { $0.users[member.user]?.profileChanged(of: member) }
        proceed(member.user)
    }

    /// Takes the pending steps for a user. If another thread is taking one, that thread continues with the others.
    private func proceed(_ user: String) {
        var done: RoomVisits.Step?
        while let step = state.withLock({ $0.next(of: user, after: done) }) {
            perform(step, of: user)
            // From now on, each thread that requests a step takes it.
            if case .complete = step { return }
            done = step
        }
        updateTransport()
    }

    /// Takes one step for a user, without a lock held.
    private func perform(_ step: RoomVisits.Step, of user: String) {
        switch step {
        case .ask(let transport, let profile, let settings, let visit):
            transport.join(user, profile, sending: settings) { [weak self] outcome in
                guard let self else { return }
                state.withLock { $0.users[user]?.answered(outcome, visit: visit) }
                proceed(user)
            }
        case .arrive(let member, let hasMoved): welcome(member, hasMoved: hasMoved)
        case .announce(.profile(let profile)):
            state.withLock { $0.transport }?.profileChanged(of: user, to: profile)
            deliver(to: state.withLock { $0.record(profile, of: user) })
        case .announce(.stream(let key, let change)):
            state.withLock { $0.transport }?.streamChanged(key, change)
            deliver(to: state.withLock { $0.record(change, of: key) })
        case .leave(let wasJoined):
            state.withLock { $0.transport }?.leave(user)
            guard wasJoined else { return }
            let told = state.withLock { $0.forgetStreams(of: user) + $0.tell(.left(user), except: user) }
            deliver(to: Set(told).sorted())
        case .complete(let completion, let result):
            // First, so that the transport of a room without users has stopped when the caller hears of it, even if another
            // thread stops it.
            state.withLock { $0.outcomes.append((completion, result)) }
            updateTransport()
        }
    }

    /// Notifies a new member and the others of each other.
    private func welcome(_ member: any RoomMember, hasMoved: Bool) {
        let user = member.user
        // The user has moved here from another process, where its streams have ended.
        if hasMoved { remoteLeft(user) }
        while true {
            let (reach, changes) = state.withLock { ($0.reach, $0.remoteChanges) }
            let remote =
                if case .everybody(let transport) = reach { transport.remoteUsers } else {
                    [:] as [String: UserProfile]
                }
            var last: [RoomNotice] = []
            if case .thisProcess(let error) = reach { last = [.limited(because: error, remedy: transportKind.remedy)] }
            guard let (others, visit) = state.withLock({ $0.welcome(user, remote, at: changes, last) }) else {
                continue
            }
            deliver(to: others)
            deliver(to: user, of: visit)
            // Readers may have requested these users' streams before the transport knew this member.
            for stream in state.withLock({ $0.streams { remote[$0.key.user] != nil } }) { stream.demandChanged() }
            return
        }
    }

    /// Notifies members of what is queued for them.
    private func deliver(to users: [String]) { for user in users { deliver(to: user) } }

    /// Notifies a member of what is queued, unless another thread is doing it; then that thread goes on with it. `visit`
    /// is the visit for which this thread is the one that notifies already.
    private func deliver(to user: String, of visit: UInt64? = nil) {
        var visit = visit
        while let next = state.withLock({ $0.users[user]?.nextNotice(after: visit) }) {
            visit = next.visit
            next.notice.notify(next.member)
        }
    }

    /// The names of all users in the room, local and remote, sorted.
    var users: [String] {
        let (here, transport) = state.withLock { ($0.users.values.compactMap { $0.member?.user }, $0.transport) }
        return (here + (transport?.remoteUsers.keys.map(\.self) ?? [])).sorted()
    }

    /// The numbers of a stream that crosses a network; `nil` if it doesn't.
    func networkStatistics(of key: StreamKey, _ direction: StreamStatistics.Direction) -> NetworkStatistics? {
        state.withLock { $0.transport }?.networkStatistics(of: key, direction)
    }

    // MARK: The transport

    /// Makes and starts the transport if the room has users but no transport, and stops it if the room has no users any
    /// more. One thread at a time does this, and afterwards checks for changes that other threads have made meanwhile.
    /// Then reports the outcomes of joins.
    private func updateTransport() {
        while let change = state.withLock({ $0.nextChange() }) {
            switch change {
            case .open: open()
            case .close(let transport, let streams):
                transport?.stop()
                for stream in streams {
                    stream.end()
                    stream.setExpected(false)
                }
            }
            state.withLock { $0.isChangingTransport = false }
        }
        for (completion, result) in state.withLock({ $0.takeOutcomes() }) { completion(result) }
    }

    private func open() {
        do throws(MediaGraphError) {
            let transport = try transportKind.make(name, settings, self)
            // Before `start`, which may report at once.
            state.withLock { $0.reach = .starting(transport) }
            transport.start { [weak self, weak transport] problem in
                guard let transport else { return }
                self?.started(transport, problem)
            }
        } catch {
            let users = state.withLock { state in
                state.reach = .thisProcess(because: error)
                return state.users.keys.sorted()
            }
            for user in users { proceed(user) }
        }
    }

    /// Records that the transport has started, or why it couldn't, and lets the users in who waited for that.
    private func started(_ transport: any RoomTransport, _ problem: MediaGraphError?) {
        let users = state.withLock { state -> [String] in
            // The room may have closed, or even opened again, in the meantime.
            guard case .starting(let current) = state.reach, current === transport else { return [] }
            state.reach = problem.map { .thisProcess(because: $0) } ?? .everybody(transport)
            return state.users.keys.sorted()
        }
        for user in users { proceed(user) }
    }

    // MARK: Commands

    /// Sends a command to one user, or to all other users of the room. A user gets another user's commands in the order
    /// in which this was called. Doesn't wait for the recipients.
    ///
    /// Throws `notInSession` before the sender is in the room, `noSuchUser` if the recipient isn't, what
    /// `SessionCommand.validate` throws, and `tooFrequent` if remote recipients can't keep up; other recipients get the
    /// command even then.
    func send(_ command: SessionCommand, from user: String, to recipient: String?) throws(MediaGraphError) {
        try command.validate()
        let (isHere, told, transport) = state.withLock { state in
            guard state.users[user]?.member != nil else { return (false, [] as [String], nil as (any RoomTransport)?) }
            return (true, state.tell(command, from: user, to: recipient, where: \.isWelcome), state.transport)
        }
        guard isHere else {
            throw .notInSession(.init("user \"\(user)\"", actual: "can't send commands before joining is complete"))
        }
        deliver(to: told)
        guard recipient == nil || told.isEmpty else { return }
        guard let recipient else { return try transport?.send(command, from: user, to: nil) ?? () }
        guard let transport, transport.remoteUsers[recipient] != nil else {
            let others = users.filter { $0 != user }.joined(separator: ", ")
            throw .noSuchUser(
                .init(
                    "user \"\(recipient)\"",
                    actual: "isn't in the room; "
                        + (others.isEmpty ? "no other user is there" : "other users there: \(others)")))
        }
        try transport.send(command, from: user, to: recipient)
    }

    // MARK: Streams

    /// Asks for permission before a member's stream goes on. Returns false while the transport hasn't decided. Throws
    /// `alreadyInUse` for a share while another user shares, and `notInSession` for a share before the user is in the room.
    func begin(_ key: StreamKey) throws(MediaGraphError) -> Bool {
        guard key.kind.isShare else { return true }
        let (transport, isJoined) = state.withLock { ($0.transport, $0.users[key.user]?.member != nil) }
        guard isJoined else {
            throw .notInSession(.init("user \"\(key.user)\"", actual: "can't share before joining is complete"))
        }
        return try shareFloor.take(key) { () throws(MediaGraphError) in try transport?.requestShare(key.user) }
    }

    /// Returns the stream of that key, and makes it if there is none. The room keeps only a weak reference to it.
    func stream(_ key: StreamKey) -> RoomStream {
        state.withLock { state in
            if let stream = state.streams[key]?.stream { return stream }
            state.streams = state.streams.filter { $0.value.stream != nil }
            let stream = RoomStream(
                key, room: name, isExpected: state.announced.isSending(key), clock: transportKind.clock
            ) { [weak self] in self?.requested($0, of: key) }
            state.streams[key] = StreamReference(stream: stream)
            return stream
        }
    }
}

extension Room: RoomTransportDelegate {
    func remoteJoined(_ user: String, _ profile: UserProfile) {
        let (told, streams) = state.withLock { state in
            state.remoteChanges += 1
            return (state.tell(.joined(user, profile), except: user), state.streams(where: { $0.key.user == user }))
        }
        deliver(to: told)
        for stream in streams { stream.demandChanged() }
    }

    func remoteProfileChanged(of user: String, to profile: UserProfile) {
        let told = state.withLock { state in
            state.remoteChanges += 1
            return state.tell(.profile(user, profile), except: user)
        }
        deliver(to: told)
    }

    func remoteSent(_ command: SessionCommand, from user: String, to recipient: String?) {
        deliver(to: state.withLock { $0.tell(command, from: user, to: recipient, where: \.isAwaited) })
    }

    func remoteStreamChanged(_ key: StreamKey, _ change: StreamChange) {
        if key.kind.isShare { shareFloor.invalidateRefusal() }
        deliver(to: state.withLock { $0.transport == nil ? [] : $0.record(change, of: key) })
    }

    func remoteLeft(_ user: String) {
        shareFloor.invalidateRefusal()
        for stream in state.withLock({ $0.streams(where: { $0.key.user == user }) }) { stream.end(ofRemoteUser: true) }
        let told = state.withLock { state in
            state.remoteChanges += 1
            return Set(state.forgetStreams(of: user) + state.tell(.left(user), except: user)).sorted()
        }
        deliver(to: told)
    }

    func shareGrantLost() {
        let transport = state.withLock { $0.transport }
        do throws(MediaGraphError) {
            try shareFloor.renew { (user) throws(MediaGraphError) in try transport?.requestShare(user) }
        } catch {
            guard error.code == .alreadyInUse else {
                return warn("can't check whether another user is sharing: \(error)")
            }
            warn("\(error), and a user of this program still is; stop one of the two shares")
        }
    }

    func warn(_ text: String) {
        deliver(to: state.withLock { $0.tell(.warning(text)) })
    }

    /// Passes a request of a stream's readers to the transport, if the stream's user isn't local.
    private func requested(_ request: RoomStream.Request, of key: StreamKey) {
        let transport = state.withLock { $0.users[key.user]?.member == nil ? $0.transport : nil }
        guard let transport else { return }
        switch request {
        case .demand(let demand): transport.setDemand(demand, for: key)
        case .keyFrame: transport.requestKeyFrame(key)
        }
    }
}

extension MediaGraphError {
    /// The error for a user who leaves, or whose join is cancelled, before the user is in the room.
    static func leftWhileJoining(_ user: String) -> MediaGraphError {
        .notInSession(.init("user \"\(user)\"", actual: "left before joining was complete"))
    }

    /// The error for a user whose name is taken in a room.
    package static func nameTaken(_ user: String, in room: String) -> MediaGraphError {
        .alreadyInUse(
            .init(
                "somebody in room \"\(room)\" is already called \"\(user)\"; choose another name with user=…"))
    }
}
