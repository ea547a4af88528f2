import Foundation
import GStreamer
import LocalSockets
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// What another process of the room says is checked before it is believed: it may be of any quality, or of somebody else.
@Suite struct PeerTrustTests {
    init() throws { try Nodes.register() }

    private static let picture = StreamKey(user: "bob", kind: .camera)
    private static let sound = StreamKey(user: "bob", kind: .microphone)
    private static let pictureCaps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
    private static let interlacedCaps = "\(pictureCaps),interlace-mode=interleaved"
    private static let soundCaps = "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1"

    /// Alice, who sees and hears bob of the other process, and her own picture.
    private final class Alice: Sendable {
        private final class Counts: Sendable {
            let pictures = Atomic<Int>(0)
            let blocks = Atomic<Int>(0)
        }

        let graph: Graph
        let warnings = Log<String>()
        private let counts = Counts()
        private let reader: Task<Void, Never>

        init(room: String) throws {
            graph = try Graph(
                """
                mediasession name=call room="\(room)" user=alice
                call.video_bob ! rawdatapipe name=pictures
                call.audio_bob ! speaker.user_bob  virtualspeaker name=speaker
                """)
            let events = graph.events
            reader = Task { [warnings] in
                for await event in events { if case .warning(let problem) = event { warnings.add("\(problem)") } }
            }
            try graph.rawDataPipe("pictures").receive { [counts] _ in counts.pictures.add(1, ordering: .relaxed) }
            try graph.virtualSpeaker("speaker").receive { [counts] _, stream in
                if case .oneWay = stream { counts.blocks.add(1, ordering: .relaxed) }
            }
        }

        /// All that she was told, once the graph has stopped.
        func allWarnings() async -> [String] {
            await reader.value
            return warnings.all
        }

        /// What she still gets of a stream that is as it should be.
        func sees(_ other: OtherProcess) async throws -> Bool {
            let before = counts.pictures.load(ordering: .relaxed)
            other.begin(picture, pictureCaps)
            return try await eventually {
                other.send(picture, length: 384)
                return counts.pictures.load(ordering: .relaxed) > before
            }
        }

        func hears(_ other: OtherProcess) async throws -> Bool {
            let before = counts.blocks.load(ordering: .relaxed)
            other.begin(sound, soundCaps)
            return try await eventually {
                other.send(sound, length: 960)
                return counts.blocks.load(ordering: .relaxed) > before
            }
        }
    }

    struct Lie: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// What she is told of it.
        let warning: String
        let tell: @Sendable (OtherProcess) -> Void

        init(_ name: String, _ warning: String, _ tell: @escaping @Sendable (OtherProcess) -> Void) {
            (testDescription, self.warning, self.tell) = (name, warning, tell)
        }
    }

    private static func frames(_ edit: @escaping @Sendable (inout SharedBuffer) -> Void)
        -> @Sendable (OtherProcess) -> Void
    {
        { other in
            other.begin(picture, pictureCaps)
            for _ in 0..<5 { other.send(picture, length: 384, edit) }
        }
    }

    private static func blocks(
        _ caps: String, length: Int, _ edit: @escaping @Sendable (inout SharedBuffer) -> Void = { _ in }
    ) -> @Sendable (OtherProcess) -> Void {
        { other in
            other.begin(sound, caps)
            for _ in 0..<5 { other.send(sound, length: length, edit) }
        }
    }

    private static let lies = [
        Lie("a latency of years", "latency of 4611686018 s exceeds") { other in
            other.begin(picture, pictureCaps)
            other.say(.latency(picture, 1 << 62))
            other.send(picture, length: 384)
        },
        Lie("no latency", "latency of") { other in
            other.begin(picture, pictureCaps)
            other.say(.latency(picture, .max))
            other.send(picture, length: 384)
        },
        Lie("a timestamp far ahead", "ahead of the clock", frames { $0.moment = monotonicNanoseconds() + (1 << 50) }),
        Lie("the last timestamp", "ahead of the clock", frames { $0.moment = .max }),
        Lie("a decoding timestamp far ahead", "ahead of the clock", frames { $0.decodingMoment = .max - 1 }),
        Lie("an endless duration", "duration of", frames { $0.duration = .max }),
        Lie("no capture time", "capture time is after", frames { $0.captureTime = .max }),
        Lie(
            "planes of another size", "differs from the stream's caps",
            frames { $0.layout = VideoLayout(words: [2, 8 << 32 | 8, 0, 8, 64, 4, 80, 4]) }),
        Lie(
            "planes of another format", "differs from the stream's caps",
            frames { $0.layout = VideoLayout(words: [23, 16 << 32 | 16, 0, 16, 256, 16]) }),
        Lie("less than a frame", "its format needs 384") { other in
            other.begin(picture, pictureCaps)
            other.send(picture, length: 10)
        },
        Lie(
            "an unknown format of pictures", "doesn't know its format",
            blocks("video/x-raw,format=NONE,width=16", length: 9)),
        Lie("interlaced pictures", "interlaced video (interleaved)") { other in
            other.begin(picture, interlacedCaps)
            other.send(picture, length: 384)
        },
        Lie(
            "a sample a second", "sample rate of 1 Hz",
            blocks("audio/x-raw,format=S16LE,layout=interleaved,rate=1,channels=1", length: 1 << 20)),
        Lie(
            "channels apart", "aren't interleaved",
            blocks("audio/x-raw,format=S16LE,layout=non-interleaved,rate=48000,channels=2", length: 960)),
        Lie(
            "channels without places", "8 channels have no positions",
            blocks(
                "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=8,channel-mask=(bitmask)0x0",
                length: 960)),
        Lie(
            "an unknown format of sound", "doesn't know its format",
            blocks("audio/x-raw,format=S99XE,layout=interleaved,rate=48000,channels=1", length: 960)),
        Lie("half a sample", "in the middle of a sample", blocks(soundCaps, length: 961)),
        Lie(
            "planes of sound", "a block of sound carries",
            blocks(soundCaps, length: 960) {
                $0.layout = VideoLayout(words: [2, 16 << 32 | 16, 0, 16, 256, 8, 320, 8])
            }),
    ]

    @Test(
        "SE-4 an invalid stream from another process causes one warning that names its user, and other streams continue",
        arguments: lies)
    func lie(lie: Lie) async throws {
        let room = "\(#function) \(lie.testDescription)"
        let other = try OtherProcess(room: room)
        let alice = try Alice(room: room)
        try await alice.graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(Self.picture))
        #expect(try await other.isRead(Self.sound))
        lie.tell(other)
        #expect(try await alice.sees(other))
        #expect(try await alice.hears(other))
        await alice.graph.stop()
        other.leave()
        let told = await alice.allWarnings().filter { $0.contains("bob") }
        #expect(told.count == 1 && told[0].contains(lie.warning), "\(told)")
    }

    @Test("SE-4 a stream that is announced but sends nothing is stalled until its first frame")
    func silent() async throws {
        let room = "\(#function)"
        let other = try OtherProcess(room: room)
        let graph = try Graph("mediasession name=call room=\(room) user=alice  call.video_bob ! fakesink async=false")
        let told = Log<Bool>()
        let events = graph.events
        let reader = Task {
            for await event in events {
                if case .userStalled(_, "bob", "video", let isStalled) = event { told.add(isStalled) }
            }
        }
        try await graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(Self.picture))
        other.say(.stream(Self.picture, true))
        #expect(try await eventually { told.all == [true] })
        other.begin(Self.picture, Self.pictureCaps)
        #expect(
            try await eventually {
                other.send(Self.picture, length: 384)
                return told.all == [true, false]
            }, "\(told.all)")
        await graph.stop()
        await reader.value
        other.leave()
    }

    private struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
        mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &self)! }
        mutating func number() -> UInt64 {
            pick([0, 1, 33_333_333, monotonicNanoseconds(), monotonicNanoseconds() + 1_000_000, next(), 1 << 62, .max])
        }
        mutating func layout() -> VideoLayout? {
            let words = (0..<Int(next() % 5) * 2 + 2).map { _ in
                pick([0, 2, 4, 8, 16, 16 << 32 | 16, 256, number()] as [UInt64])
            }
            return VideoLayout(words: words)
        }
    }

    /// A thousand messages; `make soak` sends a hundred thousand.
    private static let messageCount =
        ProcessInfo.processInfo.environment["MEDIAGRAPH_SOAK_SECONDS"] == nil ? 1000 : 100_000

    @Test("SE-4 whatever another process says, a reader's graph goes on, and shows what makes sense afterwards")
    func fuzz() async throws {
        let seed =
            ProcessInfo.processInfo.environment["MEDIAGRAPH_FUZZ_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = Random(state: seed)
        let room = "\(#function) \(seed)"
        let other = try OtherProcess(room: room)
        let alice = try Alice(room: room)
        try await alice.graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(Self.picture))
        #expect(try await other.isRead(Self.sound))
        let caps = [
            Self.pictureCaps, Self.soundCaps, Self.interlacedCaps, "video/x-raw,format=NV12,width=1,height=1",
            "video/x-vp8,width=16",
            "video/x-raw,format=I420,width=32767,height=32767", "audio/x-raw,format=F64LE,rate=1,channels=64",
            "audio/x-raw,format=S16LE,layout=non-interleaved,rate=48000,channels=2", "audio/x-opus,channels=2",
            "audio/x-raw,format=U8,layout=interleaved,rate=2147483647,channels=1", "text/x-raw", "video/x-raw",
        ]
        for _ in 0..<Self.messageCount {
            let key = random.pick([Self.picture, Self.picture, Self.sound, StreamKey(user: "bob", kind: .share)])
            switch random.next() % 10 {
            case 0: other.begin(key, random.pick(caps))
            case 1: if let caps = Caps(random.pick(caps)).flatMap(SharedCaps.init) { other.say(.caps(key, caps)) }
            case 2: other.say(.latency(key, random.number()))
            case 3: other.say(.status(key, Bool.random(using: &random)))
            case 4: other.say(.stream(key, Bool.random(using: &random)))
            case 5:
                other.begin(
                    key, key.kind.isSound ? Self.soundCaps : Self.pictureCaps)
            default:
                let layout = random.next() % 4 == 0 ? random.layout().flatMap { $0.fits(in: 384) ? $0 : nil } : nil
                let length = random.pick([0, 1, 2, 384, 384, 960, 1 << 20])
                other.send(key, length: layout == nil ? length : 384) { shared in
                    if random.next() % 3 == 0 { shared.moment = random.pick([nil, random.number()]) }
                    if random.next() % 4 == 0 { shared.decodingMoment = random.number() }
                    if random.next() % 4 == 0 { shared.duration = random.number() }
                    if random.next() % 4 == 0 { shared.captureTime = random.number() }
                    if random.next() % 4 == 0 { shared.rotation = Int32(truncatingIfNeeded: random.next()) }
                    if random.next() % 4 == 0 { shared.flip = Int32(truncatingIfNeeded: random.next()) }
                    if random.next() % 4 == 0 { shared.flags = UInt32(truncatingIfNeeded: random.next()) }
                    shared.layout = layout
                }
            }
        }
        #expect(try await alice.sees(other), "seed \(seed)")
        #expect(try await alice.hears(other), "seed \(seed)")
        await alice.graph.stop()
        other.leave()
    }

    // MARK: Who is there

    /// A program of another user of this machine, which only root can start.
    private static func asNobody(_ python: String, _ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments =
            ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", python] + arguments
        // What it holds of the tests' own output would outlive them with it.
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        return process
    }

    private static let isRoot = getuid() == 0

    @Test(
        "SE-3 nobody connects to a socket that another user of the machine has put in the room's folder",
        .enabled(if: isRoot, "only root can be two users"))
    func impostor() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let place = folder.file("1.socket")
        let impostor = try Self.asNobody(
            """
            import socket, sys, time
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(); time.sleep(600)
            """, [place])
        defer {
            kill(impostor.processIdentifier, SIGKILL)
            impostor.waitUntilExit()
        }
        var message = ""
        #expect(
            waitUntil {
                do throws(LocalSocket.Failure) {
                    _ = try LocalSocket.connected(to: place)
                    message = "connected"
                } catch { message = error.description }
                return message.contains("65534") || message == "connected"
            })
        #expect(message == "the socket belongs to another user of this machine (uid 65534; this process has uid 0)")
    }

    @Test(
        "SE-3 another user of the machine who finds a room's socket is turned away",
        .enabled(if: isRoot, "only root can be two users"))
    func stranger() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let place = folder.file("1.socket")
        let listener = try LocalSocket.listening(at: place)
        chmod(place, 0o777)
        let stranger = try Self.asNobody(
            """
            import socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); s.recv(1)
            """, [place])
        guard case .refused(let user) = listener.accept(timeout: 60_000_000) else {
            kill(stranger.processIdentifier, SIGKILL)
            Issue.record("taken in")
            return
        }
        #expect(user == 65534)
        stranger.waitUntilExit()
    }

    // MARK: The room's folder

    @Test("SE-3 programs meet, and keep their names, though the room's folder is removed while they run")
    func removedFolder() throws {
        let room = #function
        let (first, second, third) = (RoomLinkTests.Other(), RoomLinkTests.Other(), RoomLinkTests.Other())
        let (early, late) = try RoomLinkTests.links(room, first, second)
        try FileManager.default.removeItem(atPath: RoomDirectory(room: room).path)
        let new = try RoomLink(room: room, delegate: third)
        new.start()
        #expect(waitUntil { first.warnings.all.count == 1 && second.warnings.all.count == 1 })
        #expect(waitUntil { first.shareLosses.all.count == 1 })
        #expect(
            first.warnings.all[0].hasSuffix("was removed while in use; it has been recreated"))
        var error: MediaGraphError?
        do throws(MediaGraphError) { _ = try new.join("bob") } catch let thrown { error = thrown }
        #expect(error?.code == .alreadyInUse)
        _ = try new.join("carol")
        #expect(waitUntil { third.users.all.sorted() == ["alice", "bob"] }, "\(third.users.all)")
        #expect(
            waitUntil { first.users.all == ["alice", "carol"] && second.users.all == ["bob", "carol"] },
            "\(first.users.all) \(second.users.all)")
        for link in [new, late, early] { link.stop() }
        #expect(RoomDirectory(room: room).endpoints == [])
    }

    @Test("SE-3 once others may write to the room's folder, no new connections are made, and one warning says so")
    func openFolder() throws {
        let room = #function
        let first = RoomLinkTests.Other()
        let directory = RoomDirectory(room: room)
        let other = try directory.enter()
        let link = try RoomLink(room: room, delegate: first)
        chmod(directory.path, 0o777)
        link.start()
        #expect(waitUntil { !first.warnings.all.isEmpty })
        #expect(first.warnings.all.count == 1 && first.warnings.all[0].contains("777"), "\(first.warnings.all)")
        chmod(directory.path, 0o700)
        guard case .connected = other.socket.accept(timeout: 60_000_000) else {
            Issue.record("never connected")
            return
        }
        link.stop()
        other.socket.close()
        directory.leave(other.endpoint)
    }

    @Test("SE-3 the error for a lock held by a stopped program names its process")
    func heldLock() throws {
        let folder = try TemporaryFolder()
        let base = folder.file("rooms")
        let directory = RoomDirectory(room: "r", base: base, lockTimeout: 0)
        let place = try directory.enter()
        let lock = try #require(try FileLock("\(base)/lock"))
        lock.write("1234")
        do throws(MediaGraphError) {
            _ = try directory.enter()
            Issue.record("entered")
        } catch { #expect(error.code == .timeOut && "\(error)".contains("kill -CONT 1234"), "\(error)") }
        withExtendedLifetime((place, lock)) {}
    }

    // MARK: Formats

    @Test(
        "SE-4 sound that nobody can convert is left out with one warning, and the graph's other sound goes on",
        arguments: ["virtualspeaker name=ear", "audioconvert ! audio/x-raw,channels=2 ! appsink name=ear sync=false"])
    func unconvertible(reader: String) async throws {
        let room = "\(#function) \(reader.prefix(8))"
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.audio_bob ! \(reader)
            call.audio_carol ! virtualspeaker name=other
            mediasession name=bob room="\(room)"
            audiotestsrc is-live=true ! audio/x-raw,channels=8,channel-mask=(bitmask)0x0,rate=48000 ! bob.mic
            mediasession name=carol room="\(room)"  audiotestsrc is-live=true ! carol.mic
            """)
        let warnings = Log<String>()
        let events = graph.events
        let listening = Task {
            for await event in events { if case .warning(let problem) = event { warnings.add("\(problem)") } }
        }
        let blocks = Atomic<Int>(0)
        try graph.virtualSpeaker("other").receive { _, stream in
            if case .oneWay = stream { blocks.add(1, ordering: .relaxed) }
        }
        try await graph.start()
        #expect(try await eventually { !warnings.all.isEmpty })
        let before = blocks.load(ordering: .relaxed)
        #expect(try await eventually { blocks.load(ordering: .relaxed) > before + 20 })
        let told = warnings.all.filter { $0.contains("8 channels have no positions") && $0.contains("bob") }
        #expect(told.count == 1, "\(warnings.all)")
        await graph.stop()
        await listening.value
    }

    @Test("SE-4 sound that its reader takes as it is arrives, though nobody could mix it")
    func unpositioned() async throws {
        let folder = try TemporaryFolder()
        let graph = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice
            call.audio_bob ! wavenc ! filesink location="\(folder.file("a.wav"))"
            mediasession name=bob room="\(#function)"
            audiotestsrc is-live=true ! audio/x-raw,channels=8,channel-mask=(bitmask)0x0,rate=48000 ! bob.mic
            """)
        try await graph.start()
        #expect(waitUntil { (try? folder.read("a.wav").count) ?? 0 > 100_000 })
        await graph.stop()
    }

    @Test("SE-9 a user who shares has the room's share again after the folder was removed")
    func removedShare() throws {
        let room = #function
        let directory = RoomDirectory(room: room)
        let place = try directory.enter()
        let floor = ShareFloor()
        func claim(_ user: String) throws(MediaGraphError) -> ShareDecision { try directory.claimShare(user) }
        try floor.take(StreamKey(user: "bob", kind: .share)) { () throws(MediaGraphError) in try claim("bob") }
        try FileManager.default.removeItem(atPath: directory.path)
        try floor.renew { (user) throws(MediaGraphError) in try claim(user) }
        guard case .sharedBy(let user) = try directory.claimShare("alice") else {
            Issue.record("two share at once")
            return
        }
        #expect(user == "bob")
        withExtendedLifetime(floor) {}
        place.socket.close()
        directory.leave(place.endpoint)
    }
}
