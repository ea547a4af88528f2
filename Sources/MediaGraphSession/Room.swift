import GStreamer
import MediaGraphCore
import Synchronization

/// A local user of a room, who is notified of what happens there. The methods are called on any thread, without a lock
/// of the room held, except that `warn` may be called with `Room.membershipLock` held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    /// Another user has joined, or was in the room before. May be called twice for one user.
    func joined(_ user: String)
    /// Another user has left.
    func left(_ user: String)
    /// A user, perhaps this one, has started or stopped sending a stream.
    func streamChanged(_ key: StreamKey, isOn: Bool)
    /// Remote users can't be reached. `remedy` says what the user can do.
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String)
    /// Warns the user of a problem in the room.
    func warn(_ text: String)
}

/// A room: its users in this process, and all users' streams. A stream can be read, which subscribes to it, before its
/// user joins.
final class Room: Sendable {
    private struct State: Sendable {
        var members: [String: any RoomMember] = [:]
        /// Weak references to the streams.
        var streams: [StreamKey: StreamReference] = [:]
        /// The streams that users, local or remote, are sending.
        var sending: Set<StreamKey> = []
        /// Set while there are members.
        var reach: Reach?

        var transport: (any RoomTransport)? {
            if case .everybody(let transport) = reach { transport } else { nil }
        }

        func streams(where isIncluded: (RoomStream) -> Bool) -> [RoomStream] {
            streams.values.compactMap(\.stream).filter(isIncluded)
        }

        /// The members except one, sorted by name.
        func others(than user: String) -> [any RoomMember] {
            members.values.filter { $0.user != user }.sorted { $0.user < $1.user }
        }
    }

    /// Whether remote users can be reached. Decided when the first user joins, and kept until the last one leaves.
    private enum Reach: Sendable {
        case everybody(any RoomTransport)
        case thisProcess(because: MediaGraphError)
    }

    private struct Reference: Sendable {
        weak var room: Room?
    }

    private struct StreamReference: Sendable {
        weak var stream: RoomStream?
    }

    private struct Address: Hashable {
        let transport: String
        let name: String
    }

    private static let rooms = Mutex<[Address: Reference]>([:])

    let name: String
    private let transportKind: RoomTransportKind
    private let state = Mutex(State())
    /// Serializes joining and leaving, and the transport's `start`, `join`, `leave` and `stop`. The room notifies no
    /// member while it is held, but a transport may warn members from within these calls.
    private let membershipLock = Mutex(())
    private let shareFloor = ShareFloor()

    private init(_ name: String, _ transportKind: RoomTransportKind) {
        self.name = name
        self.transportKind = transportKind
    }

    /// Returns the room of that name on that transport. All sessions of this process that name the room share one
    /// object.
    static func named(_ name: String, over transport: RoomTransportKind) -> Room {
        let address = Address(transport: transport.name, name: name)
        return rooms.withLock { rooms in
            if let room = rooms[address]?.room { return room }
            rooms = rooms.filter { $0.value.room != nil }
            let room = Room(name, transport)
            rooms[address] = Reference(room: room)
            return room
        }
    }

    /// Adds a member, and notifies the other members and the new one of each other. Throws `alreadyInUse` if a local or
    /// remote user has the same name.
    func join(_ member: any RoomMember) throws(MediaGraphError) {
        let (reach, remote, hasMoved) = try membershipLock.withLock { _ throws(MediaGraphError) in try enter(member) }
        // The user has moved here from another process, where its streams have ended.
        if hasMoved { remoteLeft(member.user) }
        let others = state.withLock { $0.others(than: member.user) }
        for other in others { other.joined(member.user) }
        let users = (others.map(\.user) + remote).sorted()
        for user in users { member.joined(user) }
        let sending = state.withLock { $0.sending }
        for key in sending { member.streamChanged(key, isOn: true) }
        // Streams that ended and users who left during the calls above were reported before the member knew of them.
        let (present, isSent) = (Set(self.users), state.withLock { $0.sending })
        for key in sending.subtracting(isSent) { member.streamChanged(key, isOn: false) }
        for user in users where !present.contains(user) { member.left(user) }
        if case .thisProcess(let error) = reach {
            member.roomIsLimitedToProcess(because: error, remedy: transportKind.remedy)
        }
    }

    /// Claims the member's name in this process and with the transport. Called with `membershipLock` held.
    private func enter(_ member: any RoomMember) throws(MediaGraphError) -> (Reach, remote: [String], hasMoved: Bool) {
        let isFree = state.withLock { state in
            guard state.members[member.user] == nil else { return false }
            state.members[member.user] = member
            return true
        }
        guard isFree else { throw .nameTaken(member.user, in: name) }
        let reach = reach()
        guard case .everybody(let transport) = reach else { return (reach, [], false) }
        do throws(MediaGraphError) {
            let (others, hasMoved) = try transport.join(member.user)
            return (reach, others, hasMoved)
        } catch {
            state.withLock { $0.members[member.user] = nil }
            closeIfEmpty()
            throw error
        }
    }

    /// Removes a member, and notifies the others.
    func leave(_ member: any RoomMember) {
        let others = membershipLock.withLock { _ -> [any RoomMember]? in
            let wasThere = state.withLock { state in
                guard state.members[member.user] === member else { return false }
                state.members[member.user] = nil
                return true
            }
            guard wasThere else { return nil }
            state.withLock { $0.transport }?.leave(member.user)
            closeIfEmpty()
            return state.withLock { $0.others(than: member.user) }
        }
        for other in others ?? [] { other.left(member.user) }
    }

    /// Tells the transport and the members that a member has started or stopped sending a stream.
    func streamChanged(_ key: StreamKey, isOn: Bool) {
        if !isOn { shareFloor.releaseFloor(key) }
        state.withLock { $0.transport }?.streamChanged(key, isOn: isOn)
        tell(key, isOn: isOn)
    }

    private func tell(_ key: StreamKey, isOn: Bool) {
        let members = state.withLock { state in
            if isOn { state.sending.insert(key) } else { state.sending.remove(key) }
            // Under the lock, so that the stream receives concurrent changes in the order in which they are recorded.
            state.streams[key]?.stream?.setExpected(isOn)
            return Array(state.members.values)
        }
        for member in members { member.streamChanged(key, isOn: isOn) }
    }

    /// The names of all users in the room, local and remote, sorted.
    var users: [String] {
        let (here, transport) = state.withLock { ($0.members.keys, $0.transport) }
        return (here + (transport?.remoteUsers ?? [])).sorted()
    }

    // MARK: The transport

    /// Makes and starts the transport if there is none yet.
    private func reach() -> Reach {
        if let reach = state.withLock({ $0.reach }) { return reach }
        do throws(MediaGraphError) {
            let transport = try transportKind.make(name, self)
            // Before `start`, after which the transport may call the room.
            state.withLock { $0.reach = .everybody(transport) }
            transport.start()
            return .everybody(transport)
        } catch {
            state.withLock { $0.reach = .thisProcess(because: error) }
            return .thisProcess(because: error)
        }
    }

    /// Stops the transport and ends all streams after the last member has left.
    private func closeIfEmpty() {
        let left = state.withLock { state -> (transport: (any RoomTransport)?, streams: [RoomStream])? in
            guard state.members.isEmpty else { return nil }
            // From here on the room no longer uses this transport.
            defer { (state.reach, state.sending) = (nil, []) }
            return (state.transport, state.streams(where: { _ in true }))
        }
        left?.transport?.stop()
        for stream in left?.streams ?? [] {
            stream.end()
            stream.setExpected(false)
        }
    }

    // MARK: Streams

    /// Asks for permission before a member's stream goes on. Throws `alreadyInUse` for a share while another user
    /// shares.
    func begin(_ key: StreamKey) throws(MediaGraphError) {
        guard key.kind.isShare else { return }
        let transport = state.withLock { $0.transport }
        try shareFloor.take(key) { () throws(MediaGraphError) in try transport?.requestShare(key.user) }
    }

    /// Returns the stream of that key, and makes it if there is none. The room keeps only a weak reference to it.
    func stream(_ key: StreamKey) -> RoomStream {
        state.withLock { state in
            if let stream = state.streams[key]?.stream { return stream }
            state.streams = state.streams.filter { $0.value.stream != nil }
            let stream = RoomStream(key, room: name, isExpected: state.sending.contains(key)) { [weak self] in
                self?.requested($0, of: key)
            }
            state.streams[key] = StreamReference(stream: stream)
            return stream
        }
    }
}

extension Room: RoomTransportDelegate {
    func remoteJoined(_ user: String) {
        let (members, streams) = state.withLock { state in
            (state.others(than: user), state.streams(where: { $0.key.user == user }))
        }
        for member in members { member.joined(user) }
        for stream in streams { stream.demandChanged() }
    }

    func remoteStreamChanged(_ key: StreamKey, isOn: Bool) {
        guard state.withLock({ $0.transport != nil }) else { return }
        if key.kind.isShare { shareFloor.invalidateRefusal() }
        tell(key, isOn: isOn)
    }

    func remoteLeft(_ user: String) {
        let (members, streams, sending) = state.withLock { state in
            (
                state.others(than: user), state.streams(where: { $0.key.user == user }),
                state.sending.filter { $0.user == user }
            )
        }
        shareFloor.invalidateRefusal()
        for stream in streams { stream.end(ofRemoteUser: true) }
        for key in sending { tell(key, isOn: false) }
        for member in members { member.left(user) }
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
        for member in state.withLock({ Array($0.members.values) }) { member.warn(text) }
    }

    /// Passes a request of a stream's readers to the transport, if the stream's user isn't local.
    private func requested(_ request: RoomStream.Request, of key: StreamKey) {
        let transport = state.withLock { $0.members[key.user] == nil ? $0.transport : nil }
        guard let transport else { return }
        switch request {
        case .demand(let resolution): transport.setDemand(resolution, for: key)
        case .keyFrame: transport.requestKeyFrame(key)
        }
    }
}

extension MediaGraphError {
    /// The error for a user whose name is taken in a room.
    package static func nameTaken(_ user: String, in room: String) -> MediaGraphError {
        .alreadyInUse(
            .init(
                "somebody in room \"\(room)\" is already called \"\(user)\"; choose another name with user=…"))
    }
}
