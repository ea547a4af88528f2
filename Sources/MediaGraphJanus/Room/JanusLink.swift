import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// The transport through a Janus server: `transport=janus`.
///
/// It holds the state that the room reads synchronously. ``JanusRoom`` does the rest, one input at a time.
final class JanusLink: RoomTransport {
    private let room: JanusRoom
    private let shared: JanusShared

    init(
        _ room: String, _ settings: JanusSettings, delegate: any RoomTransportDelegate,
        on thread: EventThread = .network
    ) {
        shared = JanusShared(delegate)
        self.room = JanusRoom(room, settings, shared, on: thread)
    }

    func start(_ report: @escaping @Sendable (MediaGraphError?) -> Void) {
        // Whether the server can be reached is an answer to `join`: a user of an unreachable server isn't in a room.
        report(nil)
        room.start()
    }

    func stop() {
        shared.notifications.stop()
        let isOver = BlockingMonitor(false)
        room.inputs.yield(.stop { isOver.withLock { $0 = true } })
        // A join that is refused may end the transport on its own thread.
        guard !room.thread.isCurrent else { return }
        let deadline = room.thread.clock.time(after: Self.farewellTimeLimit)
        _ = isOver.wait(until: deadline, on: room.thread.clock) { $0 ? true : nil }
        _ = shared.endingFeeds.wait(until: deadline, on: room.thread.clock) { $0 == 0 ? true : nil }
    }

    /// How long `stop` waits until the server knows that the users have left, and until the elements have ended.
    private static let farewellTimeLimit = Duration.seconds(1)

    func join(
        _ user: String, _ profile: UserProfile, sending settings: SendSettings,
        _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        // A share is a feed of its own, which begins later.
        var settings = settings
        settings.kinds = settings.kinds.filter { !$0.isShare }
        room.inputs.yield(.join(user, profile, settings, report))
    }

    func leave(_ user: String) { room.inputs.yield(.leave(user)) }

    var remoteUsers: [String: UserProfile] { shared.users.withLock { $0 } }

    func profileChanged(of user: String, to profile: UserProfile) { room.inputs.yield(.profile(user, profile)) }

    func streamChanged(_ key: StreamKey, _ change: StreamChange) { room.inputs.yield(.stream(key, change)) }

    func send(_ command: SessionCommand, from user: String, to recipient: String?) throws(MediaGraphError) {
        guard recipient.map({ remoteUsers[$0] != nil }) ?? true else {
            throw .noSuchUser(.init("user \"\(recipient ?? "")\"", actual: "isn't in the room"))
        }
        guard shared.commands.add(1) <= JanusShared.maxWaitingCommands else {
            shared.commands.add(-1)
            throw .tooFrequent(
                .init(
                    "the command",
                    actual: "can't be sent: \(JanusShared.maxWaitingCommands) commands are already waiting; retry later"
                ))
        }
        room.inputs.yield(.command(command, from: user, to: recipient))
    }

    func setDemand(_ demand: StreamDemand?, for key: StreamKey) { room.inputs.yield(.demand(demand, key)) }

    func requestKeyFrame(_ key: StreamKey) { room.inputs.yield(.keyFrame(key)) }

    func networkStatistics(
        of key: StreamKey, _ direction: StreamStatistics.Direction
    ) -> NetworkStatistics? {
        shared.network.withLock { $0[NetworkStream(key: key, direction: direction)] }
    }

    func requestShare(_ user: String) throws(MediaGraphError) -> ShareDecision {
        let sharer = shared.remoteSharer.withLock { $0 }
        typealias Answer = (Result<ShareDecision, MediaGraphError>, isNew: Bool)
        let (answer, isNew) = shared.shareRequest.withLock { share -> Answer in
            switch share {
            case .free:
                if let sharer { return (.success(.sharedBy(sharer)), false) }
                share = .asked
                return (.success(.undecided), true)
            case .asked: return (.success(.undecided), false)
            // Given back before it is asked for again.
            case .granted(let other, let visit, isClaimed: false) where other != user:
                room.inputs.yield(.endShare(visit))
                share = .asked
                return (.success(.undecided), true)
            case .granted(let other, _, _) where other != user: return (.success(.sharedBy(other)), false)
            case .granted(_, let visit, _):
                share = .granted(user, visit, isClaimed: true)
                let grant = Grant { [room] in room.inputs.yield(.endShare(visit)) }
                return (.success(.granted(grant)), false)
            case .refused(let error):
                // The next call asks again; the room delays it.
                share = .free
                guard error.code == .alreadyInUse else { return (.failure(error), false) }
                return (.success(.sharedBy(sharer ?? "another user")), false)
            }
        }
        if isNew { room.inputs.yield(.beginShare(user)) }
        return try answer.get()
    }

    /// Permits a share until it is released.
    private final class Grant: Sendable {
        private let end: @Sendable () -> Void
        init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }
}

/// What the room's threads and ``JanusRoom`` share.
final class JanusShared: Sendable {
    let delegate: any RoomTransportDelegate
    let notifications = RoomNotifications()
    /// The remote users.
    let users = Mutex<[String: UserProfile]>([:])
    /// The remote user who shares.
    let remoteSharer = Mutex<String?>(nil)
    /// What is known of the share that a local user wants.
    let shareRequest = Mutex(ShareRequest.free)
    /// The numbers of the last second.
    let network = Mutex<[NetworkStream: NetworkStatistics]>([:])
    /// The number of feeds whose elements are ending.
    let endingFeeds = BlockingMonitor(0)
    /// The number of commands that wait to be sent.
    let commands = Counter()
    /// How many commands may wait.
    static let maxWaitingCommands = 1000

    init(_ delegate: any RoomTransportDelegate) { self.delegate = delegate }

    /// Calls the room, unless the transport has stopped.
    func notify(_ body: (any RoomTransportDelegate) -> Void) { notifications.notify { body(delegate) } }
}

/// A local user's request to share.
enum ShareRequest: Sendable {
    case free
    case asked
    /// To this user. The number is the share's visit to the room. The room claims it when it asks again.
    case granted(String, UInt64, isClaimed: Bool)
    /// Kept until the room asks again.
    case refused(MediaGraphError)
}

/// A number that any thread changes.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    /// Adds a number, and returns the sum.
    @discardableResult
    func add(_ number: Int) -> Int { value.wrappingAdd(number, ordering: .relaxed).newValue }
}
