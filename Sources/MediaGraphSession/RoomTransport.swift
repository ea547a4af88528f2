import GStreamer
import MediaGraphCore
import Synchronization

/// Carries a room's streams to and from users outside of this process: in other processes, behind a server, in
/// browsers.
///
/// The room makes a transport when the first local user joins, and stops it after the last one has left. Frames between
/// users of one process are passed by reference, without a transport.
///
/// Sending: while a remote user wants a local stream, add a `StreamReader` to the `RoomStream`, call `play()`, and take
/// each buffer exactly once. Give the reader the stream's `remoteStatistics`, so that the session's `stats` count what
/// the reader drops. Remove the reader at `leave` of its user and at `stop`.
///
/// Receiving: hold the remote user's `RoomStream` while writing to it, in this order: `begin`, `setCaps`, `setTiming`,
/// `setStatus(true)`, `send`, and `setAlpha` after `setCaps` when an alpha channel is turned on or off. Check input
/// first; `refuse`, `refuseBuffer` and `countLoss` report what can't be shown. A transport that decodes a stream also offers
/// its encoded form with `setEncodedCaps` and `sendEncoded`, before `setCaps`. Announce with `remoteStreamChanged` what a
/// remote user sends, what the user has muted, and what has an alpha channel, whether or not anybody here reads it. The
/// room forgets this when the user leaves.
///
/// The room calls these methods on any thread, including streaming threads, and other work waits for them to return. So
/// they mustn't block: a method that needs a round trip, or a lock of another process, returns first and reports its
/// outcome later. The calls of `join`, `profileChanged`, `streamChanged` and `leave` for one user come one at a time and
/// in order, and so do `start` and `stop`. Calls for different users may overlap.
package protocol RoomTransport: AnyObject, Sendable {
    /// Called once, before the first `join`. Call `report` once, on any thread, also from within this method: with
    /// `nil` when users can join, or with the reason why remote users can't be reached. With a reason, the room is
    /// limited to this process, and calls this transport no more.
    ///
    /// Don't call the delegate before you call `report`. If `stop` is called first, don't call `report`.
    func start(_ report: @escaping @Sendable (_ problem: MediaGraphError?) -> Void)
    /// Called once, after the last local user has left, perhaps before `start` has reported. Don't call the delegate
    /// after this returns: the room can't tell this transport's calls from those of the next one.
    ///
    /// The program may end right afterwards. So this may wait for up to a second until a server knows that the users have
    /// left.
    func stop()

    /// Called when a local user joins, after `start` has reported. Call `report` once, on any thread, also from within
    /// this method. Until then the user waits, and the room tells nobody about the user. From then on `remoteUsers`
    /// lists the users that the new one meets.
    func join(
        _ user: String, _ profile: UserProfile, sending settings: SendSettings,
        _ report: @escaping @Sendable (JoinOutcome) -> Void)
    /// Called when a local user leaves. If `join` hasn't reported yet, cancels or undoes it; a report that is already
    /// on its way is ignored, and if that is a refusal, nothing is left to undo. The next `join` of the same user may
    /// follow at once.
    func leave(_ user: String)
    /// The remote users' profiles by their names. Changes before the room is told with `remoteJoined`,
    /// `remoteProfileChanged` or `remoteLeft`, so that the room can tell whether a list is older than a change.
    var remoteUsers: [String: UserProfile] { get }

    /// Called when a local user in the room has another profile.
    func profileChanged(of user: String, to profile: UserProfile)
    /// Sends a local user's command to a remote user or, if `recipient` is `nil`, to all remote users. They get one
    /// user's commands in the order of the calls.
    ///
    /// A call may overlap with the sender's `leave`, and with `stop`; then the command may be dropped.
    ///
    /// Throws `noSuchUser` if the recipient isn't a remote user, and `tooFrequent` if the command can't be sent to a user
    /// who doesn't read fast enough. The others get it even then.
    func send(_ command: SessionCommand, from user: String, to recipient: String?) throws(MediaGraphError)

    /// Called when a local user's stream has changed. For a user who joins muted, this is called after the join.
    func streamChanged(_ key: StreamKey, _ change: StreamChange)
    /// Sets what the local readers of a remote user's stream want; `nil` if the stream has no readers. The room may call this before the remote user joins, and calls it again when the user joins. Calls for
    /// one stream never overlap, and the last one applies. Don't add or remove a reader of that stream from within this
    /// call.
    func setDemand(_ demand: StreamDemand?, for key: StreamKey)
    /// Asks the sender of a remote user's stream for a key frame, before which local readers can show nothing.
    func requestKeyFrame(_ key: StreamKey)

    /// The numbers of the last second of a local user's stream that is sent over a network, or of a remote user's that is
    /// received; `nil` if there are none. Called once a second for each stream; answer at once.
    func networkStatistics(of key: StreamKey, _ direction: StreamStatistics.Direction) -> NetworkStatistics?

    /// Decides whether a local user may share. Throws if the transport can't decide.
    ///
    /// The room decides one share at a time: until this returns, other local users who want to share wait. It may be
    /// called on the thread that calls `shareGrantLost`. A transport that needs a round trip returns `undecided` until it
    /// knows; the room asks again for each frame of the share.
    func requestShare(_ user: String) throws(MediaGraphError) -> ShareDecision
}

/// A transport's answer to a user who joins.
package enum JoinOutcome: Sendable {
    /// The user is in the room. `hasMoved` says whether the user was a remote user until now.
    case joined(hasMoved: Bool)
    /// The user can't join: `alreadyInUse` if a remote user has the name, `timeOut` if something didn't answer, and any
    /// other error for another reason.
    case refused(MediaGraphError)
}

/// A transport's decision on a user who wants to share. One user at a time shares in a room.
package enum ShareDecision: Sendable {
    /// The user may share until this object is released.
    case granted(any AnyObject & Sendable)
    /// The remote user of this name is already sharing.
    case sharedBy(String)
    /// The transport doesn't know yet.
    case undecided
}

/// The room, as its transport sees it. Its methods may be called on any thread. Don't hold a lock that a
/// `RoomTransport` method also takes: the room may call the transport back. The same applies to `RoomStream`'s `add`,
/// `remove`, `send` and `requestKeyFrame`.
package protocol RoomTransportDelegate: AnyObject, Sendable {
    /// Tells the room that a remote user has joined.
    func remoteJoined(_ user: String, _ profile: UserProfile)
    /// Tells the room that a remote user, who has joined, has another profile.
    func remoteProfileChanged(of user: String, to profile: UserProfile)
    /// Tells the room that a remote user has left. This also ends the user's streams.
    func remoteLeft(_ user: String)
    /// Tells the room that a remote user's stream has changed.
    func remoteStreamChanged(_ key: StreamKey, _ change: StreamChange)
    /// Passes on a remote user's command to a local user or, if `recipient` is `nil`, to all local users. A recipient who
    /// isn't in the room is ignored.
    func remoteSent(_ command: SessionCommand, from user: String, to recipient: String?)
    /// Tells the room that the transport has revoked the grant of `requestShare`. The room then requests the share
    /// again for the local user.
    func shareGrantLost()
    /// Warns the room's local users.
    func warn(_ text: String)
    /// Returns a local user's stream to read, or a remote user's stream to write. The room keeps only a weak reference
    /// to it.
    func stream(_ key: StreamKey) -> RoomStream
}

/// A kind of transport, which `mediasession transport=NAME` selects.
package struct RoomTransportKind: Sendable {
    let name: String
    /// Which users the transport reaches, for the property's description.
    let summary: String
    /// What the user can do if `make` throws, or if the transport's start fails.
    let remedy: String
    /// The clock of the time limits and intervals of the rooms on this transport.
    let clock: TimerClock
    /// Throws if the transport can't work with these settings. Called before a user joins.
    let check: @Sendable (RoomTransportSettings, SendSettings) throws(MediaGraphError) -> Void
    /// Makes the transport of the room of that name, without blocking. If this throws, the room is limited to this
    /// process.
    let make: Make

    package typealias Make =
        @Sendable (_ room: String, RoomTransportSettings, any RoomTransportDelegate) throws(MediaGraphError) ->
        any RoomTransport

    package init(
        name: String, summary: String, remedy: String, clock: TimerClock = .system,
        check: @escaping @Sendable (RoomTransportSettings, SendSettings) throws(MediaGraphError) -> Void = {
            _, _ throws(MediaGraphError) in
        },
        make: @escaping Make
    ) {
        self.name = name
        self.check = check
        self.summary = summary
        self.remedy = remedy
        self.clock = clock
        self.make = make
    }

    /// The default of `transport=`.
    package static let defaultName = "room"

    private static let registered = Mutex<[String: RoomTransportKind]>([:])

    /// Registers a kind of transport. Call this before the nodes are registered. A second kind of the same name is
    /// ignored.
    package static func register(_ kind: RoomTransportKind) {
        registered.withLock { if $0[kind.name] == nil { $0[kind.name] = kind } }
    }

    /// Lists the registered names, for messages; `nil` if `name` is one of them.
    package static func requirement(violatedBy name: String) -> String? {
        named(name) == nil ? all.map(\.name).joined(separator: " or ") : nil
    }

    static func named(_ name: String) -> RoomTransportKind? { registered.withLock { $0[name] } }

    /// The registered kinds, sorted by name.
    static var all: [RoomTransportKind] { registered.withLock { $0.values.sorted { $0.name < $1.name } } }
}
