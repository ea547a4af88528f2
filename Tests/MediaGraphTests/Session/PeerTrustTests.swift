import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests that a room's process checks all data from other processes, which may be faulty or another user's.
@Suite struct PeerTrustTests {
    init() throws { try Nodes.register() }

    private static let video = StreamKey(user: "bob", kind: .camera)
    private static let audio = StreamKey(user: "bob", kind: .microphone)
    private static let videoCaps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
    private static let interlacedCaps = "\(videoCaps),interlace-mode=interleaved"
    private static let audioCaps = "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1"

    /// Alice's graph, which reads bob's video and audio from the other process.
    private final class Alice: Sendable {
        private final class Counts: Sendable {
            let frames = Atomic<Int>(0)
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
                call.video_bob ! rawdatapipe name=frames
                call.audio_bob ! speaker.user_bob  virtualspeaker name=speaker
                """)
            let events = graph.events
            reader = Task { [warnings] in
                for await event in events { if case .warning(let problem) = event { warnings.add("\(problem)") } }
            }
            try graph.rawDataPipe("frames").receive { [counts] _ in counts.frames.add(1, ordering: .relaxed) }
            try graph.virtualSpeaker("speaker").receive { [counts] _, stream in
                if case .oneWay = stream { counts.blocks.add(1, ordering: .relaxed) }
            }
        }

        /// All warnings. Call it after the graph has stopped.
        func allWarnings() async -> [String] {
            await reader.value
            return warnings.all
        }

        /// Whether valid video from the other process still arrives.
        func sees(_ other: OtherProcess) async throws -> Bool {
            let before = counts.frames.load(ordering: .relaxed)
            other.begin(video, videoCaps)
            return try await eventually {
                other.send(video, length: 384)
                return counts.frames.load(ordering: .relaxed) > before
            }
        }

        /// Whether valid audio from the other process still arrives.
        func hears(_ other: OtherProcess) async throws -> Bool {
            let before = counts.blocks.load(ordering: .relaxed)
            other.begin(audio, audioCaps)
            return try await eventually {
                other.send(audio, length: 960)
                return counts.blocks.load(ordering: .relaxed) > before
            }
        }
    }

    /// Invalid data that the other process sends.
    struct InvalidStream: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// A part of the warning that alice gets.
        let warning: String
        let send: @Sendable (OtherProcess) -> Void

        init(_ name: String, _ warning: String, _ send: @escaping @Sendable (OtherProcess) -> Void) {
            (testDescription, self.warning, self.send) = (name, warning, send)
        }
    }

    private static func frames(_ edit: @escaping @Sendable (inout SharedBuffer) -> Void)
        -> @Sendable (OtherProcess) -> Void
    {
        { other in
            other.begin(video, videoCaps)
            for _ in 0..<5 { other.send(video, length: 384, edit) }
        }
    }

    private static func blocks(
        _ caps: String, length: Int, _ edit: @escaping @Sendable (inout SharedBuffer) -> Void = { _ in }
    ) -> @Sendable (OtherProcess) -> Void {
        { other in
            other.begin(audio, caps)
            for _ in 0..<5 { other.send(audio, length: length, edit) }
        }
    }

    private static let invalidStreams = [
        InvalidStream("a latency of years", "latency of 4611686018 s exceeds") { other in
            other.begin(video, videoCaps)
            other.send(.latency(video, 1 << 62))
            other.send(video, length: 384)
        },
        InvalidStream("no latency", "latency of") { other in
            other.begin(video, videoCaps)
            other.send(.latency(video, .max))
            other.send(video, length: 384)
        },
        InvalidStream(
            "a timestamp far ahead", "ahead of the clock", frames { $0.moment = monotonicNanoseconds() + (1 << 50) }),
        InvalidStream("the last timestamp", "ahead of the clock", frames { $0.moment = .max }),
        InvalidStream("a decoding timestamp far ahead", "ahead of the clock", frames { $0.decodingMoment = .max - 1 }),
        InvalidStream("an endless duration", "duration of", frames { $0.duration = .max }),
        InvalidStream("no capture time", "capture time is after", frames { $0.captureTime = .max }),
        InvalidStream(
            "planes of another size", "differs from the stream's caps",
            frames { $0.layout = VideoLayout(words: [2, 8 << 32 | 8, 0, 8, 64, 4, 80, 4]) }),
        InvalidStream(
            "planes of another format", "differs from the stream's caps",
            frames { $0.layout = VideoLayout(words: [23, 16 << 32 | 16, 0, 16, 256, 16]) }),
        InvalidStream("less than a frame", "its format needs 384") { other in
            other.begin(video, videoCaps)
            other.send(video, length: 10)
        },
        InvalidStream(
            "an unknown video format", "doesn't know its format",
            blocks("video/x-raw,format=NONE,width=16", length: 9)),
        InvalidStream("interlaced video", "interlaced video (interleaved)") { other in
            other.begin(video, interlacedCaps)
            other.send(video, length: 384)
        },
        InvalidStream(
            "a sample a second", "sample rate of 1 Hz",
            blocks("audio/x-raw,format=S16LE,layout=interleaved,rate=1,channels=1", length: 1 << 20)),
        InvalidStream(
            "channels apart", "aren't interleaved",
            blocks("audio/x-raw,format=S16LE,layout=non-interleaved,rate=48000,channels=2", length: 960)),
        InvalidStream(
            "channels without places", "8 channels have no positions",
            blocks(
                "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=8,channel-mask=(bitmask)0x0",
                length: 960)),
        InvalidStream(
            "an unknown audio format", "doesn't know its format",
            blocks("audio/x-raw,format=S99XE,layout=interleaved,rate=48000,channels=1", length: 960)),
        InvalidStream("half a sample", "in the middle of a sample", blocks(audioCaps, length: 961)),
        InvalidStream(
            "planes of audio", "a block of sound carries",
            blocks(audioCaps, length: 960) {
                $0.layout = VideoLayout(words: [2, 16 << 32 | 16, 0, 16, 256, 8, 320, 8])
            }),
    ]

    @Test(
        "SE-4 an invalid stream from another process causes one warning, and other streams go on",
        arguments: invalidStreams)
    func invalidStream(stream: InvalidStream) async throws {
        let room = "\(#function) \(stream.testDescription)"
        let other = try OtherProcess(room: room)
        let alice = try Alice(room: room)
        try await alice.graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(Self.video))
        #expect(try await other.isRead(Self.audio))
        stream.send(other)
        #expect(try await alice.sees(other))
        #expect(try await alice.hears(other))
        await alice.graph.stop()
        other.leave()
        let warnings = await alice.allWarnings().filter { $0.contains("bob") }
        #expect(warnings.count == 1 && warnings[0].contains(stream.warning), "\(warnings)")
    }

    @Test("SE-4 a peer's timestamps are compared with the clock of all processes, not with the room's")
    func timestampsAhead() async throws {
        let (roomTime, time) = (VirtualClock(), VirtualClock())
        roomTime.advance(by: .seconds(3600))
        let process = try OtherProcess(room: #function)
        let room = OtherRoom()
        let directory = RoomDirectory(room: #function, clock: TimerClock(roomTime))
        let link = try RoomLink.started(in: directory, room, timestampClock: TimerClock(time))
        #expect(try await process.greet(["bob"]))
        #expect(try await eventually { room.users.all == ["bob"] })
        let reader = StreamReader(bound: 8)
        reader.play()
        room.bobs.add(reader)
        link.setDemand(room.bobs.demand.map { StreamDemand(resolution: $0) }, for: Self.video)
        #expect(try await process.isRead(Self.video))
        process.begin(Self.video, Self.videoCaps)
        let furthest = time.now + ReceivedStream.furthestAhead
        for moment in [furthest, furthest + 1, furthest] {
            process.send(Self.video, length: 384) { $0.moment = moment }
        }
        let received = Log<String>()
        _ = try await eventually {
            switch reader.next(timeoutNanoseconds: 0) {
            case .buffer(let frame):
                _ = frame.buffer.take()
                received.add("frame")
            case .signal(.refused(let problem)): received.add(problem)
            default: break
            }
            return received.all.count == 3
        }
        #expect(received.all == ["frame", "a timestamp is 5 s ahead of the clock", "frame"])
        link.stop()
        process.leave()
    }

    @Test("SE-4 an announced stream that sends nothing is reported as stalled until its first frame")
    func silent() async throws {
        let (room, time) = ("\(#function)", VirtualClock())
        RoomTransportKind.registerProcesses("room-silent", clock: time)
        let other = try OtherProcess(room: room)
        let graph = try Graph(
            """
            mediasession name=call transport=room-silent room=\(room) user=alice
            call.video_bob ! fakesink async=false
            """)
        let reports = Log<Bool>()
        let events = graph.events
        let reader = Task {
            for await event in events {
                if case .userStalled(_, "bob", "video", let isStalled) = event { reports.add(isStalled) }
            }
        }
        try await graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(Self.video))
        other.send(.stream(Self.video, .status(isOn: true)))
        #expect(
            try await eventually {
                time.advance(by: .milliseconds(100))
                return reports.all == [true]
            })
        other.begin(Self.video, Self.videoCaps)
        #expect(
            try await eventually {
                other.send(Self.video, length: 384)
                return reports.all == [true, false]
            }, "\(reports.all)")
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

    /// The number of fuzzed messages. `make soak` sends a hundred thousand.
    private static let messageCount =
        Soak.count(1000, soak: 100_000)

    @Test("SE-4 a reader's graph survives random messages from another process, and valid data still arrives")
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
        #expect(try await other.isRead(Self.video))
        #expect(try await other.isRead(Self.audio))
        let caps = [
            Self.videoCaps, Self.audioCaps, Self.interlacedCaps, "video/x-raw,format=NV12,width=1,height=1",
            "video/x-vp8,width=16",
            "video/x-raw,format=I420,width=32767,height=32767", "audio/x-raw,format=F64LE,rate=1,channels=64",
            "audio/x-raw,format=S16LE,layout=non-interleaved,rate=48000,channels=2", "audio/x-opus,channels=2",
            "audio/x-raw,format=U8,layout=interleaved,rate=2147483647,channels=1", "text/x-raw", "video/x-raw",
        ]
        for _ in 0..<Self.messageCount {
            let key = random.pick([Self.video, Self.video, Self.audio, StreamKey(user: "bob", kind: .share)])
            switch random.next() % 10 {
            case 0: other.begin(key, random.pick(caps))
            case 1: if let caps = Caps(random.pick(caps)).flatMap(SharedCaps.init) { other.send(.caps(key, caps)) }
            case 2: other.send(.latency(key, random.number()))
            case 3: other.send(.status(key, Bool.random(using: &random)))
            case 4: other.send(.stream(key, .status(isOn: Bool.random(using: &random))))
            case 5:
                other.begin(
                    key, key.kind.isSound ? Self.audioCaps : Self.videoCaps)
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
}
