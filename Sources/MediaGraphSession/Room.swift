import GStreamer
import MediaGraphCore
import Synchronization

/// Who hears what happens in a room. Any thread, no lock held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    func joined(_ user: String)
    func left(_ user: String)
    /// Somebody's stream, the member's own too, has started or stopped being sent.
    func streamChanged(_ key: StreamKey, isOn: Bool)
    /// Remote users can't be reached. `remedy` is what to do.
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String)
    /// The room has a trouble.
    func warn(_ text: String)
}

/// The users of a room in this process, and their streams, which are there before their users: to read one is to subscribe.
final class Room: Sendable {
    private struct State: Sendable {
        var members: [String: any RoomMember] = [:]
        /// As long as somebody has them.
        var streams: [StreamKey: StreamReference] = [:]
        /// Those that are being sent, here or elsewhere.
        var sending: Set<StreamKey> = []
        /// While anybody is here.
        var reach: Reach?

        var transport: (any RoomTransport)? {
            if case .everybody(let transport) = reach { transport } else { nil }
        }

        func streams(where isMeant: (RoomStream) -> Bool) -> [RoomStream] {
            streams.values.compactMap(\.stream).filter(isMeant)
        }

        /// Those who are here but for one, in the order of their names.
        func others(than user: String) -> [any RoomMember] {
            members.values.filter { $0.user != user }.sorted { $0.user < $1.user }
        }
    }

    /// Whether users elsewhere can be reached. Decided when the first user joins, and kept until the last one leaves.
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
    /// Serialises joining and leaving, and the transport's `start`, `join`, `leave` and `stop`. The room notifies no member while
    /// it is held; a transport may warn them from within these calls.
    private let door = Mutex(())
    private let shareFloor = ShareFloor()

    private init(_ name: String, _ transportKind: RoomTransportKind) {
        self.name = name
        self.transportKind = transportKind
    }

    /// The room of that name on that transport, made when nobody has it: every session of the process that names it is in it.
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

    /// Those who are there are told of the new one, and the new one of them. Throws `alreadyInUse` for a name that somebody
    /// has, here or elsewhere.
    func join(_ member: any RoomMember) throws(MediaGraphError) {
        let (reach, remote, hasMoved) = try door.withLock { _ throws(MediaGraphError) in try enter(member) }
        // From elsewhere: what was the user's there has ended.
        if hasMoved { remoteLeft(member.user) }
        let others = state.withLock { $0.others(than: member.user) }
        for other in others { other.joined(member.user) }
        let users = (others.map(\.user) + remote).sorted()
        for user in users { member.joined(user) }
        let sending = state.withLock { $0.sending }
        for key in sending { member.streamChanged(key, isOn: true) }
        // What ended meanwhile was told before it was known of.
        let (present, isSent) = (Set(self.users), state.withLock { $0.sending })
        for key in sending.subtracting(isSent) { member.streamChanged(key, isOn: false) }
        for user in users where !present.contains(user) { member.left(user) }
        if case .thisProcess(let error) = reach {
            member.roomIsLimitedToProcess(because: error, remedy: transportKind.remedy)
        }
    }

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

    func leave(_ member: any RoomMember) {
        let others = door.withLock { _ -> [any RoomMember]? in
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

    /// A member's stream has started or stopped being sent.
    func streamChanged(_ key: StreamKey, isOn: Bool) {
        if !isOn { shareFloor.giveBack(key) }
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

    var users: [String] {
        let (here, transport) = state.withLock { ($0.members.keys, $0.transport) }
        return (here + (transport?.remoteUsers ?? [])).sorted()
    }

    // MARK: The transport

    private func reach() -> Reach {
        if let reach = state.withLock({ $0.reach }) { return reach }
        do throws(MediaGraphError) {
            let transport = try transportKind.make(name, self)
            // Before it tells anything.
            state.withLock { $0.reach = .everybody(transport) }
            transport.start()
            return .everybody(transport)
        } catch {
            state.withLock { $0.reach = .thisProcess(because: error) }
            return .thisProcess(because: error)
        }
    }

    private func closeIfEmpty() {
        let left = state.withLock { state -> (transport: (any RoomTransport)?, streams: [RoomStream])? in
            guard state.members.isEmpty else { return nil }
            // The room uses this transport no longer.
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

    /// A member's stream is about to be on. Throws `alreadyInUse` for a share while another user has one.
    func begin(_ key: StreamKey) throws(MediaGraphError) {
        guard key.kind.isShare else { return }
        let transport = state.withLock { $0.transport }
        try shareFloor.take(key) { () throws(MediaGraphError) in try transport?.requestShare(key.user) }
    }

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
        if key.kind.isShare { shareFloor.askAgain() }
        tell(key, isOn: isOn)
    }

    func remoteLeft(_ user: String) {
        let (members, streams, sending) = state.withLock { state in
            (
                state.others(than: user), state.streams(where: { $0.key.user == user }),
                state.sending.filter { $0.user == user }
            )
        }
        shareFloor.askAgain()
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

    /// Of a user who isn't local.
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
    package static func nameTaken(_ user: String, in room: String) -> MediaGraphError {
        .alreadyInUse(
            .init(
                "somebody in room \"\(room)\" is already called \"\(user)\"; choose another name with user=…"))
    }
}
