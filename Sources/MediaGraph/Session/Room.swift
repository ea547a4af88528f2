import GStreamer
import Synchronization

/// Who hears what happens in a room. Any thread, no lock held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    func joined(_ user: String)
    func left(_ user: String)
}

/// The users of a room in this process, and their streams, which are there before their users: to read one is to subscribe.
final class Room: Sendable {
    private struct State: Sendable {
        var members: [String: any RoomMember] = [:]
        var streams: [StreamKey: RoomStream] = [:]
    }

    private struct Reference: Sendable {
        weak var room: Room?
    }

    private static let rooms = Mutex<[String: Reference]>([:])

    let name: String
    private let state = Mutex(State())

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

    /// Those who are there are told of the new one, and the new one of them.
    func join(_ member: any RoomMember) throws(MediaGraphError) {
        let others: [any RoomMember]? = state.withLock { state in
            guard state.members[member.user] == nil else { return nil }
            defer { state.members[member.user] = member }
            return state.members.values.sorted { $0.user < $1.user }
        }
        guard let others else {
            throw .alreadyInUse(
                .init("user \"\(member.user)\"", expected: "a name that nobody in room \"\(name)\" has"))
        }
        for other in others {
            other.joined(member.user)
            member.joined(other.user)
        }
    }

    func leave(_ member: any RoomMember) {
        let others = state.withLock { state -> [any RoomMember] in
            guard state.members[member.user] === member else { return [] }
            state.members[member.user] = nil
            return state.members.values.sorted { $0.user < $1.user }
        }
        for other in others { other.left(member.user) }
    }

    var users: [String] { state.withLock { $0.members.keys.sorted() } }

    func stream(_ key: StreamKey) -> RoomStream {
        state.withLock { state in
            if let stream = state.streams[key] { return stream }
            let stream = RoomStream(key, room: name)
            state.streams[key] = stream
            return stream
        }
    }
}
