import GStreamer
import Synchronization

/// Who hears what happens in a room. Any thread, no lock held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    func joined(_ user: String)
    func left(_ user: String)
    /// Somebody's stream, the member's own too, has started or stopped being sent.
    func streamChanged(_ key: StreamKey, isOn: Bool)
    /// Other processes can't be reached: those who are here are all.
    func isAlone(because error: MediaGraphError)
    /// The room has a trouble.
    func warn(_ text: String)
}

/// The users of a room in this process, and their streams, which are there before their users: to read one is to subscribe.
final class Room: Sendable {
    private struct State: Sendable {
        var members: [String: any RoomMember] = [:]
        /// As long as somebody has them.
        var streams: [StreamKey: StreamReference] = [:]
        /// Those that are being sent, in whatever process.
        var sending: Set<StreamKey> = []
        /// While anybody is here.
        var reach: Reach?

        var link: RoomLink? { if case .others(let link) = reach { link } else { nil } }
        func streams(where isMeant: (RoomStream) -> Bool) -> [RoomStream] {
            streams.values.compactMap(\.stream).filter(isMeant)
        }

        /// Those who are here but for one, in the order of their names.
        func others(than user: String) -> [any RoomMember] {
            members.values.filter { $0.user != user }.sorted { $0.user < $1.user }
        }
    }

    /// Whether other processes can be reached. Decided when the first user joins, and kept until the last one leaves.
    private enum Reach: Sendable {
        /// To the other processes.
        case others(RoomLink)
        /// Not out of this process: a room of this process alone is one too.
        case nobody(MediaGraphError)
    }

    private struct Reference: Sendable {
        weak var room: Room?
    }

    private struct StreamReference: Sendable {
        weak var stream: RoomStream?
    }

    private static let rooms = Mutex<[String: Reference]>([:])

    let name: String
    private let state = Mutex(State())
    /// Serialises joining and leaving, including file and socket work. Never held while members are notified.
    private let door = Mutex(())
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
        let (reach, remote, hasMoved) = try door.withLock { _ throws(MediaGraphError) in try enter(member) }
        // By another process: what was the user's there has ended.
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
        if case .nobody(let error) = reach { member.isAlone(because: error) }
    }

    private func enter(_ member: any RoomMember) throws(MediaGraphError) -> (Reach, remote: [String], hasMoved: Bool) {
        let isFree = state.withLock { state in
            guard state.members[member.user] == nil else { return false }
            state.members[member.user] = member
            return true
        }
        guard isFree else { throw .nameTaken(member.user, in: name) }
        let reach = reach()
        guard case .others(let link) = reach else { return (reach, [], false) }
        do throws(MediaGraphError) {
            let (others, hasMoved) = try link.join(member.user)
            return (reach, others, hasMoved)
        } catch {
            state.withLock { $0.members[member.user] = nil }
            unlinkIfEmpty()
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
            state.withLock { $0.link }?.leave(member.user)
            unlinkIfEmpty()
            return state.withLock { $0.others(than: member.user) }
        }
        for other in others ?? [] { other.left(member.user) }
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
            // Under the lock, so that the stream receives concurrent changes in the order in which they are recorded.
            state.streams[key]?.stream?.setExpected(isOn)
            return Array(state.members.values)
        }
        for member in members { member.streamChanged(key, isOn: isOn) }
    }

    var users: [String] {
        let (here, link) = state.withLock { ($0.members.keys, $0.link) }
        return (here + (link?.remoteUsers ?? [])).sorted()
    }

    // MARK: Other processes

    private func reach() -> Reach {
        if let reach = state.withLock({ $0.reach }) { return reach }
        do throws(MediaGraphError) {
            let link = try RoomLink(room: name, events: self)
            // Before it tells anything.
            state.withLock { $0.reach = .others(link) }
            link.start()
            return .others(link)
        } catch {
            state.withLock { $0.reach = .nobody(error) }
            return .nobody(error)
        }
    }

    private func unlinkIfEmpty() {
        let left = state.withLock { state -> (link: RoomLink?, streams: [RoomStream])? in
            guard state.members.isEmpty else { return nil }
            defer { (state.reach, state.sending) = (nil, []) }
            return (state.link, state.streams(where: { _ in true }))
        }
        left?.link?.stop()
        for stream in left?.streams ?? [] {
            stream.end()
            stream.setExpected(false)
        }
    }

    // MARK: Streams

    /// A member's stream is about to be on. Throws `alreadyInUse` for a share while another user has one.
    func begin(_ key: StreamKey) throws(MediaGraphError) {
        guard key.kind.isShare else { return }
        let link = state.withLock { $0.link }
        try shareFloor.take(key) { () throws(MediaGraphError) in try link?.claimShare(key.user) }
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

extension Room: RoomLinkEvents {
    func remoteJoined(_ user: String) {
        for member in state.withLock({ $0.others(than: user) }) { member.joined(user) }
    }

    func remoteStreamChanged(_ key: StreamKey, isOn: Bool) {
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
        for stream in streams { stream.end(ofOtherProcess: true) }
        for key in sending { tell(key, isOn: false) }
        for member in members { member.left(user) }
    }

    func shareLockIsLost() {
        let link = state.withLock { $0.link }
        do throws(MediaGraphError) {
            try shareFloor.lockAgain { (user) throws(MediaGraphError) in try link?.claimShare(user) }
        } catch { warn("\(error)") }
    }

    func warn(_ text: String) {
        for member in state.withLock({ Array($0.members.values) }) { member.warn(text) }
    }

    func demand(for key: StreamKey) -> Resolution? { state.withLock { $0.streams[key]?.stream }?.demand }

    private func requested(_ request: RoomStream.Request, of key: StreamKey) {
        guard let link = state.withLock({ $0.link }) else { return }
        switch request {
        case .demandChanged: link.demandChanged(key)
        case .keyFrame: link.requestKeyFrame(key)
        }
    }
}

extension MediaGraphError {
    static func nameTaken(_ user: String, in room: String) -> MediaGraphError {
        .alreadyInUse(
            .init(
                "somebody in room \"\(room)\" is already called \"\(user)\"; choose another name with user=…"))
    }
}
