import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests a session over a transport that it only knows as a `RoomTransport`.
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

    /// Logs the events about users, streams and shares that a graph reports.
    private static func report(_ graph: Graph) -> Log<String> {
        let log = Log<String>()
        let events = graph.events
        Task {
            for await event in events {
                switch event {
                case .userJoined(_, let user, _): log.add("\(user) joined")
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

    /// Starts a graph in which alice shares. Returns it with a log of its events.
    private static func sharing(over transport: String) async throws -> (graph: Graph, reported: Log<String>) {
        let graph = try Graph(
            """
            videotestsrc is-live=true ! call.share
            mediasession name=call transport=\(transport) user=alice
            """)
        let reported = report(graph)
        try await graph.start()
        return (graph, reported)
    }

    @Test("NW-1 a session exchanges users, streams and demand with a transport that it doesn't know")
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
        #expect(try await eventually { reported.all.contains("echo's video on") })
        #expect(reported.all.contains("echo joined"))
        transport.vanish()
        #expect(waitUntil { seen.all.last == "off" })
        #expect(try await eventually { reported.all.contains("echo left") })
        #expect(reported.all.contains("echo's video off"))
        // The subscription outlasts the user.
        seen.removeAll()
        transport.appear()
        #expect(waitUntil { (try? Self.send(source)) != nil && seen.all.count > 3 })
        #expect(seen.all.first == "on")
        await graph.stop()
        #expect(made.all.count == 1)
        let calls = transport.calls.all
        #expect(calls.prefix(2) == ["start", "join alice"])
        #expect(calls.contains("alice camera on") && calls.contains("demand 180"), "\(calls)")
        #expect(calls.suffix(4) == ["alice camera off", "demand none", "leave alice", "stop"], "\(calls)")
        // Streams of local users don't concern the transport.
        #expect(!calls.contains { $0.hasPrefix("demand for") }, "\(calls)")
    }

    @Test("NW-1 SH-1 a share waits while the transport reports that a remote user shares")
    func remoteShare() async throws {
        EchoTransport.register("echo-shares")
        let (graph, reported) = try await Self.sharing(over: "echo-shares")
        #expect(try await eventually { reported.all.contains("user \"echo\" is already sharing") }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 SH-1 a transport's grant lasts as long as the share, and a lost one is requested again")
    func grantedShare() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("echo-listens", grantsShares: true, adding: made)
        let (graph, reported) = try await Self.sharing(over: "echo-listens")
        #expect(try await eventually { reported.all.contains("alice's share on") }, "\(reported.all)")
        let transport = try #require(made.all.first)
        #expect(transport.shareCount == 1)
        transport.loseGrant()
        #expect(transport.shareCount == 1)
        #expect(transport.calls.all.count { $0 == "share of alice" } == 2)
        await graph.stop()
        #expect(transport.shareCount == 0)
    }

    @Test("NW-1 a transport may report the end of a remote share while it decides about a local one")
    func shareWhileDeciding() throws {
        let floor = ShareFloor()
        _ = try floor.take(StreamKey(user: "alice", kind: .share)) {
            floor.invalidateRefusal()
            return nil
        }
        var requests = 0
        func refused() -> Bool {
            do throws(MediaGraphError) {
                _ = try floor.take(StreamKey(user: "bob", kind: .share)) { () throws(MediaGraphError) in
                    requests += 1
                    // This answer doesn't consider the share that ended meanwhile.
                    floor.invalidateRefusal()
                    return .sharedBy("echo")
                }
                return false
            } catch { return "\(error)" == "user \"echo\" is already sharing" }
        }
        floor.releaseFloor(StreamKey(user: "alice", kind: .share))
        #expect(refused() && refused())
        #expect(requests == 2)
    }

    @Test("NW-1 a name that a remote user has is refused, and the transport stops with the last user")
    func name() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("echo-name", adding: made)
        let graph = try Graph("mediasession transport=echo-name user=echo")
        await #expect { try await graph.start() } throws: {
            "\($0)".contains("somebody in room \"the cave\" is already called \"echo\"")
        }
        #expect(made.all.map(\.calls.all) == [["start", "stop"]])
    }

    @Test("NW-1 rooms with the same name on different transports are different rooms")
    func rooms() throws {
        EchoTransport.register("echo-rooms")
        let kind = try #require(RoomTransportKind.named("echo-rooms"))
        let room = Room.named(#function, over: kind)
        #expect(Room.named(#function, over: kind) === room)
        #expect(Room.named(#function, over: .roomLink) !== room)
        let text = "mediasession name=a user=bob room=r mediasession name=b user=bob room=r transport="
        #expect(try problems(in: text + "echo-rooms") == [])
        #expect(try problems(in: text + "room").count == 1)
    }

    @Test("NW-1 if a transport can't be made, the process's own users still meet, with a warning")
    func unreachable() async throws {
        RoomTransportKind.register(
            RoomTransportKind(name: "broken", summary: "nobody", remedy: "mend it") {
                (room, _, _) throws(MediaGraphError) in
                throw .notPermitted(.init("the way to \(room)", actual: "is blocked"))
            })
        let graph = try Graph(
            """
            mediasession name=a transport=broken user=alice room=x
            mediasession name=b transport=broken user=bob room=x
            """)
        let reported = Self.report(graph)
        try await graph.start()
        #expect(try await eventually { reported.all.contains("bob joined") && reported.all.contains("alice joined") })
        let warning = "room \"x\" is limited to this program: the way to x is blocked; mend it"
        #expect(try await eventually { reported.all.count { $0.hasSuffix(warning) } == 2 }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 an unknown transport is an error that lists the existing ones")
    func unknown() throws {
        let found = try problems(in: "mediasession name=a transport=telepathy")
        #expect(found.count == 1)
        let parts = found.first?.components(separatedBy: "available transports: ") ?? []
        #expect(parts.first == "31: there is no transport \"telepathy\"; ", "\(found)")
        #expect(parts.last?.components(separatedBy: ", ").contains("room") == true, "\(found)")
        var context = SessionContext(user: "alice")
        context.transport = "telepathy"
        #expect { _ = try Session(context) } throws: {
            "\($0)".hasPrefix("the session's transport: expected ") && "\($0)".hasSuffix("got \"telepathy\"")
        }
    }

    @Test("NW-1 a session from Swift uses its context's transport")
    func context() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("echo-swift", adding: made)
        var context = SessionContext(user: "alice", room: "swift")
        context.transport = "echo-swift"
        let session = try Session(context)
        try await session.join()
        #expect(session.remoteUsers.map(\.name) == ["echo"])
        await session.leave()
        #expect(made.all.first?.calls.all == ["start", "join alice", "leave alice", "stop"])
    }
}
