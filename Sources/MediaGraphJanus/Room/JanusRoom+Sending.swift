import GStreamer
import MediaGraphCore
import MediaGraphSession
import WebRTC

/// The local users and their feeds.
extension JanusRoom {
    func join(
        _ user: String, _ profile: UserProfile, _ kinds: Set<StreamKind>,
        _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        if let failure { return report(.refused(failure)) }
        visitCount += 1
        var visit = LocalUser(profile: profile, kinds: kinds, visit: visitCount, report: report)
        visit.state.displayName = profile.displayName
        visit.state.customData = profile.customData
        local[user] = visit
        if isUp { enter(user) }
    }

    func leave(_ user: String) {
        guard let old = local.removeValue(forKey: user) else { return }
        if let share = local[Self.share], share.profile.displayName == user { endShare(share.visit) }
        if let publication = old.publication { end(publication) }
        shared.commands.add(-old.commands.count)
        if let place = old.place { detach(place.handle) }
    }

    /// Takes back what a user had on the server, which is away.
    func retract(_ user: String) {
        if let publication = local[user]?.publication { end(publication) }
        local[user]?.publication = nil
        local[user]?.attempt = 0
        local[user]?.place = nil
        local[user]?.isConnected = false
        local[user]?.hasChannel = false
        // They hear the user again once they have found the next feed.
        for other in remote.keys { remote[other]?.state?.hears.removeAll { $0 == user } }
    }

    /// Enters the room on the server, and sends the user's feed.
    func enter(_ user: String) {
        guard let visit = local[user]?.visit, isUp, local[user]?.isAway == true else { return }
        local[user]?.isEntering = true
        run { this in
            do throws(MediaGraphError) {
                let place = try await this.room.join(user, display: this.local[user]?.state.displayName ?? "")
                this.entered(user, visit, place)
            } catch { await this.failed(user, visit, error) }
        }
    }

    private func isHere(_ user: String, _ visit: UInt64) -> Bool { !hasStopped && local[user]?.visit == visit }

    private func entered(_ user: String, _ visit: UInt64, _ place: VideoRoom.Place) {
        if isHere(user, visit) { local[user]?.isEntering = false }
        guard isHere(user, visit), isUp else { return detach(place.handle) }
        local[user]?.place = place
        let hasMoved = remove(user)
        if hasMoved { shared.users.withLock { $0[user] = nil } }
        namesakes[user] = nil
        // Without another local user, nobody has told of those who left meanwhile.
        if local.allSatisfy({ $0.key == user || $0.value.place == nil }) {
            let present = Set(place.others.map(\.id))
            for other in remote.keys.sorted() where !present.contains(other) { forget(other) }
        }
        for other in place.others { learn(other) }
        handleEarlyMessages(for: place.handle)
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
            if let namesake = namesakes.removeValue(forKey: user) { learn(namesake) }
            return report(.refused(error))
        }
        if user == Self.share, error.code == .alreadyInUse {
            // Another user shares by now.
            return shareLost(error)
        }
        if local[user]?.hasWarned == false {
            local[user]?.hasWarned = true
            shared.notify { $0.warn("\"\(user)\" can't come back yet: \(error); trying again") }
        }
        // The server may still have the user's old place.
        try? await thread.sleep(for: .seconds(1))
        if isHere(user, visit) { enter(user) }
    }

    /// Offers a user's feed to the server.
    private func publish(_ user: String) {
        guard let place = local[user]?.place, let kinds = local[user]?.kinds else { return }
        let sender = user == Self.share ? local[user]?.profile.displayName ?? "" : user
        attemptCount += 1
        let attempt = attemptCount
        let publication: Publication
        do throws(MediaGraphError) {
            publication = try Publication(
                sender, sending: kinds, withTexts: user != Self.share, servers: settings.ice, clock: thread.clock
            ) { [shared, inputs] problem in
                switch problem {
                case .warning(let text): shared.notify { $0.warn(text) }
                case .failure(let text): inputs.yield(.failed(feed: user, attempt: attempt, text))
                }
            }
        } catch {
            return shared.notify { $0.warn("\"\(user)\" can't send: \(error)") }
        }
        publication.connection.onEvent { [inputs] in inputs.yield(.sending($0, user: user, attempt: attempt)) }
        local[user]?.publication = publication
        local[user]?.attempt = attempt
        run { this in
            do {
                let (offer, descriptions) = try await publication.offer()
                let answer = try await this.room.publish(offer, descriptions: descriptions, from: place)
                try await publication.connection.setRemote(answer)
            } catch {
                if this.local[user]?.attempt == attempt { this.publishingFailed(user, "\(error)") }
                return
            }
            try? await this.thread.sleep(for: Self.connectTimeLimit)
            if this.local[user]?.attempt == attempt, this.local[user]?.isConnected != true {
                this.publishingFailed(user, "no connection after \(Int(Self.connectTimeLimit.seconds)) s")
            }
        }
    }

    /// How long a PeerConnection may take to connect before another one is tried.
    static let connectTimeLimit = Duration.seconds(5)

    /// Tries again to send a user's feed, whose PeerConnection has failed.
    func publishingFailed(_ user: String, _ reason: String) {
        guard let visit = local[user], let place = visit.place else { return }
        Self.log.log(.warning, nil, "\(user) can't send: \(reason)")
        shared.notify { $0.warn("\"\(user)\" can't send: \(reason); trying again") }
        retract(user)
        detach(place.handle)
        run { this in
            try? await this.thread.sleep(for: .seconds(1))
            if this.isHere(user, visit.visit) { this.enter(user) }
        }
    }

    /// Takes a user whom the server has removed out of the room for good. The users of other programs can't be reached
    /// from then on, unless others of this program are still there.
    func removed(_ user: String, _ reason: String) {
        let place = local[user]?.place
        retract(user)
        if let place { detach(place.handle) }
        if user == Self.share || local[Self.share]?.profile.displayName == user {
            shareLost(.notPermitted(.init("the share", actual: "has ended: \(reason)")))
        }
        guard user != Self.share else { return }
        local[user]?.isRemoved = true
        shared.notify { $0.warn("\"\(user)\" isn't in the room any more: \(reason); start again to join") }
        if local.values.allSatisfy(\.isRemoved) { forgetAll() }
    }

    func handle(_ event: PeerConnection.Event, of user: String) {
        Self.log.log(.debug, nil, "feed of \(user): \(event)")
        switch event {
        case .candidate(let candidate):
            guard let place = local[user]?.place else { return }
            run { this in try? await this.room.add(candidate, to: place.handle) }
        case .state(.connected):
            local[user]?.isConnected = true
            updateDemands()
        case .state(.failed):
            publishingFailed(user, "the connection failed")
        case .channelOpened:
            local[user]?.hasChannel = true
            announce(user)
        case .channelClosed: local[user]?.hasChannel = false
        // Janus passes nothing to those who send.
        case .state, .media, .text: break
        }
    }

    func profileChanged(_ user: String, _ profile: UserProfile) {
        guard local[user] != nil else { return }
        local[user]?.state.displayName = profile.displayName
        local[user]?.state.customData = profile.customData
        announce(user)
        guard let place = local[user]?.place else { return }
        run { this in try? await this.room.rename(place, display: profile.displayName) }
    }

    // MARK: What others want

    /// Sends each local stream at the highest resolution that a remote user wants, if anybody wants it.
    func updateDemands() {
        for (feed, visit) in local where visit.isConnected {
            guard let publication = visit.publication else { continue }
            let user = feed == Self.share ? visit.profile.displayName : feed
            for kind in visit.kinds {
                let wanted = remote.values.compactMap { $0.state?.wants[user]?[kind.rawValue] }
                // Users who can't say what they want get all.
                let isWantedByStrangers = remote.values.contains { $0.publishes && $0.feed != nil && $0.isForeign }
                let demand = isWantedByStrangers ? .native : Resolution.greatest(wanted)
                publication.setDemand(demand, of: shared.delegate.stream(StreamKey(user: user, kind: kind)))
            }
        }
    }
}
