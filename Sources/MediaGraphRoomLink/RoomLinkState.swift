import MediaGraphCore
import MediaGraphSession

extension RoomLink {
    /// A claim of a user's name, on its way.
    struct Claim: Sendable {
        let number: UInt64
        let profile: UserProfile
        /// `nil` after the user has left: then the claim is given up.
        var report: (@Sendable (JoinOutcome) -> Void)?
    }

    /// A user of this process.
    struct LocalUser: Sendable {
        /// The lock on the user's name.
        var name: FileLock
        var profile: UserProfile
    }

    /// A user whom a peer has announced.
    struct RemoteUser: Sendable {
        let peer: RoomPeer
        var profile: UserProfile
    }

    struct State: Sendable {
        /// This process's users.
        var users: [String: LocalUser] = [:]
        /// The users for whom a thread claims the name.
        var claiming: [String: Claim] = [:]
        /// The number of claims so far.
        var claimCount: UInt64 = 0
        /// The streams of this process's users.
        var announced = AnnouncedStreams()
        var peers: [RoomPeer] = []
        /// The endpoints of processes that run another version.
        var strangers: Set<Int> = []
        /// The peers that have announced each user, the latest last. There may be several, because a process that was
        /// restarted or has reconnected may be heard before its old connection ends.
        var claims: [String: [RemoteUser]] = [:]
        /// The users of whom the room has been told.
        var remote: [String: RemoteUser] = [:]
        /// The remote streams that this process reads.
        var reading: [StreamKey: Resolution] = [:]
        /// The streams of this process that peers read.
        var forwarders: [StreamKey: StreamForwarder] = [:]
        /// Set from the moment when this process has entered the room's folder.
        var entry: RoomDirectory.Entry?
        /// The users whose names were lost with the room's folder.
        var unclaimed: Set<String> = []
        /// The current problem with the room's folder, which has been reported.
        var problem: String?
        var isStopped = false
    }
}

extension RoomLink.State {
    /// Records that a user's name is being claimed. An earlier claim of the same name is given up.
    mutating func beginClaim(
        of user: String, _ profile: UserProfile, _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        claimCount += 1
        claiming[user] = RoomLink.Claim(number: claimCount, profile: profile, report: report)
    }

    /// Adds a user of this process, whose name has been claimed, or replaces the lock on the name. Returns whether the
    /// user was one of the remote users until now: another process may have released the name without having announced
    /// it yet.
    mutating func add(_ user: String, _ profile: UserProfile, _ name: FileLock) -> Bool {
        unclaimed.remove(user)
        guard users[user] == nil else {
            users[user]?.name = name
            return false
        }
        users[user] = RoomLink.LocalUser(name: name, profile: profile)
        claims[user] = nil
        let hasMoved = remote.removeValue(forKey: user) != nil
        for key in reading.keys where key.user == user { reading[key] = nil }
        for peer in peers { peer.send(.joined(user, profile)) }
        return hasMoved
    }

    /// Removes a peer from the forwarders of these streams. Returns the forwarders that have no peers left, which are
    /// removed.
    mutating func removeReader(
        _ peer: RoomPeer, of keys: [StreamKey], isGone: Bool
    ) -> [StreamForwarder] {
        keys.compactMap { key in
            guard let forwarder = forwarders[key], forwarder.remove(peer, isGone: isGone) else { return nil }
            forwarders[key] = nil
            return forwarder
        }
    }
}
