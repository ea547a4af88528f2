import GStreamer
import MediaGraphCore
import Synchronization

/// A session's membership in a room. Posts the room's notifications on the session's bus.
final class Membership: RoomMember {
    let user: String
    let room: Room
    private let owner: WeakElement
    /// The users whose presence has been posted. The room reports a user twice if both join at the same time.
    private let known = Mutex<Set<String>>([])
    /// The streams whose status "on" has been posted, which the room may also report twice.
    private let sending = Mutex<Set<StreamKey>>([])
    /// The streams that have been posted as muted, and those whose alpha channel has been posted.
    private let muted = Mutex<Set<StreamKey>>([])
    private let withAlpha = Mutex<Set<StreamKey>>([])

    init(user: String, room: Room, owner: WeakElement) {
        self.user = user
        self.room = room
        self.owner = owner
    }

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

    func stream(_ key: StreamKey) -> RoomStream { room.stream(key) }

    func joined(_ user: String) {
        guard known.withLock({ $0.insert(user).inserted }) else { return }
        owner.post(SessionMessage.joined(user, room: room.name))
    }

    func left(_ user: String) {
        guard known.withLock({ $0.remove(user) }) != nil else { return }
        // Silently: a user who comes back begins unmuted and without alpha.
        muted.withLock { $0 = $0.filter { $0.user != user } }
        withAlpha.withLock { $0 = $0.filter { $0.user != user } }
        owner.post(SessionMessage.left(user, room: room.name))
    }

    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        func isNew(_ isOn: Bool, in streams: borrowing Mutex<Set<StreamKey>>) -> Bool {
            streams.withLock { isOn ? $0.insert(key).inserted : $0.remove(key) != nil }
        }
        switch change {
        case .status(let isOn):
            if isNew(isOn, in: sending) { owner.post(SessionMessage.stream(key, on: isOn, room: room.name)) }
        case .muted(let isMuted):
            if isNew(isMuted, in: muted) { owner.post(SessionMessage.muted(key, isMuted, room: room.name)) }
        case .alpha(let isOn):
            if isNew(isOn, in: withAlpha) { owner.post(SessionMessage.alpha(key, on: isOn, room: room.name)) }
        }
    }

    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) {
        owner.postWarning(
            .openReadWrite, "room \"\(room.name)\" is limited to this program: \(error); \(remedy)")
    }

    func warn(_ text: String) { owner.postWarning(.openReadWrite, "room \"\(room.name)\": \(text)") }
}
