import GStreamer
import Synchronization
import TestSupport

@testable import MediaGraphCore
@testable import MediaGraphSession

/// A transport to one remote user, called echo, whose camera sends what alice's camera sends.
final class EchoTransport: RoomTransport {
    /// The room's calls.
    let calls = Log<String>()
    /// Whether the transport grants shares, instead of reporting that echo shares.
    let grantsShares: Bool
    /// The users whose joins wait until the test answers them.
    private let slowUsers: Set<String>
    private let joins = Mutex<[String: [@Sendable (JoinOutcome) -> Void]]>([:])
    private let grants = Log<WeakGrant>()
    private let delegate: any RoomTransportDelegate
    private let profile = Mutex(UserProfile())
    private let isHere = Atomic<Bool>(true)
    private let changes = Mutex<[@Sendable () -> Void]>([])
    private let forwarding = Mutex<Forwarding?>(nil)

    private struct Forwarding: Sendable {
        let source: RoomStream
        let reader: StreamReader
        let thread: NativeThread
    }

    private final class Grant: Sendable {}
    private struct WeakGrant: Sendable { weak let grant: Grant? }

    static let user = "echo"
    private static let source = StreamKey(user: "alice", kind: .camera)
    private static let echoed = StreamKey(user: user, kind: .camera)

    init(_ delegate: any RoomTransportDelegate, grantsShares: Bool, slowUsers: Set<String>) {
        self.delegate = delegate
        self.grantsShares = grantsShares
        self.slowUsers = slowUsers
    }

    /// Registers the transport as `transport=NAME`, and adds each one that a room makes to `made`.
    static func register(
        _ name: String, grantsShares: Bool = false, slowUsers: Set<String> = [], adding made: Log<EchoTransport> = Log()
    ) {
        RoomTransportKind.register(
            RoomTransportKind(name: name, summary: "sends a user's video back", remedy: "restart the test") {
                _, _, delegate in
                let transport = EchoTransport(delegate, grantsShares: grantsShares, slowUsers: slowUsers)
                made.add(transport)
                return transport
            })
    }

    func start(_ report: @escaping @Sendable (MediaGraphError?) -> Void) {
        calls.add("start")
        report(nil)
    }

    func stop() {
        stopForwarding()
        calls.add("stop")
    }

    func join(
        _ user: String, _ profile: UserProfile, sending settings: SendSettings,
        _ report: @escaping @Sendable (JoinOutcome) -> Void
    ) {
        guard user != Self.user else { return report(.refused(.nameTaken(user, in: "the cave"))) }
        guard slowUsers.contains(user) else {
            calls.add("join \(user)\(profile.text)")
            return report(.joined(hasMoved: false))
        }
        joins.withLock { $0[user, default: []].append(report) }
        // Last, because tests wait for the call and then answer it.
        calls.add("join \(user)")
    }

    /// Answers the first join of a user that hasn't been answered, even if the user has left.
    func answer(_ user: String, _ outcome: JoinOutcome = .joined(hasMoved: false)) {
        let report = joins.withLock { joins in joins[user]?.isEmpty == false ? joins[user]?.removeFirst() : nil }
        report?(outcome)
    }

    func leave(_ user: String) {
        if user == Self.source.user { stopForwarding() }
        calls.add("leave \(user)")
    }

    func profileChanged(of user: String, to profile: UserProfile) { calls.add("\(user) is\(profile.text)") }

    /// Sends a command back to its sender.
    func send(_ command: SessionCommand, from user: String, to recipient: String?) {
        calls.add("\(user) to \(recipient ?? "all"): \(command.content)")
        delegate.remoteSent(command, from: Self.user, to: user)
    }

    /// Sends a command of echo.
    func send(_ text: String, to user: String?) { delegate.remoteSent(.text(text), from: Self.user, to: user) }

    /// Changes echo's profile.
    func setProfile(_ profile: UserProfile) {
        self.profile.withLock { $0 = profile }
        delegate.remoteProfileChanged(of: Self.user, to: profile)
    }

    var remoteUsers: [String: UserProfile] {
        let users = isHere.load(ordering: .acquiring) ? [Self.user: profile.withLock { $0 }] : [:]
        let change = changes.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        change?()
        return users
    }

    /// Makes the next reads of `remoteUsers` change something each, after the list was made.
    func changeAfterListing(_ changes: (@Sendable () -> Void)...) { self.changes.withLock { $0 = changes } }

    func streamChanged(_ key: StreamKey, _ change: StreamChange) { calls.add("\(key.user) \(key.kind) \(change.text)") }
    func requestKeyFrame(_ key: StreamKey) { calls.add("key frame of \(key.user)") }

    func networkStatistics(
        of key: StreamKey, _ direction: StreamStatistics.Direction
    ) -> NetworkStatistics? { nil }

    func requestShare(_ user: String) -> ShareDecision {
        calls.add("share of \(user)")
        guard grantsShares else { return .sharedBy(Self.user) }
        let grant = Grant()
        grants.add(WeakGrant(grant: grant))
        return .granted(grant)
    }

    /// The number of granted shares that still exist.
    var shareCount: Int { grants.all.count { $0.grant != nil } }

    func setDemand(_ demand: StreamDemand?, for key: StreamKey) {
        guard key == Self.echoed else { return calls.add("demand for \(key.user)") }
        calls.add("demand \(demand.map { "\($0.resolution.rawValue)" } ?? "none")")
        if demand == nil { stopForwarding() } else if isHere.load(ordering: .acquiring) { startForwarding() }
    }

    /// Makes echo leave.
    func vanish() {
        isHere.store(false, ordering: .releasing)
        stopForwarding()
        delegate.remoteLeft(Self.user)
    }

    /// Makes echo come back.
    func appear() {
        isHere.store(true, ordering: .releasing)
        delegate.remoteJoined(Self.user, profile.withLock { $0 })
    }

    /// Tells the room that echo's camera has started or stopped sending.
    func tell(isOn: Bool) { delegate.remoteStreamChanged(Self.echoed, .status(isOn: isOn)) }

    /// Tells the room that echo's user has begun to speak.
    func speak() { delegate.remoteStreamChanged(StreamKey(user: Self.user, kind: .microphone), .speaking(true)) }

    /// Makes the transport lose the share's grant.
    func loseGrant() { delegate.shareGrantLost() }

    private func startForwarding() {
        let source = delegate.stream(Self.source)
        let reader = StreamReader(bound: 100, statistics: source.remoteStatistics)
        reader.play()
        let isNew = forwarding.withLock { forwarding in
            guard forwarding == nil else { return false }
            let thread = NativeThread("echo") { [self] in forward(reader) }
            forwarding = Forwarding(source: source, reader: reader, thread: thread)
            return true
        }
        if isNew { source.add(reader) }
    }

    private func stopForwarding() {
        guard let forwarding = forwarding.withLock({ $0.take() }) else { return }
        forwarding.source.remove(forwarding.reader)
        forwarding.reader.end()
        forwarding.thread.join()
    }

    private func forward(_ reader: StreamReader) {
        let echo = delegate.stream(Self.echoed)
        while true {
            switch reader.next() {
            case .buffer(let frame):
                echo.send(frame.buffer.access)
                _ = frame.buffer.take()
            case .signal(.begin): echo.begin()
            case .signal(.format(let format)): echo.setCaps(format.caps)
            case .signal(.timing(let timing)): echo.setTiming(timing)
            case .signal(.status(let isOn)):
                if echo.setStatus(isOn) { delegate.remoteStreamChanged(Self.echoed, .status(isOn: isOn)) }
            case .end: return
            default: continue
            }
        }
    }
}
