import GStreamer
import MediaGraphCore
import MediaGraphSession
import WebRTC

/// A room on a Janus server: the local users in it with their feeds, and the remote users with theirs.
///
/// It handles one input after the other. What waits for the server runs in tasks, which check afterwards whether their
/// user is still there.
actor JanusRoom {
    /// What the room, the server and the connections want of this actor.
    enum Input: Sendable {
        case join(String, UserProfile, SendSettings, @Sendable (JoinOutcome) -> Void)
        case leave(String)
        case profile(String, UserProfile)
        case stream(StreamKey, StreamChange)
        case command(SessionCommand, from: String, to: String?)
        case demand(StreamDemand?, StreamKey)
        case keyFrame(StreamKey)
        case beginShare(String)
        case endShare(UInt64)
        case client(JanusClient.Event)
        /// An event of a local user's feed.
        case sending(PeerConnection.Event, user: String, connectionID: UInt64)
        /// A stream of a local user's feed has changed.
        case sendingChanged(StreamKind, OutgoingStream.Change, feed: String, connectionID: UInt64)
        /// An event of a remote user's feed.
        case receiving(PeerConnection.Event, user: String, connectionID: UInt64)
        /// The elements of a local or remote user's feed have failed.
        case failed(feed: String, connectionID: UInt64, String)
        /// Leave the room, and then call the closure.
        case stop(@Sendable () -> Void)
    }

    nonisolated let inputs: AsyncStream<Input>.Continuation
    private let arrivals: AsyncStream<Input>
    let room: VideoRoom
    let client: JanusClient
    let settings: JanusSettings
    let shared: JanusShared
    let thread: EventThread

    var isUp = false
    /// Why the server could never be reached; then nobody can join.
    var failure: MediaGraphError?
    var hasStopped = false
    var visitCount: UInt64 = 0
    /// The number of PeerConnections so far.
    var connectionCount: UInt64 = 0
    var local: [String: LocalUser] = [:]
    /// Messages for handles that aren't known yet.
    var earlyMessages: [JanusMessage] = []
    /// The users whom the server has announced while a local user of the same name waits to join. If the join is refused,
    /// they are remote users.
    var namesakes: [String: VideoRoomEvent.Participant] = [:]
    var remote: [String: RemoteUser] = [:]
    /// What local readers want of remote users' streams.
    var wants: [StreamKey: StreamDemand] = [:]

    static let log = DebugCategory("mediagraph-janus-room", "MediaGraph rooms: users and their feeds on a Janus server")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ name: String, _ settings: JanusSettings, _ shared: JanusShared, on thread: EventThread) {
        (self.settings, self.shared, self.thread) = (settings, shared, thread)
        client = JanusClient(settings.server, settings.secrets, on: thread)
        room = VideoRoom(name, client: client)
        (arrivals, inputs) = AsyncStream.makeStream()
    }

    /// Begins to handle inputs, and connects to the server.
    nonisolated func start() {
        Task(executorPreference: thread) { [self] in
            for await input in arrivals { await handle(input) }
        }
        Task(executorPreference: thread) { [client, inputs] in
            for await event in client.events { inputs.yield(.client(event)) }
        }
        Task(executorPreference: thread) { [self] in
            await client.start()
            await announceRegularly()
        }
        Task(executorPreference: thread) { [self] in await measureRegularly() }
    }

    private func handle(_ input: Input) {
        guard !hasStopped else { return }
        switch input {
        case .join(let user, let profile, let sending, let report): join(user, profile, sending, report)
        case .leave(let user): leave(user)
        case .profile(let user, let profile): profileChanged(user, profile)
        case .stream(let key, let change):
            local[key.user]?.state.streams[key.kind.rawValue, default: UserState.Stream()].apply(change)
            announce(key.user)
        case .command(let command, let user, let recipient): send(command, from: user, to: recipient)
        case .demand(let demand, let key):
            wants[key] = demand
            if owner(of: key.feed) == key.user { remote[key.feed]?.feed?.setDecodes(decodes(key), key.kind) }
            updateActiveStreams(of: key.feed)
            announceAll()
        case .keyFrame(let key):
            if owner(of: key.feed) == key.user { remote[key.feed]?.feed?.requestKeyFrame(key.kind) }
        case .beginShare(let user): beginShare(user)
        case .endShare(let visit): endShare(visit)
        case .client(let event): handle(event)
        case .sending(let event, let user, let connectionID):
            if local[user]?.connectionID == connectionID { handle(event, of: user) }
        case .sendingChanged(let kind, let change, let feed, let connectionID):
            if local[feed]?.connectionID == connectionID { handle(change, of: kind, feed: feed) }
        case .receiving(let event, let user, let connectionID):
            if remote[user]?.connectionID == connectionID { handle(event, from: user) }
        case .failed(let feed, let connectionID, let reason):
            if local[feed]?.connectionID == connectionID { publishingFailed(feed, reason) }
            if remote[feed]?.connectionID == connectionID { subscribingFailed(feed, connectionID, reason) }
        case .stop(let completion): stop(completion)
        }
    }

    private func stop(_ completion: @escaping @Sendable () -> Void) {
        hasStopped = true
        for user in local.keys { leave(user) }
        forgetAll()
        inputs.finish()
        // Ends all handles on the server.
        run { this in
            await this.client.stop()
            completion()
        }
    }

    /// Ends a feed in the background, since its elements wait for their threads.
    func end(_ feed: any Feed) {
        let shared = shared
        shared.endingFeeds.withLock { $0 += 1 }
        feed.close { shared.endingFeeds.withLock { $0 -= 1 } }
    }

    // MARK: The server

    private func handle(_ event: JanusClient.Event) {
        switch event {
        case .began:
            isUp = true
            for user in local.keys.sorted() { enter(user) }
        case .lost(let error):
            isUp = false
            (earlyMessages, namesakes) = ([], [:])
            for user in local.keys { discardConnection(of: user) }
            forgetAll()
            shared.notify { $0.warn("\(error); reconnecting") }
        case .failed(let error):
            failure = error
            for (user, visit) in local {
                local[user] = nil
                visit.report?(.refused(error))
            }
        case .message(let message): handle(message)
        }
    }

    private func handle(_ message: JanusMessage) {
        guard let handle = message.handle else { return }
        if message.kind == .hangup,
            let user = remote.first(where: { $0.value.feed?.subscription.handle == handle })?.key
        {
            return subscribingFailed(
                user, remote[user]?.connectionID ?? 0,
                "the server has closed the connection (\(message.reason ?? "no reason given"))")
        }
        guard let user = local.first(where: { $0.value.publisher?.handle == handle })?.key else {
            // The handle of a user whose join has been answered, but is still on its way to this actor.
            let matters = message.event != nil || message.kind == .hangup
            if matters, earlyMessages.count < Self.maxEarlyMessages { earlyMessages.append(message) }
            return
        }
        if let event = message.event { self.handle(event, for: user) }
        if message.kind == .hangup {
            if local[user]?.replaced != nil { return publish(user) }
            publishingFailed(user, "the server has closed the connection (\(message.reason ?? "no reason given"))")
        }
    }

    /// Handles an event that the room has sent to a local user.
    private func handle(_ event: VideoRoomEvent, for user: String) {
        for participant in (event.publishers ?? []) + (event.joining.map { [$0] } ?? []) { addRemote(participant) }
        if let id = event.unpublished { unpublished(id) }
        if event.kind == "destroyed" { return removed(user, "the room was destroyed by the server's operator") }
        if event.leaving == "ok", event.reason == "kicked" {
            return removed(user, "the server's operator removed the user")
        }
        for id in [event.leaving, event.kicked].compactMap(\.self) {
            namesakes[id] = nil
            forget(id)
        }
        // A new display name.
        if let id = event.id, let display = event.display, remote[id] != nil { rename(id, display) }
    }

    /// Handles the messages that have come for a user's handle before the answer to the user's join.
    func handleEarlyMessages(for handle: UInt64) {
        let messages = earlyMessages.filter { $0.handle == handle }
        earlyMessages.removeAll { $0.handle == handle }
        for message in messages { self.handle(message) }
    }

    /// How many messages are kept for handles that aren't known yet.
    private static let maxEarlyMessages = 1000

    // MARK: Shares

    /// The ID under which a user who shares joins a second time. The server admits one participant per ID, so it decides
    /// who shares. No user has this name, since users' names have no slash. The display name is the sharing user's name.
    static let shareFeed = "/share"

    /// The remote user whose feed it is; `nil` if the user isn't in the room: anybody could have named the share so.
    func owner(of feed: String) -> String? {
        guard feed == Self.shareFeed else { return feed }
        return remote[feed].map(\.profile.displayName).flatMap { remote[$0] == nil ? nil : $0 }
    }

    private func beginShare(_ user: String) {
        guard local[user]?.isRemoved != true else {
            let error = MediaGraphError.notPermitted(
                .init(
                    "the share of user \"\(user)\"",
                    actual: "can't begin: the server's operator removed the user from the room"))
            return shared.shareRequest.withLock { $0 = .refused(error) }
        }
        let visit = visitCount + 1
        let settings = SendSettings(
            [.share, .shareAudio], videoEncoder: local[user]?.sending.videoEncoder ?? "")
        join(Self.shareFeed, UserProfile(displayName: user), settings) { [shared] outcome in
            shared.shareRequest.withLock { share in
                switch outcome {
                case .joined: share = .granted(user, visit, isClaimed: false)
                case .refused(let error): share = .refused(error)
                }
            }
        }
        run { this in
            try? await this.thread.sleep(for: Self.claimTimeLimit)
            this.endUnclaimedShare(visit)
        }
    }

    /// How long the room may take to claim a share that it has asked for: the user may have stopped sharing meanwhile.
    private static let claimTimeLimit = Duration.seconds(10)

    private func endUnclaimedShare(_ visit: UInt64) {
        guard case .granted(_, visit, isClaimed: false) = shared.shareRequest.withLock({ $0 }) else { return }
        endShare(visit)
    }

    func endShare(_ visit: UInt64) {
        guard local[Self.shareFeed]?.visit == visit else { return }
        leave(Self.shareFeed)
        shared.shareRequest.withLock { share in
            // Another user may have asked meanwhile.
            if case .granted(_, visit, _) = share { share = .free }
        }
    }

    /// Takes the share from the user, who asks again.
    func shareLost(_ error: MediaGraphError) {
        leave(Self.shareFeed)
        shared.shareRequest.withLock { $0 = .refused(error) }
        shared.notify { $0.shareGrantLost() }
    }

    // MARK: Remote users

    /// Adds a user whom the server has announced, and subscribes to the user's feed.
    func addRemote(_ participant: VideoRoomEvent.Participant) {
        let user = participant.id
        guard user == Self.shareFeed || SessionName.requirement(violatedBy: user) == nil else { return }
        if let namesake = local[user] {
            if namesake.publisher == nil { namesakes[user] = participant }
            return
        }
        let isNew = remote[user] == nil
        remote[user, default: makeRemoteUser()].publishes =
            remote[user]?.publishes == true || participant.streams != nil
        if isNew {
            var profile = UserProfile(displayName: participant.display ?? "")
            if profile.violatedRequirement != nil { profile = UserProfile() }
            remote[user]?.profile = profile
            if user == Self.shareFeed {
                shared.remoteSharer.withLock { $0 = profile.displayName }
            } else {
                shared.users.withLock { $0[user] = profile }
                shared.notify { $0.remoteJoined(user, profile) }
            }
        }
        subscribe(to: user)
        // The server may have announced the user's share first.
        if isNew, owner(of: Self.shareFeed) == user { subscribe(to: Self.shareFeed) }
    }

    private func makeRemoteUser() -> RemoteUser {
        RemoteUser(commandDeadline: thread.clock.time(after: Self.commandTimeLimit))
    }

    /// Removes a user's feeds. Returns whether the user was there.
    @discardableResult
    func remove(_ user: String) -> Bool {
        if user != Self.shareFeed, owner(of: Self.shareFeed) == user { endFeed(of: Self.shareFeed) }
        endFeed(of: user)
        return remote.removeValue(forKey: user) != nil
    }

    func forgetAll() { for user in remote.keys.sorted() { forget(user) } }

    /// Forgets a user who has left.
    func forget(_ user: String) {
        guard remove(user) else { return }
        guard user != Self.shareFeed else { return shared.remoteSharer.withLock { $0 = nil } }
        shared.users.withLock { $0[user] = nil }
        shared.notify { $0.remoteLeft(user) }
        updateDemands()
    }

    private func unpublished(_ user: String) {
        remote[user]?.publishes = false
        dropFeed(of: user)
    }

    private func rename(_ user: String, _ display: String) {
        guard user != Self.shareFeed, var profile = remote[user]?.profile, profile.displayName != display else {
            return
        }
        profile.displayName = display
        setProfile(profile, of: user)
    }

    func setProfile(_ profile: UserProfile, of user: String) {
        guard profile.violatedRequirement == nil, remote[user]?.profile != profile else { return }
        remote[user]?.profile = profile
        shared.users.withLock { $0[user] = profile }
        shared.notify { $0.remoteProfileChanged(of: user, to: profile) }
    }

    func detach(_ handle: UInt64) { run { this in await this.room.detach(handle) } }

    /// Runs what waits for the server, while inputs go on.
    nonisolated func run(_ body: @escaping @Sendable (isolated JanusRoom) async -> Void) {
        Task(executorPreference: thread) { await body(self) }
    }
}
