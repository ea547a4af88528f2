import GStreamer
import MediaGraphCore
import Synchronization

/// Carries a room's streams to and from users outside of this process: in other processes, behind a server, in browsers.
///
/// The first local user's join makes the transport, and it stops after the last one has left. Frames between users of one
/// process are passed by reference and don't go through it.
///
/// Sending: while a remote user wants a local stream, add a `StreamReader` to the `RoomStream`, call `play()`, and take each
/// buffer exactly once. With the stream's `remoteStatistics` the session's `stats` count what the reader loses. Remove the
/// reader at `leave` of its user and at `stop`.
///
/// Receiving: hold the remote user's `RoomStream` while writing to it, in this order: `begin`, `setCaps`, `setTiming`,
/// `setStatus(true)`, `send`. Check input first; `refuse`, `refuseBuffer` and `countLoss` report what can't be shown. Announce
/// with `remoteStreamChanged` what a remote user sends, whether or not anybody here reads it.
///
/// The room calls these methods on any thread, including streaming threads, so they mustn't block. It calls `start`, `join`,
/// `leave` and `stop` one at a time; other calls may overlap with them.
package protocol RoomTransport: AnyObject, Sendable {
    /// Once, before the first `join`. From here on the delegate may be called.
    func start()
    /// Once, after the last local user has left. Don't call the delegate after this returns: the room can't tell this transport's
    /// calls from those of the next one.
    func stop()

    /// A local user joins. Gives the names of the remote users, and whether this user was one of them until now. Throws
    /// `alreadyInUse` while a remote user has the name.
    func join(_ user: String) throws(MediaGraphError) -> (others: [String], hasMoved: Bool)
    /// A local user leaves.
    func leave(_ user: String)
    /// The names of the remote users.
    var remoteUsers: [String] { get }

    /// A local user has started or stopped sending the stream.
    func streamChanged(_ key: StreamKey, isOn: Bool)
    /// The highest resolution that a local reader of a remote user's stream wants; `nil` when there are no readers. The room may
    /// call this before the remote user joins, and calls it again when the user joins. Calls for one stream never overlap, and
    /// the last one applies. Don't add or remove a reader of that stream from within this call.
    func setDemand(_ resolution: Resolution?, for key: StreamKey)
    /// Asks the sender of a remote user's stream for a key frame: local readers can show nothing before it.
    func requestKeyFrame(_ key: StreamKey)

    /// Asks whether a local user may share. Throws when the transport can't tell.
    ///
    /// The room decides one share at a time: until this returns, other local users who want to share wait. It may be called on
    /// the thread that calls `shareGrantLost`.
    func requestShare(_ user: String) throws(MediaGraphError) -> ShareDecision
}

/// A transport's answer to a user who wants to share; one user at a time shares in a room.
package enum ShareDecision: Sendable {
    /// The user may share until nobody holds this object.
    case granted(any AnyObject & Sendable)
    /// This remote user shares already.
    case sharedBy(String)
}

/// The room, as its transport sees it. Its methods may be called on any thread. Don't hold a lock that a `RoomTransport` method
/// also takes: the room may call the transport back. The same applies to `RoomStream`'s `add`, `remove`, `send` and
/// `requestKeyFrame`.
package protocol RoomTransportDelegate: AnyObject, Sendable {
    func remoteJoined(_ user: String)
    /// Ends the user's streams too.
    func remoteLeft(_ user: String)
    /// A remote user has started or stopped sending the stream.
    func remoteStreamChanged(_ key: StreamKey, isOn: Bool)
    /// The transport has revoked the grant of `requestShare`. The room requests the share again for the local user.
    func shareGrantLost()
    /// Warns the room's local users.
    func warn(_ text: String)
    /// A local user's stream to read, or a remote user's to write. The room forgets a stream that nobody holds.
    func stream(_ key: StreamKey) -> RoomStream
}

/// A kind of transport, which `mediasession transport=NAME` selects.
package struct RoomTransportKind: Sendable {
    let name: String
    /// Which users it reaches, for the property's description.
    let summary: String
    /// What to do when `make` throws.
    let remedy: String
    /// Makes the transport of the room of that name. When it throws, the room is limited to this process.
    let make:
        @Sendable (_ room: String, _ delegate: any RoomTransportDelegate) throws(MediaGraphError) -> any RoomTransport

    package init(
        name: String, summary: String, remedy: String,
        make:
            @escaping @Sendable (_ room: String, _ delegate: any RoomTransportDelegate) throws(MediaGraphError) ->
            any RoomTransport
    ) {
        self.name = name
        self.summary = summary
        self.remedy = remedy
        self.make = make
    }

    /// Of `transport=` unless it is set.
    package static let defaultName = "room"

    private static let registered = Mutex<[String: RoomTransportKind]>([:])

    /// Once for each name, before the nodes are registered; a second kind of the same name is ignored.
    package static func register(_ kind: RoomTransportKind) {
        registered.withLock { if $0[kind.name] == nil { $0[kind.name] = kind } }
    }

    /// The registered names, for messages; `nil` if `name` is one.
    package static func requirement(violatedBy name: String) -> String? {
        named(name) == nil ? all.map(\.name).joined(separator: " or ") : nil
    }

    static func named(_ name: String) -> RoomTransportKind? { registered.withLock { $0[name] } }

    /// In the order of their names.
    static var all: [RoomTransportKind] { registered.withLock { $0.values.sorted { $0.name < $1.name } } }
}
