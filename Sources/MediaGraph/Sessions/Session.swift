import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization

/// A user in a room, as Zoom's Video SDK has it: sends what its ``SessionContext`` names, and reads the others' raw data.
///
/// Underneath is a ``Graph`` with one `mediasession`: whatever is done here can be written as text, and ``description`` is
/// that text at the moment. Sendable: any task or thread may call it. Events come in order, to the delegate on a queue of
/// the session's own, and to any number of readers of ``events``. A session that nobody holds any more leaves; an event
/// about a user that waits to be read holds it.
public final class Session: Sendable {
    private enum Phase: Sendable { case outside, previewing, joining, joined }

    private struct State: Sendable {
        weak var delegate: (any SessionDelegate)?
        var phase = Phase.outside
        /// What happens while this user joins is told behind that.
        var postponed: [SessionEvent] = []
        /// Who is here, each with what they send.
        var sending: [String: Set<UserStream>] = [:]
        var pipes: [PipeIdentity: PipeReader] = [:]
        /// Of a run that ended by itself.
        var leaving: Task<Void, Never>?
    }

    /// What the session was made with.
    public let context: SessionContext
    /// What carries it. Nodes may be looked up in it: `camera`, `preprocessor`, `mic`, `speaker`, `session`.
    public let graph: Graph
    let place: SessionPlace
    private let state = Mutex(State())
    private let readers = EventReaders<SessionEvent>()
    private let callbacks = DispatchQueue(label: "mediagraph.session")
    let sound: SoundReader
    let share: ShareLink

    /// Throws `wrongUsage` where the context names what rules each other out, and `invalidParameter` where one of its
    /// descriptions doesn't hold.
    public init(_ context: SessionContext) throws(MediaGraphError) {
        // The transports are registered together with the nodes.
        do throws(RegistrationError) { try Nodes.register() } catch {
            throw .unsupported(.init("the nodes", actual: "\(error)"))
        }
        try context.validate()
        self.context = context
        do throws(GraphError) {
            graph = try Graph(context.description())
            place = SessionPlace(
                graph: graph, element: try graph.element("session"), observers: RemoteObservers(context))
        } catch { throw .invalidParameter(.init("the session's description", actual: "\(error)")) }
        sound = SoundReader(place, context)
        share = ShareLink(place)
        sound.session.withLock { $0 = WeakSession(self) }
        place.observers?.session.withLock { $0 = WeakSession(self) }
        try attachHandlers()
        graph.listen(
            Graph.Listener(
                hear: { [weak self] in self?.hear($0) }, outlives: { [weak self] in self?.outlives($0) ?? false }))
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

    /// Whom its events and sounds go to; held weakly.
    public var delegate: (any SessionDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    // MARK: Joining

    /// Comes into the room and sends; where the preview runs, with what it has begun.
    ///
    /// Throws `alreadyInUse` where somebody in the room has the name, `noDevice` or `deviceBusy` where a device can't be had,
    /// `notInSession` where it was left, or the task cancelled, before, and `wrongUsage` for a session that has been joined.
    public func join() async throws(MediaGraphError) {
        let before = state.withLock { state in
            defer { if state.phase == .outside || state.phase == .previewing { state.phase = .joining } }
            return state.phase
        }
        guard before == .outside || before == .previewing else {
            throw .wrongUsage(
                .init("joining", expected: "a session that isn't in its room: leave() first", actual: "one that is"))
        }
        if before == .previewing {
            do throws(MediaGraphError) { try await setJoins(true) } catch {
                endJoining(in: .previewing, [])
                throw error
            }
        } else {
            do throws(MediaGraphError) { try await start(joins: true) } catch {
                giveUp(.joining)
                throw error
            }
        }
        endJoining(in: .joined, [.joined])
    }

    /// Tells `first`, and then what happened meanwhile; nothing where the session has ended by now.
    private func endJoining(in phase: Phase, _ first: [SessionEvent]) {
        let events = state.withLock { state -> [SessionEvent] in
            guard state.phase == .joining else { return [] }
            state.phase = phase
            defer { state.postponed = [] }
            return first + state.postponed
        }
        for event in events { send(event) }
    }

    /// It didn't start.
    private func giveUp(_ phase: Phase) {
        state.withLock { state in
            if state.phase == phase { (state.phase, state.postponed) = (.outside, []) }
        }
    }

    private func start(joins: Bool) async throws(MediaGraphError) {
        // One that ended by itself may still be on its way out.
        await state.withLock { $0.leaving }?.value
        // Only a session that runs can refuse it, and `start` does.
        try? await setJoins(joins)
        do throws(GraphError) { try await graph.start() } catch { throw MediaGraphError(error, "the session") }
    }

    private func setJoins(_ joins: Bool) async throws(MediaGraphError) {
        try await graph.onControlQueue { [place] () throws(MediaGraphError) in
            do throws(PropertyError) { try place.element.setProperty("join", to: joins) } catch {
                // There is no other reason on the queue where states change.
                guard case .refused(_, _, let reason) = error else { throw .wrapping(error, place.name) }
                throw .alreadyInUse(.init(place.name, actual: reason))
            }
        }
    }

    /// Starts the graph without coming into the room; nothing where it runs.
    func startPreview() async throws(MediaGraphError) {
        let isFirst = state.withLock { state in
            guard state.phase == .outside else { return false }
            state.phase = .previewing
            return true
        }
        guard isFirst else { return }
        do throws(MediaGraphError) { try await start(joins: false) } catch {
            giveUp(.previewing)
            throw error
        }
    }

    /// Nothing where the user is in the room, or comes there.
    func stopPreview() async { if isPreviewing { await graph.stop() } }

    private var isPreviewing: Bool { state.withLock { $0.phase == .previewing } }

    /// Leaves the room, and the devices. When it returns no handler is running and none will be called; subscriptions stay
    /// for the next time.
    public func leave() async { await graph.stop() }

    /// Whether the user is in the room.
    public var isJoined: Bool { state.withLock { $0.phase == .joined } }

    /// The session as text, for `mediagraph run`: what runs now, subscriptions and shares too.
    public var description: String {
        let pipes = state.withLock { Array($0.pipes.values) }
        var context = context
        context.mirrorMode = mirrorMode
        let links = pipes.compactMap(\.text) + (place.observers?.texts ?? []) + sound.texts + share.texts
        return ([context.description(joins: !isPreviewing)] + links.sorted()).joined(separator: "\n")
    }

    // MARK: Users

    /// The session's own user.
    public var localUser: SessionUser { SessionUser(name: context.user, session: self) }

    /// Who else is in the room, in the order of their names.
    public var remoteUsers: [SessionUser] {
        state.withLock { $0.sending.keys.filter { $0 != context.user }.sorted() }.map {
            SessionUser(name: $0, session: self)
        }
    }

    /// Throws `noSuchUser` for one who isn't here.
    public func user(_ name: String) throws(MediaGraphError) -> SessionUser {
        guard has(name) else {
            let known = remoteUsers.map(\.name).joined(separator: ", ")
            throw .noSuchUser(
                .init("user \"\(name)\"", expected: known.isEmpty ? "somebody in the room" : known, actual: "nobody"))
        }
        return SessionUser(name: name, session: self)
    }

    func has(_ user: String) -> Bool { user == context.user || state.withLock { $0.sending[user] != nil } }

    func isSending(_ stream: UserStream, _ user: String) -> Bool {
        state.withLock { $0.sending[user]?.contains(stream) ?? false }
    }

    func pipe(_ identity: PipeIdentity) -> PipeReader {
        state.withLock { state in
            if let pipe = state.pipes[identity] { return pipe }
            let render = identity.kind == .video ? context.customVideoRender?.engineRender : nil
            let pipe = PipeReader(place, identity, context.properties(of: identity.kind), engineRender: render)
            state.pipes[identity] = pipe
            return pipe
        }
    }

    // MARK: Events

    /// What happens from now on. Any number of readers, each with all events; a slow reader loses the oldest of more than
    /// 256. It ends when the session is gone.
    public var events: AsyncStream<SessionEvent> { readers.stream }

    /// A source of this user's that ends or fails is the end of its stream, and of a share that it fed, with a warning. What
    /// fails on the way into the room is the end of that.
    private func outlives(_ element: Element?) -> Bool {
        let phase = state.withLock { $0.phase }
        guard let element else { return phase == .joining || phase == .joined }
        guard phase == .joined else { return false }
        if share.forget(whereItHas: element) { return true }
        return element.leadsOnlyToSessions
    }

    private func removeUnreadPipes() {
        for pipe in state.withLock({ Array($0.pipes.values) }) { pipe.removeIfUnread() }
    }

    /// Whether it has been left: what ends then is no news.
    private var isOutside: Bool { state.withLock { $0.phase == .outside } }

    /// On the thread that posts: it only takes notes.
    private func hear(_ event: GraphEvent) {
        switch event {
        case .userJoined, .userLeft, .userStream, .alphaChannel: if isOutside { return }
        default: break
        }
        switch event {
        case .userJoined(place.name, let user):
            // Ahead of those who hear of the user, and read the video behind the observer.
            place.enqueue { $0.observers?.joined(user, $0) }
            state.withLock { $0.sending[user] = $0.sending[user] ?? [] }
            sound.joined(user)
            tell(.userJoined(SessionUser(name: user, session: self)))
        case .userLeft(place.name, let user):
            state.withLock { $0.sending[user] = nil }
            place.enqueue { $0.observers?.left(user, $0) }
            sound.left(user)
            tell(.userLeft(SessionUser(name: user, session: self)))
        case .userStream(place.name, let user, let kind, let isOn):
            guard let stream = UserStream(rawValue: kind) else { return }
            state.withLock { state in
                if isOn { state.sending[user, default: []].insert(stream) } else { state.sending[user]?.remove(stream) }
            }
            if stream == .shareAudio, user != context.user { sound.shares(user, isOn) }
            tell(.streamChanged(SessionUser(name: user, session: self), stream, isOn: isOn))
        case .alphaChannel("alpha", let isOn):
            delegate?.session(self, alphaChannelIsOn: isOn)
            readers.yield(.alphaChannel(isOn: isOn))
        case .warning(let warning):
            // It may be that a pipe's last delegate is gone.
            place.enqueue { [weak self] _ in self?.removeUnreadPipes() }
            tell(.warning(warning))
        case .ended(let end):
            let (wasInRoom, users) = state.withLock { state in
                defer {
                    state.phase = .outside
                    (state.sending, state.postponed) = ([:], [])
                }
                // Away from the devices too, where it ended by itself; whoever joins when he hears of it waits for that.
                if case .stopped = end {} else { state.leaving = Task { [graph] in await graph.stop() } }
                return (state.phase == .joined || state.phase == .joining, Array(state.sending.keys))
            }
            for user in users { place.enqueue { $0.observers?.left(user, $0) } }
            sound.forgetUsers()
            share.forget()
            if wasInRoom {
                tell(.left(end))
            } else if case .failed(let failure) = end {
                // A preview's.
                tell(.warning(failure))
            }
        default: break
        }
    }

    private func tell(_ event: SessionEvent) {
        let isPostponed = state.withLock { state in
            guard state.phase == .joining else { return false }
            state.postponed.append(event)
            return true
        }
        if !isPostponed { send(event) }
    }

    private func send(_ event: SessionEvent) {
        readers.yield(event)
        callbacks.async { [weak self] in
            guard let self else { return }
            delegate?.session(self, event)
        }
    }
}
