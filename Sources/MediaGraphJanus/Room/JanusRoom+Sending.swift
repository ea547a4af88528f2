import GStreamer
import MediaGraphCore
import MediaGraphSession
import WebRTC

/// The local users and their feeds.
extension JanusRoom {
    func join(
        _ user: String, _ profile: UserProfile, _ sending: SendSettings,
        _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        if let failure { return report(.refused(failure)) }
        visitCount += 1
        var visit = LocalUser(profile: profile, sending: sending, visit: visitCount, report: report)
        visit.state.displayName = profile.displayName
        visit.state.customData = profile.customData
        local[user] = visit
        if isUp { enter(user) }
    }

    func leave(_ user: String) {
        guard let old = local.removeValue(forKey: user) else { return }
        if let share = local[Self.shareFeed], share.profile.displayName == user { endShare(share.visit) }
        if let feed = old.feed { end(feed) }
        shared.commands.add(-old.commands.count)
        if let publisher = old.publisher { detach(publisher.handle) }
    }

    /// Discards a local user's handle and PeerConnection, so that the user can enter again.
    func discardConnection(of user: String) {
        discardFeed(of: user)
        local[user]?.publisher = nil
    }

    /// Discards a local user's PeerConnection.
    private func discardFeed(of user: String) {
        if let feed = local[user]?.feed { end(feed) }
        local[user]?.feed = nil
        local[user]?.connectionID = 0
        local[user]?.replaced = nil
        local[user]?.isConnected = false
        local[user]?.hasChannel = false
        // They receive from the user again once they have subscribed to the next feed.
        for other in remote.keys { remote[other]?.state?.receivesFrom.removeAll { $0 == user } }
    }

    /// Enters the room on the server, and sends the user's feed.
    func enter(_ user: String) {
        guard let visit = local[user]?.visit, isUp, local[user]?.isAway == true else { return }
        local[user]?.isEntering = true
        run { this in
            do throws(MediaGraphError) {
                let publisher = try await this.room.join(user, display: this.local[user]?.state.displayName ?? "")
                this.entered(user, visit, publisher)
            } catch { await this.failed(user, visit, error) }
        }
    }

    /// The local user who sends a feed.
    func sender(of feed: String) -> String {
        feed == Self.shareFeed ? local[feed]?.profile.displayName ?? "" : feed
    }

    /// What messages call a local user, or a local user's share.
    private func label(of user: String) -> String {
        (user == Self.shareFeed ? "the share of " : "") + "user \"\(sender(of: user))\""
    }

    private func isHere(_ user: String, _ visit: UInt64) -> Bool { !hasStopped && local[user]?.visit == visit }

    private func entered(_ user: String, _ visit: UInt64, _ publisher: VideoRoom.Publisher) {
        if isHere(user, visit) { local[user]?.isEntering = false }
        guard isHere(user, visit), isUp else { return detach(publisher.handle) }
        local[user]?.publisher = publisher
        let hasMoved = remove(user)
        if hasMoved { shared.users.withLock { $0[user] = nil } }
        namesakes[user] = nil
        // If no other local user was in the room, nobody reported who left in the meantime.
        if local.allSatisfy({ $0.key == user || $0.value.publisher == nil }) {
            let present = Set(publisher.others.map(\.id))
            for other in remote.keys.sorted() where !present.contains(other) { forget(other) }
        }
        for other in publisher.others { addRemote(other) }
        handleEarlyMessages(for: publisher.handle)
        guard isHere(user, visit) else { return }
        local[user]?.hasWarned = false
        local[user]?.report.take()?(.joined(hasMoved: hasMoved))
        publish(user)
    }

    /// Refuses a user's first join, and repeats a later one.
    private func failed(_ user: String, _ visit: UInt64, _ error: MediaGraphError) async {
        guard isHere(user, visit) else { return }
        local[user]?.isEntering = false
        if let report = local[user]?.report {
            local[user] = nil
            if let namesake = namesakes.removeValue(forKey: user) { addRemote(namesake) }
            return report(.refused(error))
        }
        if user == Self.shareFeed, error.code == .alreadyInUse {
            // Another user shares by now.
            return shareLost(error)
        }
        if local[user]?.hasWarned == false {
            local[user]?.hasWarned = true
            let label = label(of: user)
            shared.notify { $0.warn("\(label) can't rejoin the room: \(error); retrying") }
        }
        // The server may still have the user under the old handle.
        try? await thread.sleep(for: .seconds(1))
        if isHere(user, visit) { enter(user) }
    }

    /// Offers a user's feed to the server.
    func publish(_ user: String) {
        guard let publisher = local[user]?.publisher, let sending = local[user]?.sending else { return }
        local[user]?.replaced = nil
        connectionCount += 1
        let connectionID = connectionCount
        let feed: OutgoingFeed
        let sender = sender(of: user)
        do throws(MediaGraphError) {
            feed = try OutgoingFeed(
                sender, sending: sending.kinds,
                as: { [delegate = shared.delegate] (kind) throws(MediaGraphError) in
                    let stream = delegate.stream(StreamKey(user: sender, kind: kind))
                    return try MediaFormat(kind, stream.format?.caps, videoEncoder: sending.videoEncoder)
                }, withDataChannel: user != Self.shareFeed, servers: settings.ice, clock: thread.clock
            ) { [inputs] kind, change in
                inputs.yield(.sendingChanged(kind, change, feed: user, connectionID: connectionID))
            } report: { [shared, inputs] problem in
                switch problem {
                case .warning(let text): shared.notify { $0.warn(text) }
                case .failure(let text): inputs.yield(.failed(feed: user, connectionID: connectionID, text))
                }
            }
        } catch {
            let label = label(of: user)
            return shared.notify { $0.warn("\(label) can't send: \(error)") }
        }
        feed.connection.onEvent { [inputs] in inputs.yield(.sending($0, user: user, connectionID: connectionID)) }
        local[user]?.feed = feed
        local[user]?.connectionID = connectionID
        run { this in
            do {
                let (offer, descriptions) = try await feed.offer()
                let answer = try await this.room.publish(offer, descriptions: descriptions, from: publisher)
                try await feed.connection.setRemote(answer)
            } catch {
                if this.local[user]?.connectionID == connectionID { this.publishingFailed(user, "\(error)") }
                return
            }
            try? await this.thread.sleep(for: Self.connectTimeLimit)
            if this.local[user]?.connectionID == connectionID, this.local[user]?.isConnected != true {
                this.publishingFailed(user, "no connection after \(Int(Self.connectTimeLimit.seconds)) s")
            }
        }
    }

    func handle(_ change: OutgoingStream.Change, of kind: StreamKind, feed user: String) {
        switch change {
        case .details: announce(sender(of: user))
        case .format: republish(user)
        case .unsendable(let caps):
            let (label, remedy) = (label(of: user), "VP8, H.264 or raw video, for example with decodebin")
            shared.notify { $0.warn("\(label) can't send \(caps) from \(kind.inputPad) through Janus; send \(remedy)") }
        }
    }

    /// Sends a user's feed anew, because a stream needs another codec. An m-line can't change its own.
    private func republish(_ user: String) {
        guard let publisher = local[user]?.publisher, let old = local[user]?.connectionID else { return }
        discardFeed(of: user)
        // The server announces the end of the old connection, and then the next one is published.
        local[user]?.replaced = old
        run { this in
            // The server may already have seen the end of the connection, and then refuses; its announcement counts.
            do throws(MediaGraphError) { try await this.room.unpublish(publisher) } catch {
                Self.log.log(.info, nil, "unpublishing \(user): \(error)")
            }
            try? await this.thread.sleep(for: Self.unpublishTimeLimit)
            if this.local[user]?.replaced == old {
                let limit = Int(Self.unpublishTimeLimit.seconds)
                this.publishingFailed(user, "the server didn't end the old connection within \(limit) s")
            }
        }
    }

    /// How long the server may take to end a connection.
    private static let unpublishTimeLimit = Duration.seconds(2)

    /// How long a PeerConnection may take to connect before another one is tried.
    static let connectTimeLimit = Duration.seconds(5)

    /// Tries again to send a user's feed, whose PeerConnection has failed.
    func publishingFailed(_ user: String, _ reason: String) {
        guard let visit = local[user], let publisher = visit.publisher else { return }
        let label = label(of: user)
        Self.log.log(.warning, nil, "\(label) can't send: \(reason)")
        shared.notify { $0.warn("\(label) can't send: \(reason); retrying") }
        discardConnection(of: user)
        detach(publisher.handle)
        run { this in
            try? await this.thread.sleep(for: .seconds(1))
            if this.isHere(user, visit.visit) { this.enter(user) }
        }
    }

    /// Takes a user whom the server has removed out of the room for good. The users of other programs can't be reached
    /// from then on, unless others of this program are still there.
    func removed(_ user: String, _ reason: String) {
        let publisher = local[user]?.publisher
        discardConnection(of: user)
        if let publisher { detach(publisher.handle) }
        if user == Self.shareFeed || local[Self.shareFeed]?.profile.displayName == user {
            shareLost(.notPermitted(.init("the share", actual: "has ended: \(reason)")))
        }
        guard user != Self.shareFeed else { return }
        local[user]?.isRemoved = true
        shared.notify { $0.warn("user \"\(user)\" is no longer in the room: \(reason); restart the graph to rejoin") }
        if local.values.allSatisfy(\.isRemoved) { forgetAll() }
    }

    func handle(_ event: PeerConnection.Event, of user: String) {
        Self.log.log(.debug, nil, "feed of \(user): \(event)")
        switch event {
        case .candidate(let candidate):
            guard let publisher = local[user]?.publisher else { return }
            run { this in try? await this.room.add(candidate, to: publisher.handle) }
        case .state(.connected):
            local[user]?.isConnected = true
            updateDemands()
        case .state(.failed):
            publishingFailed(user, "the connection failed")
        case .channelOpened:
            local[user]?.hasChannel = true
            announce(user)
        case .channelClosed: local[user]?.hasChannel = false
        // Janus sends nothing to publishers.
        case .state, .media, .text: break
        }
    }

    func profileChanged(_ user: String, _ profile: UserProfile) {
        guard local[user] != nil else { return }
        local[user]?.state.displayName = profile.displayName
        local[user]?.state.customData = profile.customData
        announce(user)
        guard let publisher = local[user]?.publisher else { return }
        run { this in try? await this.room.rename(publisher, display: profile.displayName) }
    }

    // MARK: What others want

    /// Sends each local stream at the highest resolution that a remote user wants, if anybody wants it.
    func updateDemands() {
        for (id, visit) in local where visit.isConnected {
            guard let feed = visit.feed else { continue }
            let user = sender(of: id)
            for kind in visit.sending.kinds {
                let wanted = remote.values.compactMap { $0.state?.wants[user]?[kind.rawValue] }
                // Clients without MediaGraph, such as browsers, get every stream.
                let hasOtherClients = remote.values.contains { $0.publishes && $0.feed != nil && !$0.usesMediaGraph }
                let demand = hasOtherClients ? .native : Resolution.greatest(wanted)
                feed.setDemand(demand, of: shared.delegate.stream(StreamKey(user: user, kind: kind)))
            }
        }
    }
}
