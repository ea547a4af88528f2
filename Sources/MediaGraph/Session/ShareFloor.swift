import GStreamer
import Synchronization

/// Who shares in a room: one user at a time, as is the SDK's rule, with picture, sound or both.
///
/// The user who sends first has it until both of that user's streams are off; then whoever sends next has it. Between here and
/// elsewhere the room's transport decides.
final class ShareFloor: Sendable {
    fileprivate struct State: Sendable {
        var user: String?
        var streams: Set<StreamKind> = []
        /// Of the transport, where there is one.
        var claim: (any AnyObject & Sendable)?
        /// Why the transport said no, and until when that is taken to be so, in nanoseconds.
        var refusal: (error: MediaGraphError, end: UInt64)?
    }

    /// How long a share elsewhere is taken to go on: a refused one's frames don't each ask the transport.
    fileprivate static let patience: UInt64 = 100_000_000

    private let state = Mutex(State())

    /// Throws `alreadyInUse` while another user shares. `claim` asks the transport, now and then while nobody shares here: `nil`
    /// where there is none.
    func take(
        _ key: StreamKey, claim: () throws(MediaGraphError) -> ShareClaim?
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            if let user = state.user {
                guard user == key.user else { throw Self.shared(by: user) }
            } else {
                state.claim = try state.ask(claim)
                state.user = key.user
            }
            state.streams.insert(key.kind)
        }
    }

    /// The transport has lost the claim of the user who shares here, who claims again. Throws where somebody elsewhere shares by
    /// now.
    func claimAgain(
        _ claim: (_ user: String) throws(MediaGraphError) -> ShareClaim?
    ) throws(MediaGraphError) {
        try state.withLock { state throws(MediaGraphError) in
            guard let user = state.user, state.claim != nil else { return }
            switch try claim(user) {
            case .granted(let claim): state.claim = claim
            case .held(let other): throw Self.shared(by: other)
            case nil: break
            }
        }
    }

    /// A share elsewhere may be over.
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
        _ claim: () throws(MediaGraphError) -> ShareClaim?
    ) throws(MediaGraphError) -> (any AnyObject & Sendable)? {
        if let refusal, monotonicNanoseconds() < refusal.end { throw refusal.error }
        do throws(MediaGraphError) {
            switch try claim() {
            case .granted(let claim): return claim
            case .held(let user): throw ShareFloor.shared(by: user)
            case nil: return nil
            }
        } catch {
            refusal = (error, monotonicNanoseconds() + ShareFloor.patience)
            throw error
        }
    }
}
