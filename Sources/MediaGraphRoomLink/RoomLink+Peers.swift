import MediaGraphCore
import MediaGraphSession

/// What a peer reports and requests. Called on the peer's thread.
extension RoomLink {
    // MARK: Other processes' users

    /// Records that a peer has announced a user.
    func joined(_ user: String, _ profile: UserProfile, with peer: RoomPeer) {
        notify {
            state.withLock { state in
                guard state.users[user] == nil else { return }
                state.claims[user, default: []].append(RemoteUser(peer: peer, profile: profile))
            }
            settle(user)
        }
    }

    /// Records that a peer's user has left.
    func left(_ user: String, with peer: RoomPeer) {
        notify {
            state.withLock { state in
                state.claims[user]?.removeAll { $0.peer === peer }
                if state.claims[user]?.isEmpty == true { state.claims[user] = nil }
            }
            settle(user)
        }
    }

    /// Tells the room which peer has the user now. If that is another peer than before, the room is told that the user
    /// has left and joined again.
    private func settle(_ user: String) {
        // A user who has moved to this process is no longer remote, even if a peer still announces it.
        let (old, new, isDone) = state.withLock {
            ($0.remote[user], $0.claims[user]?.last, $0.isStopped || $0.users[user] != nil)
        }
        guard old?.peer !== new?.peer, !isDone else { return }
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
        delegate.remoteJoined(user, new.profile)
    }

    /// Tells the room that a peer's user has another profile.
    func profileChanged(of user: String, to profile: UserProfile, with peer: RoomPeer) {
        notify {
            let isTold = state.withLock { state in
                if let index = state.claims[user]?.firstIndex(where: { $0.peer === peer }) {
                    state.claims[user]?[index].profile = profile
                }
                guard state.remote[user]?.peer === peer, !state.isStopped else { return false }
                state.remote[user]?.profile = profile
                return true
            }
            if isTold { delegate.remoteProfileChanged(of: user, to: profile) }
        }
    }

    /// Passes on a command of a peer's user.
    func received(_ command: SessionCommand, from user: String, to recipient: String?, with peer: RoomPeer) {
        notify {
            guard state.withLock({ $0.remote[user]?.peer === peer && !$0.isStopped }) else { return }
            delegate.remoteSent(command, from: user, to: recipient)
        }
    }

    /// Tells the room that a stream of a peer's user has changed.
    func streamChanged(_ key: StreamKey, _ change: StreamChange, with peer: RoomPeer) {
        notify {
            guard state.withLock({ $0.remote[key.user]?.peer === peer && !$0.isStopped }) else { return }
            delegate.remoteStreamChanged(key, change)
        }
    }

    /// The stream to which a peer's buffer belongs; `nil` if the stream isn't read here any more.
    func remoteStream(_ key: StreamKey, of peer: RoomPeer) -> RoomStream? {
        guard state.withLock({ $0.remote[key.user]?.peer === peer && $0.reading[key] != nil }) else { return nil }
        return delegate.stream(key)
    }

    // MARK: This process's streams, read by others

    /// Starts forwarding a stream of this process to a peer, or changes the resolution that the peer wants.
    func forward(_ key: StreamKey, _ resolution: Resolution, to peer: RoomPeer) {
        let new = StreamForwarder(delegate.stream(key), clock: directory.clock)
        let forwarder = state.withLock { state -> StreamForwarder? in
            guard state.users[key.user] != nil, !state.isStopped else { return nil }
            let forwarder = state.forwarders[key] ?? new
            state.forwarders[key] = forwarder
            // Under the lock, so that the forwarder can't be removed as unused before it has this peer.
            forwarder.add(peer, resolution)
            return forwarder
        }
        forwarder?.start()
    }

    /// Asks this process's sender of a stream for a key frame that a peer needs.
    func keyFrameRequested(_ key: StreamKey) {
        state.withLock { $0.forwarders[key] }?.stream.requestKeyFrame()
    }

    /// Stops forwarding a stream of this process to a peer.
    func stopForwarding(_ key: StreamKey, to peer: RoomPeer) {
        for forwarder in state.withLock({ $0.removeReader(peer, of: [key], isGone: false) }) { forwarder.stop() }
    }

    /// Records that a peer no longer uses these memories.
    func release(_ memories: [UInt64], by peer: RoomPeer) {
        for forwarder in state.withLock({ Array($0.forwarders.values) }) { forwarder.release(memories, by: peer) }
    }
}
