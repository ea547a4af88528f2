import Synchronization

/// Who shares in a room: one user at a time, as is the SDK's rule, with picture, sound or both.
///
/// It is theirs who send first, until both of their streams are off; then whoever sends next has it. Among processes a lock on a
/// file decides, which the system gives up with its process.
final class ShareFloor: Sendable {
    private struct State: Sendable {
        var user: String?
        var streams: Set<StreamKind> = []
        var lock: FileLock?
    }

    private let state = Mutex(State())

    /// Throws `alreadyInUse` while another user shares. `lock` is for the room's other processes, asked when nobody shares
    /// here: `nil` where there are none.
    func take(_ key: StreamKey, lock: () -> RoomDirectory.ShareLock?) throws(MediaGraphError) {
        let sharer = state.withLock { state -> String? in
            if let user = state.user, user != key.user { return user }
            if state.user == nil {
                switch lock() {
                case .held(let other): return other
                case .granted(let lock): state.lock = lock
                case nil: break
                }
            }
            state.user = key.user
            state.streams.insert(key.kind)
            return nil
        }
        if let sharer {
            throw .alreadyInUse(
                .init("the room's share", expected: "nobody else to share", actual: "user \"\(sharer)\", who does"))
        }
    }

    func giveBack(_ key: StreamKey) {
        state.withLock { state in
            guard state.user == key.user, state.streams.remove(key.kind) != nil, state.streams.isEmpty else { return }
            state = State()
        }
    }
}
