import GStreamer
import MediaGraphCore
import MediaGraphSession
import WebRTC

/// The remote users' feeds.
extension JanusRoom {
    /// Asks the server for a user's feed.
    func subscribe(to user: String) {
        guard remote[user]?.publishes == true, remote[user]?.connectionID == 0, isUp, !hasStopped,
            owner(of: user) != nil
        else { return }
        connectionCount += 1
        let connectionID = connectionCount
        remote[user]?.connectionID = connectionID
        run { this in
            do {
                let subscription = try await this.room.subscribe(to: user)
                guard this.remote[user]?.connectionID == connectionID, let sender = this.owner(of: user) else {
                    return this.detach(subscription.handle)
                }
                let feed = try this.open(subscription, of: user, sender, connectionID)
                let answer = try await feed.answer()
                guard this.remote[user]?.connectionID == connectionID else { return }
                try await this.room.start(subscription, answer)
                this.updateActiveStreams(of: user)
            } catch { this.subscribingFailed(user, connectionID, "\(error)") }
            try? await this.thread.sleep(for: Self.connectTimeLimit)
            if this.remote[user]?.connectionID == connectionID, this.remote[user]?.isConnected != true {
                this.subscribingFailed(
                    user, connectionID, "no connection after \(Int(Self.connectTimeLimit.seconds)) s")
            }
        }
    }

    private func open(
        _ subscription: VideoRoom.Subscription, of user: String, _ sender: String, _ connectionID: UInt64
    ) throws(MediaGraphError) -> IncomingFeed {
        let known = remote[sender]?.state?.streams ?? [:]
        let delegate = shared.delegate
        let feed: IncomingFeed
        do throws(MediaGraphError) {
            feed = try IncomingFeed(subscription, isShare: user == Self.shareFeed, servers: settings.ice) {
                delegate.stream(StreamKey(user: sender, kind: $0))
            } state: { kind in
                known[kind.rawValue]
            } decodes: { kind in
                decodes(StreamKey(user: sender, kind: kind))
            } report: { [shared, inputs] problem in
                switch problem {
                case .warning(let text): shared.notify { $0.warn("\(sender): \(text)") }
                case .failure(let text): inputs.yield(.failed(feed: user, connectionID: connectionID, text))
                }
            }
        } catch {
            detach(subscription.handle)
            throw error
        }
        feed.connection.onEvent { [inputs, weak feed] event in
            // The pad has to be linked before this returns.
            if case .media(let pad, let mLine) = event {
                feed?.decode(pad, mLine: mLine)
            } else {
                inputs.yield(.receiving(event, user: user, connectionID: connectionID))
            }
        }
        remote[user]?.feed = feed
        remote[user]?.usesMediaGraph = subscription.isOfMediaGraph
        if !subscription.isOfMediaGraph {
            for kind in feed.sent { set(UserState.Stream(isOn: true), StreamKey(user: user, kind: kind)) }
        }
        return feed
    }

    func subscribingFailed(_ user: String, _ connectionID: UInt64, _ reason: String) {
        guard remote[user]?.connectionID == connectionID, !hasStopped else { return }
        Self.log.log(.warning, nil, "can't receive \(user): \(reason)")
        dropFeed(of: user)
        run { this in
            try? await this.thread.sleep(for: .seconds(1))
            this.subscribe(to: user)
        }
    }

    /// Ends a user's feed. Returns whether there was one.
    @discardableResult
    func endFeed(of user: String) -> Bool {
        remote[user]?.connectionID = 0
        guard let feed = remote[user]?.feed else { return false }
        end(feed)
        detach(feed.subscription.handle)
        remote[user]?.feed = nil
        remote[user]?.isConnected = false
        remote[user]?.state = nil
        remote[user]?.commandDeadline = thread.clock.time(after: Self.commandTimeLimit)
        return true
    }

    /// Ends a user's feed. The streams are off then.
    func dropFeed(of user: String) {
        guard endFeed(of: user), user != Self.shareFeed else { return }
        for kind in StreamKind.allCases { set(UserState.Stream(), StreamKey(user: user, kind: kind)) }
        updateDemands()
    }

    func handle(_ event: PeerConnection.Event, from user: String) {
        Self.log.log(.debug, nil, "feed from \(user): \(event)")
        switch event {
        case .candidate(let candidate):
            guard let handle = remote[user]?.feed?.subscription.handle else { return }
            run { this in try? await this.room.add(candidate, to: handle) }
        case .state(.connected):
            remote[user]?.isConnected = true
            updateDemands()
        case .state(.failed):
            if let connectionID = remote[user]?.connectionID {
                subscribingFailed(user, connectionID, "the connection failed")
            }
        case .text(let text): if user != Self.shareFeed { received(text, from: user) }
        // The other program may have waited for this, and answers.
        case .channelOpened: announceAll()
        case .state, .media, .channelClosed: break
        }
    }

    /// Whether a local reader wants the stream decoded. True before there are readers, whose wish isn't known yet.
    func decodes(_ key: StreamKey) -> Bool { wants[key]?.wantsDecoded ?? true }

    /// Tells the server which streams of a feed to send.
    func updateActiveStreams(of name: String) {
        guard let feed = remote[name]?.feed else { return }
        let user = owner(of: name)
        let active = feed.activeStreams(Set(wants.keys.filter { $0.user == user }.map(\.kind)))
        guard !active.isEmpty else { return }
        run { this in try? await this.room.configure(feed.subscription, sending: active) }
    }
}

extension StreamKey {
    /// The feed that carries the stream.
    var feed: String { kind.isShare ? JanusRoom.shareFeed : user }
}

extension VideoRoom.Subscription {
    /// Whether the feed is of a program that tells through a data channel what it sends and wants.
    fileprivate var isOfMediaGraph: Bool {
        // Janus doesn't pass on the description of a data channel's m-line.
        streams.contains { $0.kind == .data || $0.description.flatMap(StreamKind.init(rawValue:))?.isShare == true }
    }
}
