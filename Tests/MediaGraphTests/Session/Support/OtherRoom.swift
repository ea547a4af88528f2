import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// The room of the other process.
final class OtherRoom: RoomTransportDelegate {
    let bobs = RoomStream(StreamKey(user: "bob", kind: .camera), room: "other")
    let users = Log<String>()
    /// While this is set, notifications of stream changes block.
    let isStuck = Atomic<Bool>(false)
    func remoteJoined(_ user: String, _ profile: UserProfile) { users.add(user + profile.text) }
    func remoteProfileChanged(of user: String, to profile: UserProfile) { users.add("\(user) is\(profile.text)") }
    let commands = Log<String>()
    func remoteSent(_ command: SessionCommand, from user: String, to recipient: String?) {
        commands.add("\(user) to \(recipient ?? "all"): \(command.content)")
    }
    func remoteLeft(_ user: String) { users.add("-\(user)") }
    let changes = Log<StreamKey>()
    let mutes = Log<String>()
    func remoteStreamChanged(_ key: StreamKey, _ change: StreamChange) {
        guard case .muted(let isMuted) = change else {
            changes.add(key)
            _ = waitUntil { !isStuck.load(ordering: .acquiring) }
            return
        }
        mutes.add("\(key.user) \(key.kind.rawValue) \(isMuted)")
    }
    let warnings = Log<String>()
    func warn(_ text: String) { warnings.add(text) }
    let shareLosses = Log<Bool>()
    func shareGrantLost() { shareLosses.add(true) }
    func stream(_ key: StreamKey) -> RoomStream { bobs }

    /// Links of two processes, with bob in the first and alice in the second.
    static func links(_ room: String, _ first: OtherRoom, _ second: OtherRoom) throws -> (
        early: RoomLink, late: RoomLink
    ) {
        let early = try RoomLink.started(room, first)
        try early.claimed("bob")
        let late = try RoomLink.started(room, second)
        try late.claimed("alice")
        #expect(waitUntil { first.users.all == ["alice"] && second.users.all == ["bob"] })
        return (early, late)
    }
}

extension RoomLink {
    /// A link that has entered the room's folder, and looks for other processes a hundred times a second.
    static func started(_ room: String, _ delegate: OtherRoom) throws(MediaGraphError) -> RoomLink {
        try started(in: RoomDirectory(room: room), delegate)
    }

    static func started(
        in directory: RoomDirectory, _ delegate: OtherRoom, timestampClock: TimerClock = .system
    ) throws(MediaGraphError) -> RoomLink {
        let link = RoomLink(
            in: directory, delegate: delegate, interval: .milliseconds(10), timestampClock: timestampClock)
        let outcome = BlockingMonitor<Result<Void, MediaGraphError>?>(nil)
        link.start { problem in outcome.withLock { $0 = problem.map { .failure($0) } ?? .success(()) } }
        try (outcome.wait(timeout: .seconds(60)) { $0 } ?? .failure(.timeOut(.init("the link's start")))).get()
        return link
    }

    /// Makes a user join, and waits until the user has. Returns whether the user has moved here from another process.
    @discardableResult
    func claimed(_ user: String, _ profile: UserProfile = UserProfile()) throws(MediaGraphError) -> Bool {
        let outcome = BlockingMonitor<JoinOutcome?>(nil)
        join(user, profile, sending: SendSettings()) { result in outcome.withLock { $0 = result } }
        switch outcome.wait(timeout: .seconds(60), { $0 }) {
        case .joined(let hasMoved): return hasMoved
        case .refused(let error): throw error
        case nil: throw .timeOut(.init("\(user)'s join"))
        }
    }
}

extension RoomTransportKind {
    /// Registers a transport that works as `room` does, with a clock that the test advances.
    static func registerProcesses(_ name: String, clock: VirtualClock) {
        let clock = TimerClock(clock)
        register(
            RoomTransportKind(name: name, summary: "as room, on a test's clock", remedy: "", clock: clock) {
                RoomLink(in: RoomDirectory(room: $0, clock: clock), delegate: $2)
            })
    }
}

extension StreamReader {
    /// Returns the reader's next buffer, or `nil` if none comes within 100 ms.
    func takeBuffer() -> Buffer? {
        // The queue keeps a bounded number of signals.
        for _ in 0..<1000 {
            switch next(timeoutNanoseconds: 100_000_000) {
            case .buffer(let frame): return frame.buffer.take()
            case .idle: return nil
            default: continue
            }
        }
        return nil
    }
}
