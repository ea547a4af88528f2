import GStreamer
import MediaGraphCore
import MediaGraphSession

/// A user of this process in a ``JanusRoom``, which uses it on its own thread only, or a local user's share.
struct LocalUser {
    let profile: UserProfile
    let kinds: Set<StreamKind>
    /// Distinguishes this visit from earlier and later ones of the same name.
    let visit: UInt64
    /// Answers the room's request to join; `nil` after it has been called.
    var report: (@Sendable (JoinOutcome) -> Void)?
    /// Whether the room has been warned that the user can't come back.
    var hasWarned = false
    /// `nil` before the user is in the room, and while the server is away.
    var place: VideoRoom.Place?
    /// Whether a request to join is on its way.
    var isEntering = false
    /// Whether the server has removed the user.
    var isRemoved = false
    /// The number of the current PeerConnection, which distinguishes it from earlier and later ones; 0 without one.
    var attempt: UInt64 = 0
    var publication: Publication?
    /// Whether the PeerConnection is up.
    var isConnected = false
    /// Whether texts can be sent.
    var hasChannel = false
    var state = UserState()
    /// The commands that wait until their recipients hear this user.
    var commands: [(command: SessionCommand, recipient: String?)] = []

    /// Whether the user should ask to join.
    var isAway: Bool { place == nil && !isEntering && !isRemoved }
}

/// A user of another process, or such a user's share, of whose profile the display name is the user.
struct RemoteUser {
    /// The time until which commands wait for this user to hear their sender.
    var patienceEnd: UInt64
    var profile = UserProfile()
    /// Whether the user sends media or texts.
    var publishes = false
    /// The number of the current PeerConnection, which distinguishes it from earlier and later ones; 0 without one.
    var attempt: UInt64 = 0
    var feed: IncomingFeed?
    /// Whether the PeerConnection is up.
    var isConnected = false
    /// Whether the user's program doesn't say what it sends and wants, as a browser's.
    var isForeign = false
    /// What the user has said last; `nil` for a user who has said nothing, as a browser's.
    var state: UserState?
    /// The streams as the room knows them.
    var streams: [StreamKind: UserState.Stream] = [:]

    /// Whether texts of a local user arrive, as far as this is known.
    func hears(_ user: String) -> Bool { isForeign || state?.hears.contains(user) == true }
}
