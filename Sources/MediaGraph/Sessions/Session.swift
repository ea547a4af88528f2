import Dispatch
import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// One user's session in a room, modeled on Zoom's Video SDK. It sends the media that its ``SessionContext`` names, and
/// gives access to the other users' raw data.
///
/// A session is a ``Graph`` with one `mediasession` element. Everything that a session does can also be written as a
/// description; ``description`` is the current one. Any task or thread may call a session. Events are delivered in
/// order, to the delegate on the session's own queue and to any number of readers of ``events``. A session leaves its
/// room when its last reference is released. An unread event about a user keeps the session alive.
public final class Session: Sendable {
    private enum Phase: Sendable { case outside, previewing, joining, joined }

    private struct State: Sendable {
        weak var delegate: (any SessionDelegate)?
        var phase = Phase.outside
        /// Events that occur while the user joins. They are delivered after ``SessionEvent/joined``.
        var postponed: [SessionEvent] = []
        /// The users in the room.
        var users = SessionUsers()
        var pipes: [PipeIdentity: PipeReader] = [:]
        /// Stops the graph after a run that ended by itself.
        var leaving: Task<Void, Never>?
        /// Starts the graph.
        var starting: Task<Result<Void, MediaGraphError>, Never>?
        /// The cameras whose previews have been started and not been stopped since.
        var startedPreviews: Set<PublishChannel> = []
        /// How often `leave` has been called. A start that finds another number than it began with ends.
        var leaveCount = 0
    }

    /// The settings that the session was made with.
    public let context: SessionContext
    /// The session's graph. Its nodes are named `camera`, `preprocessor`, `mic`, `speaker` and `session`.
    public let graph: Graph
    let sessionGraph: SessionGraph
    private let state = Mutex(State())
    let readers = EventReaders<SessionEvent>()
    let commandReaders = EventReaders<ReceivedCommand>(bufferingPolicy: .unbounded)
    let callbacks = DispatchQueue(label: "mediagraph.session")
    let alpha = Mutex(AlphaAnnouncements())
    let sound: SoundReader
    let share: ShareLink
    let observerChange = ObserverChange()

    /// Makes a session, which doesn't join its room yet.
    ///
    /// Throws `wrongUsage` if settings of the context exclude each other, and `invalidParameter` if one of its names or
    /// descriptions is invalid.
    public init(_ context: SessionContext) throws(MediaGraphError) {
        // Before `validate`, because the transports are registered together with the nodes.
        do throws(RegistrationError) { try Nodes.register() } catch {
            throw .unsupported(.init("the nodes", actual: "\(error)"))
        }
        try context.validate()
        self.context = context
        do throws(GraphError) {
            graph = try Graph(context.description())
            sessionGraph = SessionGraph(
                graph: graph, element: try graph.element("session"), observers: RemoteObservers(context),
                splitters: PadSplitters(decoder: context.videoDecoder))
        } catch { throw .invalidParameter(.init("the session's description", actual: "\(error)")) }
        sound = SoundReader(sessionGraph, context)
        share = ShareLink(sessionGraph)
        sound.session.withLock { $0 = WeakSession(self) }
        sessionGraph.observers?.session.withLock { $0 = WeakSession(self) }
        try attachHandlers()
        graph.listen(
            Graph.Listener(
                receive: { [weak self] in self?.receive($0) }, outlives: { [weak self] in self?.outlives($0) ?? false })
        )
    }

    private func attachHandlers() throws(MediaGraphError) {
        do {
            if let source = context.externalVideoSource { try graph.videoSource("camera").attach(source) }
            if let processor = context.preProcessor { try attach(processor, to: graph.preprocessor("preprocessor")) }
            try SessionObservation(context)?.attach(to: graph)
            if let microphone = context.virtualAudioMic { try graph.virtualMic("mic").attach(microphone) }
            if context.hasSpeaker { try sound.attach(to: graph.element("speaker")) }
        } catch { throw .wrapping(error, "the session's handlers") }
    }

    private func attach(_ processor: some VideoProcessor & Sendable, to node: PreprocessorNode) throws {
        try node.attach(processor)
    }

    /// The object that receives the session's events and audio. Held weakly.
    public var delegate: (any SessionDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    // MARK: Joining

    /// Joins the room and starts sending. A running preview continues without interruption.
    ///
    /// Throws `alreadyInUse` if somebody in the room has the user's name, `timeOut` if the room's transport doesn't
    /// answer, `noDevice` or `deviceBusy` if a device can't be opened, `notInSession` if ``leave()`` is called or the
    /// task is cancelled before the user has joined, and `wrongUsage` if the session is already joined. A preview that
    /// ran before continues after each of these errors, except after ``leave()``.
    public func join() async throws(MediaGraphError) {
        let (before, leaveCount) = state.withLock { state in
            defer { if state.phase == .outside || state.phase == .previewing { state.phase = .joining } }
            return (state.phase, state.leaveCount)
        }
        guard before == .outside || before == .previewing else {
            throw .wrongUsage(.init("the session", actual: "has already been joined; call leave() first"))
        }
        if before == .previewing {
            do throws(MediaGraphError) { try await joinFromPreview() } catch {
                endJoining(in: .previewing, [])
                throw error
            }
        } else {
            resetPreviews()
            do throws(MediaGraphError) { try await start(joins: true, leaveCount) } catch {
                giveUp(.joining)
                throw error
            }
        }
        endJoining(in: .joined, [.joined])
    }

    /// Delivers `first`, and then the events that occurred while joining. Does nothing if the session has ended by now.
    private func endJoining(in phase: Phase, _ first: [SessionEvent]) {
        let events = state.withLock { state -> [SessionEvent] in
            guard state.phase == .joining else { return [] }
            state.phase = phase
            defer { state.postponed = [] }
            return first + state.postponed
        }
        for event in events { send(event) }
    }

    /// Goes back to being outside the room after a failed start.
    private func giveUp(_ phase: Phase) {
        state.withLock { state in
            if state.phase == phase { (state.phase, state.postponed) = (.outside, []) }
        }
    }

    /// Starts the graph. Throws `notInSession` if `leave` has been called more often than `leaveCount` times.
    private func start(joins: Bool, _ leaveCount: Int) async throws(MediaGraphError) {
        // A task, so that `leave` can wait for it.
        let starting = state.withLock { [self] state in
            let starting = Task { () -> Result<Void, MediaGraphError> in
                // A run that ended by itself may still be stopping.
                await self.state.withLock { $0.leaving }?.value
                // Setting `join` only fails while the graph runs, and then `graph.start` throws.
                try? await self.setJoins(joins)
                let hasLeft = { self.state.withLock { $0.leaveCount != leaveCount } }
                do throws(GraphError) {
                    guard !hasLeft() else { throw .stopped }
                    try await self.graph.start()
                    guard !hasLeft() else {
                        await self.graph.stop()
                        throw .stopped
                    }
                    return .success(())
                } catch { return .failure(MediaGraphError(error, "the session")) }
            }
            state.starting = starting
            return starting
        }
        let result = await withTaskCancellationHandler {
            await starting.value
        } onCancel: {
            starting.cancel()
        }
        state.withLock { if $0.starting == starting { $0.starting = nil } }
        try result.get()
    }

    /// Joins the room in the graph that runs for the preview. Cancelling the task ends only the join.
    private func joinFromPreview() async throws(MediaGraphError) {
        let pipeline = graph.pipeline
        defer { SessionJoins.resume(in: pipeline) }
        let result = await withTaskCancellationHandler { () async -> Result<Void, MediaGraphError> in
            do throws(MediaGraphError) { return .success(try await setJoins(true)) } catch { return .failure(error) }
        } onCancel: {
            SessionJoins.interrupt(in: pipeline)
        }
        try result.get()
    }

    private func setJoins(_ joins: Bool) async throws(MediaGraphError) {
        try await graph.onControlQueue { [sessionGraph] () throws(MediaGraphError) in
            do throws(PropertyError) { try sessionGraph.element.setProperty("join", to: joins) } catch {
                throw sessionGraph.element.takeRefusalDetails().flatMap { MediaGraphError(details: $0) }
                    ?? .wrapping(error, sessionGraph.name)
            }
        }
    }

    /// Starts a preview. Outside of the room, starts the graph without joining, unless it is running.
    func startPreview(_ channel: PublishChannel) async throws(MediaGraphError) {
        let leaveCount = state.withLock { state -> Int? in
            state.startedPreviews.insert(channel)
            guard state.phase == .outside else { return nil }
            state.phase = .previewing
            return state.leaveCount
        }
        guard let leaveCount else { return setPreview(channel, isOff: false) }
        resetPreviews()
        do throws(MediaGraphError) { try await start(joins: false, leaveCount) } catch {
            state.withLock { _ = $0.startedPreviews.remove(channel) }
            giveUp(.previewing)
            throw error
        }
    }

    /// Stops a preview. Outside of the room, stops the graph with the last one.
    func stopPreview(_ channel: PublishChannel) async {
        let (phase, isLast) = state.withLock { state in
            state.startedPreviews.remove(channel)
            return (state.phase, state.startedPreviews.isEmpty)
        }
        switch phase {
        case .outside: break
        case .previewing where isLast: await graph.stop()
        case .previewing, .joining, .joined: setPreview(channel, isOff: true)
        }
    }

    /// Turns on all previews, at the beginning of a run.
    private func resetPreviews() { for channel in PublishChannel.allCases { setPreview(channel, isOff: false) } }

    private var isPreviewing: Bool { state.withLock { $0.phase == .previewing } }

    /// Leaves the room and closes the devices. When this returns, no handler is running and none will be called.
    /// Subscriptions remain for the next time that the session is joined.
    public func leave() async {
        let starting = state.withLock { state in
            state.leaveCount += 1
            return state.starting
        }
        await graph.stop()
        // The graph may have been started after it was stopped here; then the start itself stops it.
        _ = await starting?.value
    }

    /// Whether the user is in the room.
    public var isJoined: Bool { state.withLock { $0.phase == .joined } }

    /// The session as a description for `mediagraph run`, including its current subscriptions and share.
    public var description: String {
        let pipes = state.withLock { Array($0.pipes.values) }
        var context = context
        (context.mirrorMode, context.auxMirrorMode) = (mirrorMode, auxMirrorMode)
        context.videoConfiguration = videoConfiguration
        (context.displayName, context.customData) = (ownProfile.displayName, ownProfile.customData)
        (context.isVideoOn, context.isAuxVideoOn) = (!mutes(.camera), !mutes(.cameraAux))
        context.isAudioMuted = mutes(.microphone)
        SessionObservation.set(sessionGraph.observers?.observation, in: &context)
        let links =
            pipes.flatMap(\.texts) + sessionGraph.splitters.texts(sessionGraph.observers?.observation) + sound.texts
            + share.texts
        return ([context.description(joins: !isPreviewing, stoppedPreviews: stoppedPreviews)] + links.sorted()).joined(
            separator: "\n")
    }

    // MARK: Users

    /// The session's own user.
    public var localUser: SessionUser { SessionUser(name: context.user, session: self) }

    /// The other users in the room, sorted by name.
    public var remoteUsers: [SessionUser] {
        state.withLock { $0.users.names }.filter { $0 != context.user }.map { SessionUser(name: $0, session: self) }
    }

    /// Returns the user of that name. Throws `noSuchUser` if the user isn't in the room.
    public func user(_ name: String) throws(MediaGraphError) -> SessionUser {
        guard has(name) else {
            let known = remoteUsers.map(\.name).joined(separator: ", ")
            let others = known.isEmpty ? "; no other user is there" : "; other users there: \(known)"
            throw .noSuchUser(.init("user \"\(name)\"", actual: "isn't in the room\(others)"))
        }
        return SessionUser(name: name, session: self)
    }

    func has(_ user: String) -> Bool { user == context.user || state.withLock { $0.users.contains(user) } }

    /// The profile of a user in the room, and of the session's own user at any time.
    func profile(of user: String) -> UserProfile {
        user == context.user ? ownProfile : state.withLock { $0.users.profile(of: user) }
    }

    func isSending(_ stream: UserStream, _ user: String) -> Bool { state.withLock { $0.users.isSending(stream, user) } }
    func isMuted(_ stream: UserStream, _ user: String) -> Bool { state.withLock { $0.users.isMuted(stream, user) } }
    func isSpeaking(_ user: String) -> Bool { state.withLock { $0.users.isSpeaking(user) } }

    func pipe(_ identity: PipeIdentity) -> PipeReader {
        state.withLock { state in
            if let pipe = state.pipes[identity] { return pipe }
            let pipe = PipeReader(
                sessionGraph, identity, context.properties(of: identity.kind),
                defaultCanvas: context.customVideoRender?.engineRender
            ) { [weak self] in self?.catchUpOnAlpha(afterRemoving: identity) }
            state.pipes[identity] = pipe
            return pipe
        }
    }

    /// The pipe with this name; `nil` if nobody has ever subscribed to it.
    func pipe(named name: String) -> PipeReader? { state.withLock { $0.pipes.first { $0.key.name == name }?.value } }

    // MARK: Events

    /// The session's events from now on. The stream ends when the session is released.
    ///
    /// Any number of tasks may read events; each access makes a stream of its own that gets all events. A stream holds
    /// 256 events for a slow reader, and then drops the oldest.
    public var events: AsyncStream<SessionEvent> { readers.makeStream() }

    /// Whether the session continues after an element has failed or, for `nil`, after all sources have ended.
    ///
    /// If a source of this user fails in the room, only its stream or the share that it feeds ends, with a warning. A
    /// canvas or a decoder that fails is removed with a warning. Any other failure while the user joins ends the session.
    private func outlives(_ failed: (element: Element, failure: ElementFailure)?) -> Bool {
        let (phase, pipes) = state.withLock { ($0.phase, Array($0.pipes.values)) }
        guard let (element, failure) = failed else { return phase == .joining || phase == .joined }
        if pipes.contains(where: { $0.canvas.forget(ifItContains: element) }) { return true }
        if sessionGraph.splitters.forgetDecoder(ifItContains: element) { return true }
        guard phase == .joined else { return false }
        if share.forget(ifItContains: element, failure) { return true }
        return element.leadsOnlyToSessions
    }

    private func removeUnreadPipes() {
        for pipe in state.withLock({ Array($0.pipes.values) }) { pipe.removeIfUnread() }
    }

    /// Whether the session has been left. Users and streams that end after that aren't reported.
    private var isOutside: Bool { state.withLock { $0.phase == .outside } }

    /// Handles an event of the graph. Called on the thread that posts the event, so it must not block.
    private func receive(_ event: GraphEvent) {
        switch event {
        case .userJoined, .userLeft, .userProfile, .userCommand, .userStream, .userMuted, .userSpeaking, .userAlpha,
            .alphaChannel:
            if isOutside { return }
        default: break
        }
        switch event {
        case .userJoined(sessionGraph.name, let user, let profile):
            // Queued before the event is delivered, so that a subscriber's pipe is added downstream of the observer.
            sessionGraph.enqueue { $0.observers?.joined(user, $0) }
            state.withLock { $0.users.setProfile(profile, of: user) }
            sound.joined(user)
            tell(.userJoined(SessionUser(name: user, session: self)))
        case .userProfile(sessionGraph.name, let user, let profile):
            state.withLock { $0.users.setProfile(profile, of: user) }
            tell(.profileChanged(SessionUser(name: user, session: self)))
        case .userCommand(sessionGraph.name, let user, let command, let isForAll):
            tell(
                .commandReceived(
                    ReceivedCommand(
                        command: command, sender: SessionUser(name: user, session: self), isForAll: isForAll)))
        case .userLeft(sessionGraph.name, let user):
            state.withLock { $0.users.remove(user) }
            alpha.withLock { $0.forget(user) }
            sessionGraph.enqueue { $0.observers?.left(user, $0) }
            sound.left(user)
            tell(.userLeft(SessionUser(name: user, session: self)))
        case .userStream(sessionGraph.name, let user, let kind, let isOn):
            guard let stream = UserStream(rawValue: kind) else { return }
            state.withLock { $0.users.setSending(stream, user, isOn) }
            if stream == .shareAudio, user != context.user { sound.shares(user, isOn) }
            if stream == .share || stream == .shareAudio, user == context.user, isOn { share.recordBeginning() }
            tell(.streamChanged(SessionUser(name: user, session: self), stream, isOn: isOn))
        case .userMuted(sessionGraph.name, let user, let kind, let isMuted):
            guard let stream = UserStream(rawValue: kind) else { return }
            state.withLock { $0.users.setMuted(stream, user, isMuted) }
            tell(.muteChanged(SessionUser(name: user, session: self), stream, isMuted: isMuted))
        case .userSpeaking(sessionGraph.name, let user, let isSpeaking):
            state.withLock { $0.users.setSpeaking(user, isSpeaking) }
            tell(.speakingChanged(SessionUser(name: user, session: self), isSpeaking: isSpeaking))
        case .alphaChannel(let node, let isOn): alphaChanged(at: node, isOn)
        case .userAlpha(sessionGraph.name, let user, let kind, let isOn):
            // The session's own `alphachannel` has reported this already, in order with the camera's frames.
            guard let stream = UserStream(rawValue: kind),
                user != context.user || stream != .video || context.alphaMask == nil
            else { return }
            tell(.alphaChannel(SessionUser(name: user, session: self), stream, isOn: isOn))
        case .shareRefused(sessionGraph.name, context.user, _, let reason):
            // Report it once: the share's audio waits too, and has its own message, which may come late.
            guard !isSending(.share, context.user), !isSending(.shareAudio, context.user) else { return }
            if share.recordWait() { tell(.shareIsWaiting(reason: reason)) }
        case .warning(let warning):
            // A pipe warns when one of its delegates has been released; that may have been the last one.
            sessionGraph.enqueue { [weak self] _ in self?.removeUnreadPipes() }
            tell(.warning(warning))
        case .ended(let end):
            let (wasInRoom, users) = state.withLock { state in
                defer {
                    state.phase = .outside
                    (state.users, state.postponed, state.startedPreviews) = (SessionUsers(), [], [])
                }
                // A run that ended by itself must still close its devices. A later `join` waits for this task.
                if case .stopped = end {} else { state.leaving = Task { [graph] in await graph.stop() } }
                return (state.phase == .joined || state.phase == .joining, state.users.names)
            }
            alpha.withLock { $0 = AlphaAnnouncements() }
            for user in users { sessionGraph.enqueue { $0.observers?.left(user, $0) } }
            sessionGraph.enqueue { $0.splitters.resetDecoders() }
            sound.forgetUsers()
            share.forget()
            if wasInRoom {
                tell(.left(end))
            } else if case .failed(let failure) = end {
                // The preview failed.
                tell(.warning(failure))
            }
        default: break
        }
    }

    /// Delivers an event, or postpones it while the user joins.
    private func tell(_ event: SessionEvent) {
        let isPostponed = state.withLock { state in
            guard state.phase == .joining else { return false }
            state.postponed.append(event)
            return true
        }
        if !isPostponed { send(event) }
    }

    private func send(_ event: SessionEvent) {
        if case .alphaChannel(let user, let stream, let isOn) = event {
            return reportAlpha(isOn, of: UserCamera(user: user.name, stream: stream))
        }
        readers.yield(event)
        if case .commandReceived(let command) = event { commandReaders.yield(command) }
        callbacks.async { [weak self] in
            guard let self else { return }
            delegate?.session(self, event)
        }
    }
}
