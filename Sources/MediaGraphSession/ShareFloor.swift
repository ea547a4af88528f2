import MediaGraphCore
import Synchronization

/// Decides who shares in a room: one user at a time, with video, audio or both, as in the SDKs.
///
/// The first user to send has the share until both of that user's streams are off; then the next user to send gets it.
/// The room's transport decides between local and remote users.
final class ShareFloor: Sendable {
    fileprivate struct State: Sendable {
        var user: String?
        var streams: Set<StreamKind> = []
        /// The transport's grant; `nil` without a transport.
        var grant: (any AnyObject & Sendable)?
        /// Whether the transport has revoked the grant and not given a new one.
        var isGrantLost = false
        /// The transport's last refusal. It isn't asked again before `end`, in nanoseconds, unless `remoteChanges`
        /// changes.
        var refusal: (error: MediaGraphError, end: UInt64, remoteChanges: UInt64)?
    }

    /// How long a refusal is kept, so that a waiting share doesn't ask the transport at every frame.
    static let refusalLifetime = Duration.milliseconds(100)

    private let clock: TimerClock
    private let state = Mutex(State())
    /// Counts the changes that may have ended a remote share. Atomic, because the transport may report such a change
    /// while it decides, when `state` is locked.
    private let remoteChanges = Atomic<UInt64>(0)

    init(clock: TimerClock = .system) { self.clock = clock }

    /// Takes the share for a user's stream. Returns false while the transport hasn't decided. Throws `alreadyInUse` while
    /// another user shares. `request` asks the transport, if no local user shares; it returns `nil` if there is no
    /// transport.
    func take(
        _ key: StreamKey, request: () throws(MediaGraphError) -> ShareDecision?
    ) throws(MediaGraphError) -> Bool {
        try state.withLock { state throws(MediaGraphError) in
            if let user = state.user {
                guard user == key.user else { throw Self.shared(by: user) }
            } else {
                switch try state.ask(request, remoteChanges.load(ordering: .acquiring), clock) {
                case .granted(let grant): state.grant = grant
                case .sharedBy(let user): throw Self.shared(by: user)
                case .undecided: return false
                case nil: state.grant = nil
                }
                state.user = key.user
            }
            state.streams.insert(key.kind)
            return true
        }
    }

    /// Requests the share again after the transport has revoked its grant. Throws `alreadyInUse` if a remote user has
    /// started sharing.
    func renew(
        _ request: (_ user: String) throws(MediaGraphError) -> ShareDecision?
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            guard let user = state.user, state.grant != nil || state.isGrantLost else { return }
            // Release the old grant first: if it were still valid, it would prevent the new one.
            (state.grant, state.isGrantLost) = (nil, true)
            switch try request(user) {
            case .granted(let grant): (state.grant, state.isGrantLost) = (grant, false)
            case .sharedBy(let other): throw Self.shared(by: other)
            // The transport reports a refusal with `shareGrantLost`.
            case .undecided: break
            case nil: state.isGrantLost = false
            }
        }
    }

    /// Makes the next `take` ask the transport again, because a remote share may have ended. Never waits.
    func invalidateRefusal() { remoteChanges.wrappingAdd(1, ordering: .releasing) }

    fileprivate static func shared(by user: String) -> MediaGraphError {
        .alreadyInUse(.init("user \"\(user)\" is already sharing"))
    }

    /// Gives the share back if this was the last stream of the user who has it.
    func releaseFloor(_ key: StreamKey) {
        state.withLock { state in
            guard state.user == key.user, state.streams.remove(key.kind) != nil, state.streams.isEmpty else { return }
            state = State()
        }
    }
}

extension ShareFloor.State {
    /// Asks the transport, or throws its last refusal again if that is still valid.
    fileprivate mutating func ask(
        _ request: () throws(MediaGraphError) -> ShareDecision?, _ remoteChanges: UInt64, _ clock: TimerClock
    ) throws(MediaGraphError) -> ShareDecision? {
        if let refusal, refusal.remoteChanges == remoteChanges, clock.now < refusal.end {
            throw refusal.error
        }
        do throws(MediaGraphError) {
            let decision = try request()
            if case .sharedBy(let user) = decision { throw ShareFloor.shared(by: user) }
            return decision
        } catch {
            refusal = (error, clock.time(after: ShareFloor.refusalLifetime), remoteChanges)
            throw error
        }
    }
}
