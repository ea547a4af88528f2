import GStreamer
import LocalSockets
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// The transport to the other processes of the machine's user.
///
/// Of two processes the one that came later connects to the other, at once and whenever they have lost each other: a process
/// that was stopped, or too busy to read, for very long is back when it goes on.
///
/// Nothing of the room's is called with this one's state locked.
final class RoomLink: RoomTransport {
    fileprivate struct State: Sendable {
        /// This process's users, each with its hold on the name.
        var users: [String: FileLock] = [:]
        /// Their streams that are being sent.
        var sending: Set<StreamKey> = []
        var peers: [RoomPeer] = []
        /// Those of another version.
        var strangers: Set<Int> = []
        /// Who says that it has which user, the last to say so last: whoever is killed and started anew, or has come back, may be
        /// heard before its old connection's end.
        var claims: [String: [RoomPeer]] = [:]
        /// Who has which user, as the room has been told.
        var remote: [String: RoomPeer] = [:]
        /// Streams that this process reads of others.
        var reading: [StreamKey: Resolution] = [:]
        /// Streams of this process that others read.
        var forwarders: [StreamKey: StreamForwarder] = [:]
        var place: RoomDirectory.Place
        /// Users whose names were lost with the room's folder.
        var unclaimed: Set<String> = []
        /// What has been told of the room's folder, and holds.
        var trouble: String?
        var isStopped = false
    }

    private let directory: RoomDirectory
    private let delegate: any RoomTransportDelegate
    private let state: Mutex<State>
    /// Held by a peer's thread, and by no other, while the room is told of its users: what it is told last is true.
    private let news = Mutex(())

    static let log = DebugCategory("mediagraph-room", "MediaGraph rooms between processes")
    /// How often those that have been lost are looked for, in microseconds.
    private static let interval: Int64 = 1_000_000

    /// Others can connect from now on. Throws `notPermitted` where sockets or folders can't be made.
    init(room: String, delegate: any RoomTransportDelegate) throws(MediaGraphError) {
        directory = RoomDirectory(room: room)
        state = Mutex(State(place: try directory.enter()))
        self.delegate = delegate
    }

    /// Finds those who are there and waits for others.
    func start() {
        lookAround()
        NativeThread("room-accept") { [self] in
            while true {
                switch state.withLock({ $0.place.socket }).accept(timeout: Self.interval) {
                case .connected(let socket): add(RoomPeer(socket, room: self))
                case .refused(let user):
                    delegate.warn("refused a connection from another user of this machine (uid \(user))")
                case .nobody: break
                case .closed: return
                }
                lookAround()
            }
        }.detach()
    }

    /// Connects to those who came before. Who can't be reached now is tried again.
    private func lookAround() {
        guard ensureRegistered() else { return }
        let (endpoint, known) = state.withLock { state in
            (state.place.endpoint, state.strangers.union(state.peers.compactMap(\.endpoint)))
        }
        for other in directory.endpoints where other < endpoint && !known.contains(other) {
            do throws(LocalSocket.Failure) {
                add(RoomPeer(try LocalSocket.connected(to: directory.place(of: other)), endpoint: other, room: self))
            } catch { Self.log.log(.info, nil, "\(directory.place(of: other)): \(error)") }
        }
    }

    /// Makes sure that others find this process and its users' names in the room's folder. False where they can't, of which the
    /// room hears once.
    private func ensureRegistered() -> Bool {
        let place = state.withLock { $0.place }
        do throws(MediaGraphError) {
            if !directory.has(place) { try register(inPlaceOf: place) }
            try claimNamesAgain()
            try directory.checkFolders()
            state.withLock { $0.trouble = nil }
            return true
        } catch {
            tellOnce("can't connect to programs that join from now on: \(error)")
            return false
        }
    }

    /// The folder was removed under the processes that meet there, as a cleaner of temporary files does it: each makes its
    /// part of it again.
    private func register(inPlaceOf place: RoomDirectory.Place) throws(MediaGraphError) {
        let new = try directory.enter(again: place.endpoint)
        let isStopped = state.withLock { state in
            guard !state.isStopped else { return true }
            state.place = new
            state.unclaimed = Set(state.users.keys)
            return false
        }
        guard !isStopped else {
            new.socket.close()
            return directory.leave(new.endpoint)
        }
        place.socket.close()
        // At once, before somebody else takes them. One that can't be had is tried again.
        defer { delegate.shareGrantLost() }
        try claimNamesAgain()
        delegate.warn("the room's folder \(directory.path) was removed while in use; it has been recreated")
    }

    private func claimNamesAgain() throws(MediaGraphError) {
        for user in state.withLock({ $0.unclaimed.sorted() }) {
            let claim = try directory.claim(user)
            // Who has left meanwhile needs none.
            let isHere = state.withLock { state in
                state.unclaimed.remove(user)
                guard state.users[user] != nil else { return false }
                if let claim { state.users[user] = claim }
                return true
            }
            if !isHere { claim?.remove() }
            if isHere, claim == nil {
                delegate.warn("another program has meanwhile taken the name \"\(user)\"; rename one of the two users")
            }
        }
    }

    private func tellOnce(_ trouble: String) {
        let isNew = state.withLock { state in
            defer { state.trouble = trouble }
            return state.trouble != trouble && !state.isStopped
        }
        if isNew { delegate.warn(trouble) }
    }

    /// The last user has left. The room is told nothing more.
    func stop() {
        let (peers, forwarders, place) = state.withLock { state in
            defer { (state.forwarders, state.remote, state.isStopped) = ([:], [:], true) }
            return (state.peers, state.forwarders.values, state.place)
        }
        place.socket.close()
        directory.leave(place.endpoint)
        for forwarder in forwarders { forwarder.stop() }
        for peer in peers { peer.close() }
    }

    private func add(_ peer: RoomPeer) {
        let isWanted = state.withLock { state in
            guard !state.isStopped else { return false }
            state.peers.append(peer)
            peer.send(.hello(version: PeerMessage.version, users: state.users.keys.sorted()))
            for key in state.sending { peer.send(.stream(key, true)) }
            return true
        }
        if isWanted { peer.start() } else { peer.close() }
    }

    /// Its connection has ended.
    func remove(_ peer: RoomPeer, isStranger: Bool) {
        let idle = state.withLock { state in
            state.peers.removeAll { $0 === peer }
            if isStranger, let endpoint = peer.endpoint { state.strangers.insert(endpoint) }
            return state.removeReader(peer, of: Array(state.forwarders.keys), isGone: true)
        }
        for forwarder in idle { forwarder.stop() }
    }

    // MARK: This process's users

    /// Throws `alreadyInUse` while another process has the name. Answers who else is there, and whether the user was there by
    /// another process, which has given the name back and hasn't said so yet.
    func join(_ user: String) throws(MediaGraphError) -> (others: [String], hasMoved: Bool) {
        guard let claim = try directory.claim(user) else { throw .nameTaken(user, in: directory.room) }
        return state.withLock { state in
            state.users[user] = claim
            state.claims[user] = nil
            let hasMoved = state.remote.removeValue(forKey: user) != nil
            for key in state.reading.keys where key.user == user { state.reading[key] = nil }
            for peer in state.peers { peer.send(.joined(user)) }
            return (state.remote.keys.sorted(), hasMoved)
        }
    }

    func leave(_ user: String) {
        let (claim, gone) = state.withLock { state in
            let keys = state.forwarders.keys.filter { $0.user == user }
            defer { for key in keys { state.forwarders[key] = nil } }
            return (state.users.removeValue(forKey: user), keys.compactMap { state.forwarders[$0] })
        }
        for forwarder in gone { forwarder.stop() }
        withExtendedLifetime(claim) { claim?.remove() }
        // Whoever hears it finds the name free.
        state.withLock { state in for peer in state.peers { peer.send(.left(user)) } }
    }

    func streamChanged(_ key: StreamKey, isOn: Bool) {
        state.withLock { state in
            if isOn { state.sending.insert(key) } else { state.sending.remove(key) }
            for peer in state.peers { peer.send(.stream(key, isOn)) }
        }
    }

    func requestShare(_ user: String) throws(MediaGraphError) -> ShareDecision {
        try directory.claimShare(user)
    }

    var remoteUsers: [String] { state.withLock { $0.remote.keys.sorted() } }

    // MARK: Other processes' users

    func joined(_ user: String, with peer: RoomPeer) {
        news.withLock { _ in
            state.withLock { state in
                if state.users[user] == nil { state.claims[user, default: []].append(peer) }
            }
            settle(user)
        }
    }

    func left(_ user: String, with peer: RoomPeer) {
        news.withLock { _ in
            state.withLock { state in
                state.claims[user]?.removeAll { $0 === peer }
                if state.claims[user]?.isEmpty == true { state.claims[user] = nil }
            }
            settle(user)
        }
    }

    /// The room is told who has the user now: of another than before, that the one left and the other came.
    private func settle(_ user: String) {
        // Who is here by now isn't there any more, whatever is still said of that.
        let (old, new, isDone) = state.withLock {
            ($0.remote[user], $0.claims[user]?.last, $0.isStopped || $0.users[user] != nil)
        }
        guard old !== new, !isDone else { return }
        if old != nil {
            state.withLock { state in
                state.remote[user] = nil
                for key in state.reading.keys where key.user == user { state.reading[key] = nil }
            }
            delegate.remoteLeft(user)
        }
        guard let new else { return }
        let isTold = state.withLock { state in
            if !state.isStopped { state.remote[user] = new }
            return !state.isStopped
        }
        guard isTold else { return }
        delegate.remoteJoined(user)
    }

    func streamChanged(_ key: StreamKey, isOn: Bool, with peer: RoomPeer) {
        news.withLock { _ in
            guard state.withLock({ $0.remote[key.user] === peer && !$0.isStopped }) else { return }
            delegate.remoteStreamChanged(key, isOn: isOn)
        }
    }

    func setDemand(_ resolution: Resolution?, for key: StreamKey) {
        state.withLock { state in
            guard let peer = state.remote[key.user], state.reading[key] != resolution else { return }
            state.reading[key] = resolution
            peer.send(resolution.map { .read(key, $0) } ?? .unread(key))
        }
    }

    /// Of another process's stream that is read here.
    func requestKeyFrame(_ key: StreamKey) {
        state.withLock { state in
            if state.reading[key] != nil { state.remote[key.user]?.send(.keyFrame(key)) }
        }
    }

    /// Where a buffer that a peer sends belongs; `nil` when nobody reads it here any more.
    func remoteStream(_ key: StreamKey, of peer: RoomPeer) -> RoomStream? {
        guard state.withLock({ $0.remote[key.user] === peer && $0.reading[key] != nil }) else { return nil }
        return delegate.stream(key)
    }

    // MARK: This process's streams, read by others

    func forward(_ key: StreamKey, _ resolution: Resolution, to peer: RoomPeer) {
        let new = StreamForwarder(delegate.stream(key))
        let forwarder = state.withLock { state -> StreamForwarder? in
            guard state.users[key.user] != nil, !state.isStopped else { return nil }
            let forwarder = state.forwarders[key] ?? new
            state.forwarders[key] = forwarder
            // Before another reader that leaves can be the last.
            forwarder.add(peer, resolution)
            return forwarder
        }
        forwarder?.start()
    }

    /// A reader of another process asks for a key frame.
    func keyFrameRequested(_ key: StreamKey) {
        state.withLock { $0.forwarders[key] }?.stream.requestKeyFrame()
    }

    func stopForwarding(_ key: StreamKey, to peer: RoomPeer) {
        for forwarder in state.withLock({ $0.removeReader(peer, of: [key], isGone: false) }) { forwarder.stop() }
    }

    func release(_ memories: [UInt64], by peer: RoomPeer) {
        for forwarder in state.withLock({ Array($0.forwarders.values) }) { forwarder.release(memories, by: peer) }
    }
}

extension RoomLink.State {
    /// The forwarders that nobody reads any more.
    fileprivate mutating func removeReader(
        _ peer: RoomPeer, of keys: [StreamKey], isGone: Bool
    ) -> [StreamForwarder] {
        keys.compactMap { key in
            guard let forwarder = forwarders[key], forwarder.remove(peer, isGone: isGone) else { return nil }
            forwarders[key] = nil
            return forwarder
        }
    }
}
