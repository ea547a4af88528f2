import GStreamer
import MediaGraphCore
import MediaGraphSession

/// A user of this process in a ``JanusRoom``, or such a user's share. Only the room's thread uses it.
struct LocalUser {
    let profile: UserProfile
    let sending: SendSettings
    /// Distinguishes this visit from earlier and later ones of the same name.
    let visit: UInt64
    /// Answers the room's request to join; `nil` after it has been called.
    var report: (@Sendable (JoinOutcome) -> Void)?
    /// Whether a warning has said that the user can't rejoin the room.
    var hasWarned = false
    /// `nil` before the user is in the room, and while there is no connection to the server.
    var publisher: VideoRoom.Publisher?
    /// Whether a request to join is on its way.
    var isEntering = false
    /// Whether the server has removed the user.
    var isRemoved = false
    /// The number of the current PeerConnection, which distinguishes it from earlier and later ones; 0 without one.
    var connectionID: UInt64 = 0
    var feed: OutgoingFeed?
    /// The number of the PeerConnection that has to end on the server before the next feed, with other formats, is published;
    /// `nil` if none has to.
    var replaced: UInt64?
    /// Whether the PeerConnection is up.
    var isConnected = false
    /// Whether messages can be sent.
    var hasChannel = false
    var state = UserState()
    /// The commands that wait until their recipients receive from this user.
    var commands: [(command: SessionCommand, recipient: String?)] = []

    /// Whether the user should ask to join.
    var isAway: Bool { publisher == nil && !isEntering && !isRemoved }
}

/// A remote user, or a remote user's share. The display name of a share's profile is the sharing user's name.
struct RemoteUser {
    /// The time until which commands wait for this user to receive from their senders.
    var commandDeadline: UInt64
    var profile = UserProfile()
    /// Whether the user publishes a feed.
    var publishes = false
    /// The number of the current PeerConnection, which distinguishes it from earlier and later ones; 0 without one.
    var connectionID: UInt64 = 0
    var feed: IncomingFeed?
    /// Whether the PeerConnection is up.
    var isConnected = false
    /// Whether the user's program tells what it sends and wants; a browser doesn't.
    var usesMediaGraph = true
    /// The latest state that the user has sent; `nil` before the first.
    var state: UserState?
    /// The streams as the room knows them.
    var streams: [StreamKind: UserState.Stream] = [:]

    /// Whether messages of a local user arrive, as far as this is known.
    func receives(from user: String) -> Bool { !usesMediaGraph || state?.receivesFrom.contains(user) == true }
}
