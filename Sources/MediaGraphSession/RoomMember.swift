import MediaGraphCore

/// A local user of a room, who is notified of what happens there. The methods are called one at a time and in the order
/// of the changes, on any thread, without a lock of the room held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    /// What the user shows to the others now. Read with the room's lock held.
    var profile: UserProfile { get }
    var sending: SendSettings { get }
    /// Another user has joined, or was in the room before. May be called twice for one user.
    func joined(_ user: String, _ profile: UserProfile)
    /// Another user has left.
    func left(_ user: String)
    /// A user, perhaps this one, has another profile now. May be called twice for one change.
    func profileChanged(of user: String, to profile: UserProfile)
    /// A stream of a user, perhaps of this one, has changed.
    func streamChanged(_ key: StreamKey, _ change: StreamChange)
    /// A user has sent a command, to this user only or to everybody else in the room.
    func received(_ command: SessionCommand, from user: String, isForAll: Bool)
    /// Remote users can't be reached. `remedy` says what the user can do.
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String)
    /// Warns the user of a problem in the room.
    func warn(_ text: String)
}

/// A notification of a room's member. The room queues it together with the change, under one lock.
enum RoomNotice: Sendable {
    case joined(String, UserProfile)
    case left(String)
    case profile(String, UserProfile)
    case stream(StreamKey, StreamChange)
    case command(SessionCommand, from: String, isForAll: Bool)
    case limited(because: MediaGraphError, remedy: String)
    case warning(String)

    /// Calls the method of the member that this notification stands for.
    func notify(_ member: any RoomMember) {
        switch self {
        case .joined(let user, let profile): member.joined(user, profile)
        case .left(let user): member.left(user)
        case .profile(let user, let profile): member.profileChanged(of: user, to: profile)
        case .stream(let key, let change): member.streamChanged(key, change)
        case .command(let command, let user, let isForAll): member.received(command, from: user, isForAll: isForAll)
        case .limited(let error, let remedy): member.roomIsLimitedToProcess(because: error, remedy: remedy)
        case .warning(let text): member.warn(text)
        }
    }
}
