import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests what the members of a room get of a host's alpha channel.
@Suite(.timeLimit(.minutes(10))) struct AlphaMembersTests {
    init() throws { try Nodes.register() }

    /// Logs, in one order, the alpha changes that a session's delegate is told of and the frames of a pipe.
    private final class Member: SessionDelegate, RawDataDelegate {
        let log = Log<String>()
        let alphaSizes = Log<Int?>()

        func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream) {
            log.add("\(user.name) \(isOn ? "on" : "off")")
        }

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
            guard let alpha = frame.alpha else {
                alphaSizes.add(nil)
                return log.add("plain")
            }
            alphaSizes.add(alpha.width == 32 && alpha.height == 18 ? alpha.byteCount : -1)
            log.add("cut out")
        }

        /// The announcements.
        var heard: [String] { log.all.filter { $0.hasPrefix("alice") } }

        /// Whether each frame is as the last announcement says.
        var isInOrder: Bool {
            var isOn = false
            return log.all.allSatisfy { entry in
                switch entry {
                case "plain": return !isOn
                case "cut out": return isOn
                default:
                    isOn = entry.hasSuffix("on")
                    return true
                }
            }
        }
    }

    private static func host(_ source: RecordingSource, _ room: String, transport: SessionTransport = .room) throws
        -> Session
    {
        try session("alice", room) {
            $0.externalVideoSource = source
            $0.alphaMask = "alpha method=green"
            $0.role = .host
            $0.allowsRawStreaming = true
            $0.transport = transport
        }
    }

    private static func guest(_ user: String, _ member: Member, _ room: String, transport: SessionTransport = .room)
        throws
        -> Session
    {
        let guest = try session(user, room) { $0.transport = transport }
        guest.delegate = member
        return guest
    }

    /// Sends frames until `condition` holds. Returns false if it doesn't.
    private static func sends(_ source: RecordingSource, until condition: () -> Bool) -> Bool {
        waitUntil {
            try? source.sendPattern()
            return condition()
        }
    }

    /// Toggles the alpha channel four times, and waits each time until every reader has frames of the new kind.
    private static func toggle(_ host: Session, _ source: RecordingSource, seenBy readers: [Member]) throws {
        for (round, isOn) in [true, false, true, false].enumerated() {
            let counts = readers.map(\.log.all.count)
            try host.videoHelper.enableAlphaChannel(isOn)
            #expect(
                sends(source) {
                    zip(readers, counts).allSatisfy {
                        $0.log.all.dropFirst($1).last == (isOn ? "cut out" : "plain") && $0.heard.count == round + 1
                    }
                }, "\(readers.map(\.log.all))")
        }
    }

    private static let announced = ["alice on", "alice off", "alice on", "alice off"]

    @Test("AL-2 with format=auto, host and guests get a full alpha plane while alpha is on, and nil while it is off")
    func planes() async throws {
        let source = RecordingSource()
        let (own, preview, other) = (Member(), Member(), Member())
        let alice = try Self.host(source, #function)
        let bob = try Self.guest("bob", Member(), #function)
        try await alice.join()
        try await bob.join()
        #expect(waitUntil { bob.remoteUsers.count == 1 })
        try alice.localUser.videoPipe.subscribe(own, resolution: .p90)
        try alice.preview.subscribe(preview, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(other, resolution: .p90)
        let readers = [own, preview, other]
        for isOn in [false, true, false] {
            try alice.videoHelper.enableAlphaChannel(isOn)
            let size = isOn ? 32 * 18 : nil
            #expect(Self.sends(source) { readers.allSatisfy { $0.alphaSizes.all.last == size } })
        }
        #expect(readers.allSatisfy { $0.alphaSizes.all.allSatisfy { $0 == nil || $0 == 32 * 18 } })
        await bob.leave()
        await alice.leave()
    }

    @Test("AL-3 each toggle is reported once to the host and every guest, in order with the frames they read")
    func toggles() async throws {
        let source = RecordingSource()
        let (host, reader, idle) = (Member(), Member(), Member())
        let alice = try Self.host(source, #function)
        alice.delegate = host
        let bob = try Self.guest("bob", reader, #function)
        let carol = try Self.guest("carol", idle, #function)
        for session in [alice, bob, carol] { try await session.join() }
        #expect(waitUntil { bob.remoteUsers.count == 2 })
        let events = carol.events
        try alice.preview.subscribe(host, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(reader, resolution: .p90)
        try Self.toggle(alice, source, seenBy: [host, reader])
        #expect(waitUntil { idle.heard == Self.announced })
        #expect(host.heard == Self.announced && reader.heard == Self.announced)
        #expect(host.isInOrder && reader.isInOrder, "\(host.log.all) \(reader.log.all)")
        for session in [carol, bob, alice] { await session.leave() }
        var changes: [Bool] = []
        for await event in events {
            if case .alphaChannel(let user, .video, let isOn) = event, user.name == "alice" { changes.append(isOn) }
            if case .left = event { break }
        }
        #expect(changes == [true, false, true, false])
    }

    @Test("AL-3 a guest who joins or subscribes later hears once that alpha is on; a leaving host resets it")
    func lateGuest() async throws {
        let source = RecordingSource()
        let alice = try Self.host(source, #function)
        try await alice.join()
        try alice.videoHelper.enableAlphaChannel(true)
        let own = Member()
        try alice.localUser.videoPipe.subscribe(own, resolution: .p90)
        #expect(Self.sends(source) { own.log.all.contains("cut out") })
        let late = Member()
        let bob = try Self.guest("bob", late, #function)
        try await bob.join()
        #expect(waitUntil { late.heard == ["alice on"] })
        try bob.user("alice").videoPipe.subscribe(late, resolution: .p90)
        #expect(Self.sends(source) { late.log.all.contains("cut out") })
        #expect(late.heard == ["alice on"])
        // The delegate hears of a change even if it unsubscribes before the frames have changed.
        try await bob.user("alice").videoPipe.unsubscribe(late)
        try alice.videoHelper.enableAlphaChannel(false)
        #expect(Self.sends(source) { late.heard == ["alice on", "alice off"] })
        await alice.leave()
        #expect(waitUntil { bob.remoteUsers.isEmpty })
        try await alice.join()
        try alice.videoHelper.enableAlphaChannel(true)
        #expect(Self.sends(source) { late.heard == ["alice on", "alice off", "alice on"] })
        await alice.leave()
        await bob.leave()
    }

    @Test("AL-3 a delegate that is still busy with a join hears of alpha before it gets frames with it")
    func busyDelegate() async throws {
        /// Subscribes when a user joins, and stays in that call until it has got frames.
        final class Busy: SessionDelegate {
            let frames = Member()
            func session(_ session: Session, _ event: SessionEvent) {
                guard case .userJoined(let user) = event else { return }
                try? user.videoPipe.subscribe(frames, resolution: .p90)
                _ = waitUntil { frames.alphaSizes.all.count > 3 }
            }
            func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream) {
                frames.session(session, alphaChannelIsOn: isOn, of: user, stream: stream)
            }
        }
        let source = RecordingSource()
        let alice = try Self.host(source, #function)
        try await alice.join()
        try alice.videoHelper.enableAlphaChannel(true)
        let own = Member()
        try alice.localUser.videoPipe.subscribe(own, resolution: .p90)
        #expect(Self.sends(source) { own.log.all.contains("cut out") })
        let guest = Busy()
        let bob = try session("bob", #function)
        bob.delegate = guest
        try await bob.join()
        #expect(Self.sends(source) { guest.frames.alphaSizes.all.count > 6 })
        #expect(guest.frames.isInOrder && guest.frames.heard == ["alice on"], "\(guest.frames.log.all)")
        for session in [bob, alice] { await session.leave() }
    }

    @Test("AL-3 toggles of the second camera, and of a preview before joining, are told too")
    func otherCameras() async throws {
        let mask = "alphachannel name=mine mask=\"alpha method=green\" enabled=true"
        let camera = "videotestsrc is-live=true ! video/x-raw,format=I420,width=32,height=18,framerate=60/1"
        let heard = Log<String>()
        final class Listener: SessionDelegate {
            let heard: Log<String>
            init(_ heard: Log<String>) { self.heard = heard }
            func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream) {
                heard.add("\(session.context.user): \(user.name) \(stream) \(isOn)")
            }
        }
        let listener = Listener(heard)
        let alice = try session("alice", #function) {
            $0.auxCamera = "\(camera) ! \(mask)"
            ($0.role, $0.allowsRawStreaming) = (.host, true)
        }
        let bob = try session("bob", #function)
        for session in [alice, bob] { session.delegate = listener }
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { Set(heard.all) == ["alice: alice videoAux true", "bob: alice videoAux true"] })
        for session in [bob, alice] { await session.leave() }
        #expect(heard.all.count == 2)

        let source = RecordingSource()
        let carol = try Self.host(source, #function)
        carol.delegate = listener
        heard.removeAll()
        let unused = Member()
        try carol.localUser.videoPipe.subscribe(unused, resolution: .p90)
        try await carol.preview.start()
        try carol.videoHelper.enableAlphaChannel(true)
        #expect(Self.sends(source) { heard.all == ["alice: alice video true"] })
        await carol.leave()
    }

    @Test("AL-3 a change that a removed pipe's frames hadn't reached is told, and each change once")
    func announcements() {
        let camera = UserCamera(user: "bob", stream: .video)
        var alpha = AlphaAnnouncements()
        // Nobody reads the camera: the report decides, once.
        var told = (1...2).map { _ in alpha.recordReport(true, of: camera, isRead: false) }
        told.append(alpha.recordAnnouncement(true, of: camera))
        #expect(told == [true, false, false])
        // A pipe reads it: its frames decide.
        told = [alpha.recordReport(false, of: camera, isRead: true), alpha.recordAnnouncement(false, of: camera)]
        #expect(told == [false, true])
        var caughtUp = [alpha.catchUp(on: camera)]
        // It is removed before its frames have changed.
        told = [alpha.recordReport(true, of: camera, isRead: true)]
        caughtUp += (1...2).map { _ in alpha.catchUp(on: camera) }
        #expect(told == [false] && caughtUp == [nil, true, nil])
        // The second camera is another one, and who comes back begins without alpha.
        told = [alpha.recordReport(true, of: UserCamera(user: "bob", stream: .videoAux), isRead: false)]
        alpha.forget("bob")
        caughtUp = [alpha.catchUp(on: camera)]
        told.append(alpha.recordReport(true, of: camera, isRead: false))
        #expect(told == [true, true] && caughtUp == [nil])
    }

    @Test("AL-2 AL-3 alpha planes and toggles reach members in other processes, readers and others alike")
    func processes() async throws {
        // Rooms on two transports are separate, as in two processes; both are entries of one folder.
        for name in ["alpha-1", "alpha-2"] {
            RoomTransportKind.register(
                RoomTransportKind(name: name, summary: "as room", remedy: "") {
                    RoomLink(in: RoomDirectory(room: $0), delegate: $2)
                })
        }
        let source = RecordingSource()
        let (reader, idle, late) = (Member(), Member(), Member())
        let alice = try Self.host(source, "alpha", transport: "alpha-1")
        let bob = try Self.guest("bob", reader, "alpha", transport: "alpha-2")
        let carol = try Self.guest("carol", idle, "alpha", transport: "alpha-2")
        for session in [alice, bob, carol] { try await session.join() }
        #expect(waitUntil { (try? bob.user("alice")) != nil && (try? carol.user("alice")) != nil })
        try bob.user("alice").videoPipe.subscribe(reader, resolution: .p90)
        #expect(Self.sends(source) { reader.log.all.contains("plain") })
        try Self.toggle(alice, source, seenBy: [reader])
        #expect(waitUntil { idle.heard == Self.announced })
        #expect(reader.heard == Self.announced && reader.isInOrder, "\(reader.log.all)")
        #expect(reader.alphaSizes.all.allSatisfy { $0 == nil || $0 == 32 * 18 })
        try alice.videoHelper.enableAlphaChannel(true)
        #expect(Self.sends(source) { idle.heard.count == 5 })
        // Reads a stream that is forwarded already.
        try carol.user("alice").videoPipe.subscribe(late, resolution: .p90)
        #expect(Self.sends(source) { late.log.all.last == "cut out" })
        #expect(!late.log.all.contains("plain") && idle.heard.count == 5)
        for session in [carol, bob, alice] { await session.leave() }
    }
}
