import MediaGraphCore

/// A local user of a room, who is notified of what happens there. The methods are called one at a time and in the order
/// of the changes, on any thread, without a lock of the room held.
protocol RoomMember: AnyObject, Sendable {
    var user: String { get }
    /// Another user has joined, or was in the room before. May be called twice for one user.
    func joined(_ user: String)
    /// Another user has left.
    func left(_ user: String)
    /// A stream of a user, perhaps of this one, has changed.
    func streamChanged(_ key: StreamKey, _ change: StreamChange)
    /// Remote users can't be reached. `remedy` says what the user can do.
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String)
    /// Warns the user of a problem in the room.
    func warn(_ text: String)
}

/// A notification of a room's member. The room queues it together with the change, under one lock.
enum RoomNotice: Sendable {
    case joined(String)
    case left(String)
    case stream(StreamKey, StreamChange)
    case limited(because: MediaGraphError, remedy: String)
    case warning(String)

    /// Calls the method of the member that this notification stands for.
    func notify(_ member: any RoomMember) {
        switch self {
        case .joined(let user): member.joined(user)
        case .left(let user): member.left(user)
        case .stream(let key, let change): member.streamChanged(key, change)
        case .limited(let error, let remedy): member.roomIsLimitedToProcess(because: error, remedy: remedy)
        case .warning(let text): member.warn(text)
        }
    }
}
