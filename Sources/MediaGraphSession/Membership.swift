import GStreamer
import MediaGraphCore
import Synchronization

/// A session's membership in a room. Posts the room's notifications on the session's bus.
final class Membership: RoomMember {
    let user: String
    let room: Room
    let sending: SendSettings
    private let owner: WeakElement
    private let ownProfile: @Sendable () -> UserProfile
    /// The profiles that have been posted, of the users whose presence has been posted and of this user. The room reports
    /// a user twice if both join at the same time.
    private let known: Mutex<[String: UserProfile]>
    /// The state of the users' streams that has been posted. The room may report a change twice.
    private let posted = Mutex(AnnouncedStreams())

    /// Creates a membership. `profile` returns the user's current profile; it is called under a lock.
    init(
        user: String, room: Room, sending: SendSettings, owner: WeakElement,
        profile: @escaping @Sendable () -> UserProfile
    ) {
        self.user = user
        self.sending = sending
        self.room = room
        self.owner = owner
        ownProfile = profile
        known = Mutex([user: profile()])
    }

    var profile: UserProfile { ownProfile() }

    /// Joins the room, and waits until the transport has answered, `leave` is called or the graph is stopped.
    ///
    /// A state change waits here, so that a graph whose user is refused doesn't start. Only the state locks of the
    /// element and of the bins around it are held meanwhile, so no other graph waits.
    func join() throws(MediaGraphError) {
        guard let graph = owner.element?.outermost else { return try room.join(self) }
        let result = Result { () throws(MediaGraphError) in
            try room.join(self) {
                // After the join was requested, so that `leave` finds a join to cancel.
                if !SessionJoins.begin(self, in: graph) { leave() }
            }
        }
        // A cancelled user isn't in the room, even if the transport's answer was faster.
        guard SessionJoins.end(self, in: graph) else { throw .leftWhileJoining(user) }
        try result.get()
    }
    func leave() { room.leave(self) }

    /// Tells the room the user's current profile, if that has changed.
    func announceProfile() { room.profileChanged(of: self) }

    func stream(_ key: StreamKey) -> RoomStream { room.stream(key) }

    func joined(_ user: String, _ profile: UserProfile) {
        let isNew = known.withLock { known in
            guard known[user] == nil else { return false }
            known[user] = profile
            return true
        }
        guard isNew else { return profileChanged(of: user, to: profile) }
        owner.post(SessionMessage.joined(user, profile, room: room.name))
    }

    func profileChanged(of user: String, to profile: UserProfile) {
        let isNew = known.withLock { known in
            guard let old = known[user], old != profile else { return false }
            known[user] = profile
            return true
        }
        if isNew { owner.post(SessionMessage.profile(user, profile, room: room.name)) }
    }

    func received(_ command: SessionCommand, from user: String, isForAll: Bool) {
        owner.post(SessionMessage.command(command, from: user, isForAll: isForAll, room: room.name))
    }

    func left(_ user: String) {
        guard known.withLock({ $0.removeValue(forKey: user) }) != nil else { return }
        posted.withLock { $0.forgetStreams(of: user) }
        owner.post(SessionMessage.left(user, room: room.name))
    }

    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        guard posted.withLock({ $0.record(change, of: key) }) else { return }
        let message =
            switch change {
            case .status(let isOn): SessionMessage.stream(key, on: isOn, room: room.name)
            case .muted(let isMuted): SessionMessage.muted(key, isMuted, room: room.name)
            case .speaking(let isSpeaking): SessionMessage.speaking(key.user, isSpeaking, room: room.name)
            case .alpha(let isOn): SessionMessage.alpha(key, on: isOn, room: room.name)
            }
        owner.post(message)
    }

    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) {
        owner.postWarning(
            .openReadWrite, "room \"\(room.name)\" is limited to this program: \(error); \(remedy)")
    }

    func warn(_ text: String) { owner.postWarning(.openReadWrite, "room \"\(room.name)\": \(text)") }
}
