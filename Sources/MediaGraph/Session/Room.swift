import GStreamer
import Synchronization

/// Who hears what happens in a room. Any thread, no lock held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    func joined(_ user: String)
    func left(_ user: String)
    /// Somebody's stream, the member's own too, has started or stopped being sent.
    func streamChanged(_ key: StreamKey, isOn: Bool)
}

/// The users of a room in this process, and their streams, which are there before their users: to read one is to subscribe.
final class Room: Sendable {
    private struct State: Sendable {
        var members: [String: any RoomMember] = [:]
        var streams: [StreamKey: RoomStream] = [:]
        /// Those that are being sent, in whatever process.
        var sending: Set<StreamKey> = []
        /// To the other processes, while anybody is here; `nil` too where there is no way to them.
        var link: RoomLink?

        /// Those who are here but for one, in the order of their names.
        func others(than user: String) -> [any RoomMember] {
            members.values.filter { $0.user != user }.sorted { $0.user < $1.user }
        }
    }

    private struct Reference: Sendable {
        weak var room: Room?
    }

    private static let rooms = Mutex<[String: Reference]>([:])

    let name: String
    private let state = Mutex(State())
    private let shareFloor = ShareFloor()

    private init(_ name: String) { self.name = name }

    /// The room of that name, made when nobody has it: every session of the process that names it is in it.
    static func named(_ name: String) -> Room {
        rooms.withLock { rooms in
            if let room = rooms[name]?.room { return room }
            rooms = rooms.filter { $0.value.room != nil }
            let room = Room(name)
            rooms[name] = Reference(room: room)
            return room
        }
    }

    /// Those who are there are told of the new one, and the new one of them. Throws `alreadyInUse` for a name that somebody
    /// has, in whatever process.
    func join(_ member: any RoomMember) throws(MediaGraphError) {
        let isFree = state.withLock { state in
            guard state.members[member.user] == nil else { return false }
            state.members[member.user] = member
            return true
        }
        guard isFree else { throw .nameTaken(member.user, in: name) }
        var remote: [String] = []
        do throws(MediaGraphError) { remote = try link()?.join(member.user) ?? [] } catch {
            state.withLock { $0.members[member.user] = nil }
            throw error
        }
        let others = state.withLock { $0.others(than: member.user) }
        for other in others { other.joined(member.user) }
        for user in (others.map(\.user) + remote).sorted() { member.joined(user) }
        for key in state.withLock({ $0.sending }) { member.streamChanged(key, isOn: true) }
    }

    func leave(_ member: any RoomMember) {
        let left = state.withLock { state -> (others: [any RoomMember], link: RoomLink?)? in
            guard state.members[member.user] === member else { return nil }
            state.members[member.user] = nil
            return (state.others(than: member.user), state.link)
        }
        guard let left else { return }
        left.link?.leave(member.user)
        if left.others.isEmpty { unlink() }
        for other in left.others { other.left(member.user) }
    }

    /// A member's stream has started or stopped being sent.
    func streamChanged(_ key: StreamKey, isOn: Bool) {
        if !isOn { shareFloor.giveBack(key) }
        state.withLock { $0.link }?.streamChanged(key, isOn: isOn)
        tell(key, isOn: isOn)
    }

    private func tell(_ key: StreamKey, isOn: Bool) {
        let members = state.withLock { state in
            if isOn { state.sending.insert(key) } else { state.sending.remove(key) }
            return Array(state.members.values)
        }
        for member in members { member.streamChanged(key, isOn: isOn) }
    }

    var users: [String] {
        let (here, link) = state.withLock { ($0.members.keys, $0.link) }
        return (here + (link?.remoteUsers ?? [])).sorted()
    }

    // MARK: Other processes

    private func link() throws(MediaGraphError) -> RoomLink? {
        if let link = state.withLock({ $0.link }) { return link }
        do throws(MediaGraphError) {
            let link = try RoomLink(room: name, events: self)
            state.withLock { $0.link = link }
            try link.start()
            return link
        } catch {
            // A room of this process alone is one too.
            RoomLink.log.log(.warning, nil, "room \(name) is this process's alone: \(error)")
            return nil
        }
    }

    private func unlink() {
        let link = state.withLock { state -> RoomLink? in
            guard state.members.isEmpty else { return nil }
            defer { state.link = nil }
            return state.link
        }
        link?.stop()
    }

    // MARK: Streams

    /// A member's stream is about to be on. Throws `alreadyInUse` for a share while another user has one.
    func begin(_ key: StreamKey) throws(MediaGraphError) {
        guard key.kind.isShare else { return }
        let link = state.withLock { $0.link }
        try shareFloor.take(key) { link?.claimShare(key.user) }
    }

    func stream(_ key: StreamKey) -> RoomStream {
        state.withLock { state in
            if let stream = state.streams[key] { return stream }
            let stream = RoomStream(key, room: name) { [weak self] in self?.demandChanged(key) }
            state.streams[key] = stream
            return stream
        }
    }
}

extension Room: RoomLinkEvents {
    func remoteJoined(_ user: String) {
        for member in state.withLock({ $0.others(than: user) }) { member.joined(user) }
    }

    func remoteStreamChanged(_ key: StreamKey, isOn: Bool) { tell(key, isOn: isOn) }

    func remoteLeft(_ user: String) {
        let (members, streams, sending) = state.withLock { state in
            (
                state.others(than: user), state.streams.values.filter { $0.key.user == user },
                state.sending.filter { $0.user == user }
            )
        }
        for stream in streams { stream.end() }
        for key in sending { tell(key, isOn: false) }
        for member in members { member.left(user) }
    }

    func demand(for key: StreamKey) -> Resolution? { state.withLock { $0.streams[key] }?.demand }

    private func demandChanged(_ key: StreamKey) { state.withLock { $0.link }?.demandChanged(key) }
}

extension MediaGraphError {
    static func nameTaken(_ user: String, in room: String) -> MediaGraphError {
        .alreadyInUse(
            .init(
                "user \"\(user)\"", expected: "a name that nobody in the room has",
                actual: "room \"\(room)\", where \"\(user)\" is already: choose another with user=…"))
    }
}
