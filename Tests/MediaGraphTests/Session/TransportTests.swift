import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// What a session does over a transport that it knows only as a `RoomTransport`.
@Suite struct TransportTests {
    init() throws { try Nodes.register() }

    private struct Viewer: VideoConsumer {
        let log: Log<String>
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) {
            log.add("\(frame.height) lines of \(frame.streamID ?? "nobody")")
        }
    }

    private static func send(_ source: RecordingSource) throws {
        try sendNow(
            source.sender, patternedFrame(width: 64, height: 48),
            FrameDescription(width: 64, height: 48, timestamp: source.sender.runningTime))
    }

    /// What is reported to a graph's user, as it comes.
    private static func report(_ graph: Graph) -> Log<String> {
        let log = Log<String>()
        let events = graph.events
        Task {
            for await event in events {
                switch event {
                case .userJoined(_, let user): log.add("\(user) joined")
                case .userLeft(_, let user): log.add("\(user) left")
                case .userStream(_, let user, let kind, let isOn): log.add("\(user)'s \(kind) \(isOn ? "on" : "off")")
                case .shareRefused(_, _, _, let reason): log.add(reason)
                case .warning(let failure): log.add(failure.error.message)
                default: break
                }
            }
        }
        return log
    }

    @Test("NW-1 a transport that the session doesn't know carries users, streams and what readers want")
    func echo() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("echo", adding: made)
        let graph = try Graph(
            """
            videosource name=camera ! call.camera
            mediasession name=call transport=echo room=cave user=alice
            call.video_echo ! rawdatapipe name=pipe resolution=180p
            """)
        let (source, seen, reported) = (RecordingSource(), Log<String>(), Self.report(graph))
        try graph.videoSource("camera").attach(source)
        try graph.rawDataPipe("pipe").attach(Viewer(log: seen))
        try await graph.start()
        let transport = try #require(made.all.first)
        #expect(waitUntil { (try? Self.send(source)) != nil && seen.all.count > 3 })
        #expect(seen.all.prefix(2) == ["on", "48 lines of cave/echo/video"])
        #expect(waitUntil { reported.all.contains("echo's video on") })
        #expect(reported.all.contains("echo joined"))
        transport.vanish()
        #expect(waitUntil { seen.all.last == "off" })
        #expect(waitUntil { reported.all.contains("echo left") })
        #expect(reported.all.contains("echo's video off"))
        await graph.stop()
        #expect(made.all.count == 1)
        let calls = transport.calls.all
        #expect(calls.prefix(2) == ["start", "join alice"])
        #expect(calls.contains("alice camera on") && calls.contains("demand 180"), "\(calls)")
        #expect(calls.suffix(4) == ["alice camera off", "demand none", "leave alice", "stop"], "\(calls)")
    }

    @Test("NW-1 SH-1 a transport decides whether somebody elsewhere shares")
    func share() async throws {
        EchoTransport.register("echo-share", adding: Log())
        let graph = try Graph(
            """
            videotestsrc is-live=true ! call.share
            mediasession name=call transport=echo-share user=alice
            """)
        let reported = Self.report(graph)
        try await graph.start()
        #expect(waitUntil { reported.all.contains("user \"echo\" is already sharing") }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 a name that a user elsewhere has is refused; the transport goes with the last user of the room")
    func name() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("echo-name", adding: made)
        let graph = try Graph("mediasession transport=echo-name user=echo")
        await #expect { try await graph.start() } throws: {
            "\($0)".contains("somebody in room \"the cave\" is already called \"echo\"")
        }
        #expect(made.all.map(\.calls.all) == [["start", "stop"]])
    }

    @Test("NW-1 rooms of one name on two transports are two rooms")
    func rooms() throws {
        EchoTransport.register("echo-rooms", adding: Log())
        let kind = try #require(RoomTransportKind.named("echo-rooms"))
        let room = Room.named(#function, over: kind)
        #expect(Room.named(#function, over: kind) === room)
        #expect(Room.named(#function) !== room)
        let text = "mediasession name=a user=bob room=r mediasession name=b user=bob room=r transport="
        #expect(try problems(in: text + "echo-rooms") == [])
        #expect(try problems(in: text + "room").count == 1)
    }

    @Test("NW-1 where a transport can't be made the users of the process meet, and hear why nobody else does")
    func unreachable() async throws {
        RoomTransportKind.register(
            RoomTransportKind(name: "broken", remedy: "mend it") { (room, _) throws(MediaGraphError) in
                throw .notPermitted(.init("the way to \(room)", actual: "is blocked"))
            })
        let graph = try Graph(
            """
            mediasession name=a transport=broken user=alice room=x
            mediasession name=b transport=broken user=bob room=x
            """)
        let reported = Self.report(graph)
        try await graph.start()
        #expect(waitUntil { reported.all.contains("bob joined") && reported.all.contains("alice joined") })
        #expect(
            waitUntil {
                reported.all.contains {
                    $0.contains("room \"x\" can't be reached by other programs: the way to x: is blocked; mend it")
                }
            }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 a transport that there isn't is refused, with those that there are")
    func unknown() throws {
        let found = try problems(in: "mediasession name=a transport=telepathy")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("31: there is no transport \"telepathy\"; use ") == true, "\(found)")
        #expect(found.first?.contains("room") == true)
    }
}
