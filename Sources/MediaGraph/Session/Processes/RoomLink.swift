import GStreamer
import Synchronization

/// A room's way to the other processes of the machine: from the first user who joins here until the last has left.
///
/// Lock order: the folder's, then this one's; nothing of the room's is called with either held.
final class RoomLink: Sendable {
    fileprivate struct State: Sendable {
        /// This process's users, each with its hold on the name.
        var users: [String: FileLock] = [:]
        /// Their streams that are being sent.
        var sending: Set<StreamKey> = []
        var peers: [RoomPeer] = []
        /// Who has told of which user.
        var remote: [String: RoomPeer] = [:]
        /// Streams that this process reads of others.
        var reading: [StreamKey: Resolution] = [:]
        /// Streams of this process that others read.
        var forwarders: [StreamKey: StreamForwarder] = [:]
    }

    private let directory: RoomDirectory
    private let endpoint: String
    private let listener: LocalSocket
    private let events: any RoomLinkEvents
    private let state = Mutex(State())

    static let log = DebugCategory("mediagraph-room", "MediaGraph rooms between processes")

    /// Others can connect from now on. Throws `notPermitted` where sockets or folders can't be made.
    init(room: String, events: any RoomLinkEvents) throws(MediaGraphError) {
        directory = try RoomDirectory(room: room)
        endpoint = directory.newEndpoint()
        self.events = events
        do throws(LocalSocket.Failure) { listener = try LocalSocket.listening(at: endpoint) } catch {
            throw .notPermitted(.init(endpoint, expected: "a socket", actual: "\(error)"))
        }
    }

    /// Finds those who are there and waits for others. With the folder locked: of two who start, one finds the other.
    func start() throws(MediaGraphError) {
        let found = try directory.withLock { () throws(MediaGraphError) in
            directory.endpoints.filter { $0 != endpoint }.compactMap { path -> RoomPeer? in
                guard let socket = try? LocalSocket.connected(to: path) else {
                    RoomDirectory.remove(path)
                    return nil
                }
                return RoomPeer(socket, room: self)
            }
        }
        for peer in found { add(peer) }
        NativeThread("room-accept") { [self] in
            while let socket = listener.accept() { add(RoomPeer(socket, room: self)) }
        }.detach()
    }

    /// The last user has left.
    func stop() {
        listener.close()
        RoomDirectory.remove(endpoint)
        let (peers, forwarders) = state.withLock { state in
            defer { state.forwarders = [:] }
            return (state.peers, state.forwarders.values)
        }
        for forwarder in forwarders { forwarder.stop() }
        for peer in peers { peer.close() }
    }

    private func add(_ peer: RoomPeer) {
        state.withLock { state in
            state.peers.append(peer)
            peer.send(.hello(version: PeerMessage.version, users: state.users.keys.sorted()))
            for key in state.sending { peer.send(.stream(key, true)) }
        }
        peer.start()
    }

    func remove(_ peer: RoomPeer) {
        let idle = state.withLock { state in
            state.peers.removeAll { $0 === peer }
            return state.removeReader(peer, of: Array(state.forwarders.keys))
        }
        for forwarder in idle { forwarder.stop() }
    }

    // MARK: This process's users

    /// Throws `alreadyInUse` while another process has the name. Answers who else is there.
    func join(_ user: String) throws(MediaGraphError) -> [String] {
        let claim = try directory.withLock { () throws(MediaGraphError) in directory.claim(user) }
        guard let claim else { throw .nameTaken(user, in: directory.room) }
        return state.withLock { state in
            state.users[user] = claim
            for peer in state.peers { peer.send(.joined(user)) }
            return state.remote.keys.sorted()
        }
    }

    func leave(_ user: String) {
        let (claim, gone) = state.withLock { state in
            for peer in state.peers { peer.send(.left(user)) }
            let keys = state.forwarders.keys.filter { $0.user == user }
            defer { for key in keys { state.forwarders[key] = nil } }
            return (state.users.removeValue(forKey: user), keys.compactMap { state.forwarders[$0] })
        }
        for forwarder in gone { forwarder.stop() }
        // With the folder locked: whoever wants the name finds it free, or this process's.
        try? directory.withLock { () throws(MediaGraphError) in
            withExtendedLifetime(claim) { directory.removeClaim(user) }
        }
    }

    func streamChanged(_ key: StreamKey, isOn: Bool) {
        state.withLock { state in
            if isOn { state.sending.insert(key) } else { state.sending.remove(key) }
            for peer in state.peers { peer.send(.stream(key, isOn)) }
        }
    }

    /// Whether the room's share is this user's.
    func claimShare(_ user: String) -> RoomDirectory.ShareLock { directory.claimShare(user) }

    var remoteUsers: [String] { state.withLock { $0.remote.keys.sorted() } }

    // MARK: Other processes' users

    func joined(_ user: String, with peer: RoomPeer) {
        let isNew = state.withLock { state in
            guard state.remote[user] == nil, state.users[user] == nil else { return false }
            state.remote[user] = peer
            return true
        }
        guard isNew else { return }
        events.remoteJoined(user)
        for kind in StreamKind.allCases { demandChanged(StreamKey(user: user, kind: kind)) }
    }

    func left(_ user: String, with peer: RoomPeer) {
        let wasThere = state.withLock { state in
            guard state.remote[user] === peer else { return false }
            state.remote[user] = nil
            for key in state.reading.keys where key.user == user { state.reading[key] = nil }
            return true
        }
        if wasThere { events.remoteLeft(user) }
    }

    func streamChanged(_ key: StreamKey, isOn: Bool, with peer: RoomPeer) {
        guard state.withLock({ $0.remote[key.user] === peer }) else { return }
        events.remoteStreamChanged(key, isOn: isOn)
    }

    /// A stream's readers here have come or gone, or want another height.
    func demandChanged(_ key: StreamKey) {
        var wanted = events.demand(for: key)
        while true {
            state.withLock { state in
                guard let peer = state.remote[key.user], state.reading[key] != wanted else { return }
                state.reading[key] = wanted
                peer.send(wanted.map { .read(key, $0) } ?? .unread(key))
            }
            // Whoever asked before another has told what was true before.
            let latest = events.demand(for: key)
            guard latest != wanted else { return }
            wanted = latest
        }
    }

    /// Where a buffer that a peer sends belongs; `nil` when nobody reads it here any more.
    func remoteStream(_ key: StreamKey) -> RoomStream? {
        guard state.withLock({ $0.reading[key] != nil }) else { return nil }
        return events.stream(key)
    }

    // MARK: This process's streams, read by others

    func forward(_ key: StreamKey, _ resolution: Resolution, to peer: RoomPeer) {
        let new = StreamForwarder(events.stream(key))
        let forwarder = state.withLock { state -> StreamForwarder? in
            guard state.users[key.user] != nil else { return nil }
            if let forwarder = state.forwarders[key] { return forwarder }
            state.forwarders[key] = new
            return new
        }
        forwarder?.add(peer, resolution)
        if forwarder === new { new.start() }
    }

    func stopForwarding(_ key: StreamKey, to peer: RoomPeer) {
        for forwarder in state.withLock({ $0.removeReader(peer, of: [key]) }) { forwarder.stop() }
    }

    func release(_ memory: UInt64, by peer: RoomPeer) {
        for forwarder in state.withLock({ Array($0.forwarders.values) }) { forwarder.release(memory, by: peer) }
    }
}

extension RoomLink.State {
    /// The forwarders that nobody reads any more.
    fileprivate mutating func removeReader(_ peer: RoomPeer, of keys: [StreamKey]) -> [StreamForwarder] {
        keys.compactMap { key in
            guard let forwarder = forwarders[key], forwarder.remove(peer) else { return nil }
            forwarders[key] = nil
            return forwarder
        }
    }
}

/// What a link asks and tells its room.
protocol RoomLinkEvents: AnyObject, Sendable {
    func remoteJoined(_ user: String)
    func remoteLeft(_ user: String)
    func remoteStreamChanged(_ key: StreamKey, isOn: Bool)
    func stream(_ key: StreamKey) -> RoomStream
    /// What of the stream's height is enough for those who read it here; `nil` where nobody does.
    func demand(for key: StreamKey) -> Resolution?
}
