import GStreamer
import LocalSockets
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// The transport to the other processes of the same user on this machine.
///
/// Of two processes, the one that entered the room later connects to the other. It does so again whenever the
/// connection has been lost. So a process that was suspended, or too busy to read for a long time, comes back when it
/// continues.
///
/// The room is never called while `state` is locked.
final class RoomLink: RoomTransport {
    let directory: RoomDirectory
    let delegate: any RoomTransportDelegate
    let state = Mutex(State())
    /// Lets one peer's thread at a time tell the room about users, so that the room hears of changes in the right order.
    private let notifications = RoomNotifications()
    /// The clock of the peers' timestamps: the machine's, which all processes share, whatever the room's clock is.
    let timestampClock: TimerClock
    /// How often this process looks for lost peers.
    private let interval: Duration

    static let log = DebugCategory("mediagraph-room", "MediaGraph rooms between processes")

    init(
        in directory: RoomDirectory, delegate: any RoomTransportDelegate, interval: Duration = .seconds(1),
        timestampClock: TimerClock = .system
    ) {
        (self.directory, self.delegate) = (directory, delegate)
        (self.interval, self.timestampClock) = (interval, timestampClock)
    }

    /// Starts the thread that enters the room's folder and accepts connections.
    ///
    /// Reports `notPermitted` if folders or sockets can't be made, `processingFailed` if a lock file can't be opened,
    /// and `timeOut` if another process doesn't release its lock.
    func start(_ report: @escaping @Sendable (_ problem: MediaGraphError?) -> Void) {
        NativeThread("room-accept") { [self] in
            do throws(MediaGraphError) { guard try enter() else { return } } catch {
                if isRunning { report(error) }
                return
            }
            report(nil)
            while true {
                findPeers()
                guard let socket = state.withLock({ $0.entry?.socket }) else { return }
                switch socket.accept(timeout: interval) {
                case .connected(let socket): add(RoomPeer(socket, room: self))
                case .refused(let user):
                    delegate.warn("refused a connection from another user of this machine (uid \(user))")
                case .nobody: break
                case .closed: return
                }
            }
        }.detach()
    }

    /// Enters the room's folder; other processes can connect from now on. Waits for the folder's lock. Returns false if
    /// this link has been stopped meanwhile.
    func enter() throws(MediaGraphError) -> Bool {
        let entry = try directory.enter(while: { [self] in isRunning })
        let isStopped = state.withLock { state in
            if !state.isStopped { state.entry = entry }
            return state.isStopped
        }
        if isStopped { leave(entry) }
        return !isStopped
    }

    private func leave(_ entry: RoomDirectory.Entry) {
        entry.socket.close()
        directory.leave(entry.endpoint)
    }

    private var isRunning: Bool { state.withLock { !$0.isStopped } }

    /// Connects to the processes that entered the room earlier. A process that can't be reached now is tried again
    /// later.
    func findPeers() {
        guard ensureRegistered() else { return }
        let (endpoint, known) = state.withLock { state in
            (state.entry?.endpoint, state.strangers.union(state.peers.compactMap(\.endpoint)))
        }
        guard let endpoint else { return }
        for other in directory.endpoints where other < endpoint && !known.contains(other) {
            do throws(LocalSocket.Failure) {
                add(
                    RoomPeer(
                        try LocalSocket.connected(to: directory.socketPath(of: other)), endpoint: other, room: self))
            } catch { Self.log.log(.info, nil, "\(directory.socketPath(of: other)): \(error)") }
        }
    }

    /// Makes sure that other processes can find this process and its users' names in the room's folder. If they can't,
    /// warns the room once and returns false.
    private func ensureRegistered() -> Bool {
        guard let entry = state.withLock({ $0.entry }) else { return false }
        do throws(MediaGraphError) {
            if !directory.has(entry) { try register(replacing: entry) }
            try claimNamesAgain()
            do throws(MediaGraphError) { try directory.checkFolders() } catch {
                // The folder has been removed just now. The next call enters it again.
                guard directory.has(entry) else { return false }
                throw error
            }
            state.withLock { $0.problem = nil }
            return true
        } catch {
            warnOnce("can't connect to programs that join from now on: \(error)")
            return false
        }
    }

    /// Enters this process into the room's folder again, after the folder was removed while in use, for example by a
    /// cleaner of temporary files. Each process in the room does this for itself.
    private func register(replacing entry: RoomDirectory.Entry) throws(MediaGraphError) {
        let new = try directory.enter(again: entry.endpoint, while: { [self] in isRunning })
        // Perhaps only the socket was removed. A name that is still locked can't be claimed again, not even here.
        let lost = Set(state.withLock { $0.users }.filter { !$0.value.name.isInPlace }.keys)
        let isStopped = state.withLock { state in
            guard !state.isStopped else { return true }
            state.entry = new
            state.unclaimed = lost.intersection(state.users.keys)
            return false
        }
        guard !isStopped else { return leave(new) }
        entry.socket.close()
        // Claims the names at once, before another process does. If that throws, `ensureRegistered` tries again later.
        defer { delegate.shareGrantLost() }
        try claimNamesAgain()
        delegate.warn("the room's folder \(directory.path) was removed while in use; it has been recreated")
    }

    /// Claims the names of this process's users that were lost with the room's folder.
    private func claimNamesAgain() throws(MediaGraphError) {
        for user in state.withLock({ $0.unclaimed.sorted() }) {
            let problem = Mutex<MediaGraphError?>(nil)
            let isMine = state.withLock { state in
                // The user may have left in the meantime, and may even be joining again, which claims the name too.
                guard state.unclaimed.contains(user), state.claiming[user] == nil,
                    let profile = state.users[user]?.profile
                else { return false }
                state.beginClaim(of: user, profile) { outcome in
                    if case .refused(let error) = outcome { problem.withLock { $0 = error } }
                }
                return true
            }
            if isMine { runClaims(of: user) }
            guard let error = problem.withLock({ $0 }) else { continue }
            guard error.code == .alreadyInUse else { throw error }
            state.withLock { _ = $0.unclaimed.remove(user) }
            delegate.warn("another program has meanwhile taken the name \"\(user)\"; rename one of the two users")
        }
    }

    /// Warns the room of a problem, unless it is the one that was reported last.
    private func warnOnce(_ problem: String) {
        let isNew = state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem && !state.isStopped
        }
        if isNew { delegate.warn(problem) }
    }

    /// Closes all connections, because the last user has left. The room isn't called after this.
    func stop() {
        let (peers, forwarders, entry) = state.withLock { state in
            defer { (state.forwarders, state.remote, state.isStopped) = ([:], [:], true) }
            for user in state.claiming.keys { state.claiming[user]?.report = nil }
            return (state.peers, state.forwarders.values, state.entry)
        }
        if let entry { leave(entry) }
        for forwarder in forwarders { forwarder.stop() }
        for peer in peers { peer.close() }
        // A notification that has found the link running may still be under way.
        notifications.stop()
    }

    /// Runs `body`, which may tell the room about users.
    func notify(_ body: () -> Void) { notifications.notify(body) }

    /// Adds a connected peer, greets it and starts its thread.
    private func add(_ peer: RoomPeer) {
        let isWanted = state.withLock { state in
            guard !state.isStopped else { return false }
            state.peers.append(peer)
            peer.send(.hello(version: PeerMessage.version))
            for (user, local) in state.users { peer.send(.joined(user, local.profile)) }
            for (key, change) in state.announced.changes { peer.send(.stream(key, change)) }
            return true
        }
        if isWanted { peer.start() } else { peer.close() }
    }

    /// Removes a peer whose connection has ended. A stranger runs another version, and isn't connected to again.
    func remove(_ peer: RoomPeer, isStranger: Bool) {
        let idle = state.withLock { state in
            state.peers.removeAll { $0 === peer }
            if isStranger, let endpoint = peer.endpoint { state.strangers.insert(endpoint) }
            return state.removeReader(peer, of: Array(state.forwarders.keys), isGone: true)
        }
        for forwarder in idle { forwarder.stop() }
    }

    /// Whether a process was found that runs another version.
    var hasStrangers: Bool { state.withLock { !$0.strangers.isEmpty } }

    // MARK: This process's users

    /// Claims the user's name on a thread of its own, because that waits for other processes, and then adds the user.
    ///
    /// Reports a refusal with `alreadyInUse` while another process has the name, and with `timeOut` if another process
    /// doesn't release the folder's lock.
    func join(
        _ user: String, _ profile: UserProfile, sending _: SendSettings,
        _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        let isNew = state.withLock { state in
            // The thread of an earlier claim, which has been given up, may not have ended. It goes on with this one, so
            // that the two claims don't exclude each other.
            defer { state.beginClaim(of: user, profile, report) }
            return state.claiming[user] == nil
        }
        guard isNew else { return }
        NativeThread("room-claim") { [self] in runClaims(of: user) }.detach()
    }

    /// Claims the user's name, and again if this claim is given up for another one. One thread at a time does this for
    /// a user.
    private func runClaims(of user: String) {
        while let number = nextClaim(of: user), !claim(user, number) {}
    }

    /// Returns the number of the claim that is wanted. Forgets a claim that has been given up.
    private func nextClaim(of user: String) -> UInt64? {
        state.withLock { state in
            if state.claiming[user]?.report == nil { state.claiming[user] = nil }
            return state.claiming[user]?.number
        }
    }

    private func isWanted(_ number: UInt64, of user: String) -> Bool {
        state.withLock { $0.claiming[user]?.number == number && $0.claiming[user]?.report != nil }
    }

    /// Claims a user's name, and reports whether the user has it. Returns false if the claim was given up meanwhile.
    private func claim(_ user: String, _ number: UInt64) -> Bool {
        let result = Result { () throws(MediaGraphError) in
            try directory.claim(user, while: { [self] in isWanted(number, of: user) })
        }
        let settled = state.withLock { state -> (report: @Sendable (JoinOutcome) -> Void, outcome: JoinOutcome)? in
            guard let claim = state.claiming[user], claim.number == number, let report = claim.report else {
                return nil
            }
            state.claiming[user] = nil
            switch result {
            case .success(let name?): return (report, .joined(hasMoved: state.add(user, claim.profile, name)))
            case .success(nil): return (report, .refused(.nameTaken(user, in: directory.room)))
            case .failure(let error): return (report, .refused(error))
            }
        }
        guard let settled else {
            // The user has left in the meantime, so the name is given back. If there was an error, nobody waits for it.
            if case .success(let name?) = result { withExtendedLifetime(name) { name.remove() } }
            return false
        }
        settled.report(settled.outcome)
        return true
    }

    func leave(_ user: String) {
        let (claim, gone, wasHere) = state.withLock { state in
            state.claiming[user]?.report = nil
            let keys = state.forwarders.keys.filter { $0.user == user }
            defer { for key in keys { state.forwarders[key] = nil } }
            let claim = state.users.removeValue(forKey: user)?.name
            state.unclaimed.remove(user)
            state.announced.forgetStreams(of: user)
            return (claim, keys.compactMap { state.forwarders[$0] }, claim != nil)
        }
        guard wasHere else { return }
        for forwarder in gone { forwarder.stop() }
        withExtendedLifetime(claim) { claim?.remove() }
        // After the name has been released, so that a process that receives the message can claim it.
        state.withLock { state in for peer in state.peers { peer.send(.left(user)) } }
    }

    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        state.withLock { state in
            _ = state.announced.record(change, of: key)
            for peer in state.peers { peer.send(.stream(key, change)) }
        }
    }

    /// Processes of one machine use no network.
    func networkStatistics(
        of key: StreamKey, _ direction: StreamStatistics.Direction
    ) -> NetworkStatistics? { nil }

    func requestShare(_ user: String) throws(MediaGraphError) -> ShareDecision {
        try directory.claimShare(user)
    }

    var remoteUsers: [String: UserProfile] { state.withLock { $0.remote.mapValues(\.profile) } }

    func profileChanged(of user: String, to profile: UserProfile) {
        state.withLock { state in
            state.users[user]?.profile = profile
            for peer in state.peers { peer.send(.profile(user, profile)) }
        }
    }

    func send(_ command: SessionCommand, from user: String, to recipient: String?) throws(MediaGraphError) {
        let shared = SharedCommand(command)
        let missed = state.withLock { state -> [String]? in
            let recipients = recipient.map { name in state.remote.filter { $0.key == name } } ?? state.remote
            // A peer passes on a command to all of its users.
            let peers = state.peers.filter { peer in recipients.values.contains { $0.peer === peer } }
            let outcomes = peers.map { $0.send(shared, from: user, to: recipient) }
            // The users of a closed connection have left.
            guard recipient == nil || outcomes.contains(where: { $0 != .closed }) else { return nil }
            let full = zip(peers, outcomes).filter { $0.1 == .full }.map(\.0)
            return recipients.filter { recipient in full.contains { $0 === recipient.value.peer } }.keys.sorted()
        }
        guard let missed else { throw .noSuchUser(.init("user \"\(recipient ?? "")\"", actual: "has left the room")) }
        guard missed.isEmpty else {
            throw .tooFrequent(
                .init(
                    "the command to \(missed.joined(separator: ", "))",
                    actual: "can't be sent: earlier ones haven't been read yet; try again later"))
        }
    }

    func setDemand(_ demand: StreamDemand?, for key: StreamKey) {
        let resolution = demand?.resolution
        state.withLock { state in
            guard let peer = state.remote[key.user]?.peer, state.reading[key] != resolution else { return }
            state.reading[key] = resolution
            peer.send(resolution.map { .read(key, $0) } ?? .unread(key))
        }
    }

    /// Asks the peer for a key frame of a stream that is read here.
    func requestKeyFrame(_ key: StreamKey) {
        state.withLock { state in
            if state.reading[key] != nil { state.remote[key.user]?.peer.send(.keyFrame(key)) }
        }
    }
}
