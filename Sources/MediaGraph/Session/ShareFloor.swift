import GStreamer
import Synchronization

/// Who shares in a room: one user at a time, as is the SDK's rule, with picture, sound or both.
///
/// It is theirs who send first, until both of their streams are off; then whoever sends next has it. Among processes a lock on a
/// file decides, which the system gives up with its process.
final class ShareFloor: Sendable {
    fileprivate struct State: Sendable {
        var user: String?
        var streams: Set<StreamKind> = []
        var lock: FileLock?
        /// Why another process's file said no, and until when that is taken to be so, in nanoseconds.
        var refusal: (error: MediaGraphError, end: UInt64)?
    }

    /// How long another process's share is taken to go on: a refused one's frames don't each open a file.
    fileprivate static let patience: UInt64 = 100_000_000

    private let state = Mutex(State())

    /// Throws `alreadyInUse` while another user shares. `lock` is for the room's other processes, asked now and then while nobody
    /// shares here: `nil` where there are none.
    func take(
        _ key: StreamKey, lock: () throws(MediaGraphError) -> RoomDirectory.ShareLock?
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            if let user = state.user {
                guard user == key.user else { throw Self.shared(by: user) }
            } else {
                state.lock = try state.ask(lock)
                state.user = key.user
            }
            state.streams.insert(key.kind)
        }
    }

    /// The file of the lock was removed: whoever shares here takes it again. Throws where another process has it by now.
    func lockAgain(
        _ lock: (_ user: String) throws(MediaGraphError) -> RoomDirectory.ShareLock?
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            guard let user = state.user, state.lock != nil else { return }
            switch try lock(user) {
            case .granted(let lock): state.lock = lock
            case .held(let other): throw Self.shared(by: other)
            case nil: break
            }
        }
    }

    /// Another process's share may be over.
    func askAgain() { state.withLock { $0.refusal = nil } }

    fileprivate static func shared(by user: String) -> MediaGraphError {
        .alreadyInUse(.init("user \"\(user)\" is already sharing"))
    }

    func giveBack(_ key: StreamKey) {
        state.withLock { state in
            guard state.user == key.user, state.streams.remove(key.kind) != nil, state.streams.isEmpty else { return }
            state = State()
        }
    }
}

extension ShareFloor.State {
    fileprivate mutating func ask(
        _ lock: () throws(MediaGraphError) -> RoomDirectory.ShareLock?
    ) throws(MediaGraphError) -> FileLock? {
        if let refusal, monotonicNanoseconds() < refusal.end { throw refusal.error }
        do throws(MediaGraphError) {
            switch try lock() {
            case .granted(let lock): return lock
            case .held(let user): throw ShareFloor.shared(by: user)
            case nil: return nil
            }
        } catch {
            refusal = (error, monotonicNanoseconds() + ShareFloor.patience)
            throw error
        }
    }
}
