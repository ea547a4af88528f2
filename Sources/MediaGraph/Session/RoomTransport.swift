import GStreamer
import Synchronization

/// Carries a room's streams between this process and elsewhere: other processes, a server, browsers.
///
/// A room has one transport from when its first user joins until the last one leaves. Users of one process hand each other
/// frames by reference, which no transport sees.
///
/// A transport sends by reading: while somebody elsewhere wants a local user's stream, it adds a `StreamReader` to that
/// `RoomStream`. It receives by writing: `begin`, `setCaps`, `setTiming`, `setStatus` and `send` of the remote user's
/// `RoomStream`, and `end(ofRemoteUser:)` through `RoomTransportDelegate.remoteLeft`.
///
/// The room calls a transport on any thread, with none of the room's state locked; `start`, `join`, `leave` and `stop` come
/// one at a time. The model is the `Signallable` interface of gst-plugins-rs' `webrtcsink`.
protocol RoomTransport: AnyObject, Sendable {
    /// Once, before the first user joins. From now on the delegate may be called.
    func start()
    /// Once, after the last user has left. The delegate is told nothing more.
    func stop()

    /// A local user joins. Gives the users who are elsewhere, and whether this one was there until now. Throws `alreadyInUse`
    /// while somebody elsewhere has the name.
    func join(_ user: String) throws(MediaGraphError) -> (others: [String], hasMoved: Bool)
    func leave(_ user: String)
    /// The users who are elsewhere, by name.
    var remoteUsers: [String] { get }

    /// A local user has started or stopped sending the stream.
    func streamChanged(_ key: StreamKey, isOn: Bool)
    /// What local readers want of a remote user's stream has changed: `RoomTransportDelegate.demand(for:)` says what that is.
    func demandChanged(_ key: StreamKey)
    /// Local readers of a remote user's stream can show nothing before the next key frame.
    func requestKeyFrame(_ key: StreamKey)

    /// A local user wants to share. Throws where that can't be decided.
    func claimShare(_ user: String) throws(MediaGraphError) -> ShareClaim
}

/// Whether a user may share, as one at a time may in a room.
enum ShareClaim: Sendable {
    /// The user shares until nobody holds this object any more.
    case granted(any AnyObject & Sendable)
    /// This user shares elsewhere.
    case held(by: String)
}

/// The room, as its transport sees it. Any thread; the transport calls it with none of its own locks held that a call of
/// `RoomTransport` takes.
protocol RoomTransportDelegate: AnyObject, Sendable {
    func remoteJoined(_ user: String)
    /// Ends the user's streams too.
    func remoteLeft(_ user: String)
    /// A remote user has started or stopped sending the stream.
    func remoteStreamChanged(_ key: StreamKey, isOn: Bool)
    /// The claim of the local user who shares, if there is one, is lost: the room claims the share again.
    func shareClaimIsLost()
    /// The room's users hear of a trouble.
    func warn(_ text: String)
    /// To be read for a local user, and to be written for a remote one. The room forgets a stream that nobody holds.
    func stream(_ key: StreamKey) -> RoomStream
    /// The resolution that is enough for all who read the stream here; `nil` where nobody does.
    func demand(for key: StreamKey) -> Resolution?
}

/// A transport by its name, as `mediasession transport=` has it.
struct RoomTransportKind: Sendable {
    let name: String
    /// What to do where `make` throws.
    let remedy: String
    /// For the room of that name. Throws where nobody elsewhere can be reached: the room is one of this process alone then.
    let make:
        @Sendable (_ room: String, _ delegate: any RoomTransportDelegate) throws(MediaGraphError) -> any RoomTransport

    private static let registered = Mutex<[String: RoomTransportKind]>([machine.name: machine])

    /// The processes of the machine's user. `transport=room` is the default.
    static let machine = RoomTransportKind(name: "room", remedy: RoomDirectory.mend) {
        (room, delegate) throws(MediaGraphError) in try RoomLink(room: room, delegate: delegate)
    }

    /// Replaces one of the same name.
    static func register(_ kind: RoomTransportKind) { registered.withLock { $0[kind.name] = kind } }

    static func named(_ name: String) -> RoomTransportKind? { registered.withLock { $0[name] } }

    /// Those that are registered, in the order of their names.
    static var names: [String] { registered.withLock { $0.keys.sorted() } }
}
