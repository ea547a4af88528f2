import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

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

    /// A graph that runs and in which alice shares, and what is reported to its user.
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
        #expect(try await eventually { reported.all.contains("echo's video on") })
        #expect(reported.all.contains("echo joined"))
        transport.vanish()
        #expect(waitUntil { seen.all.last == "off" })
        #expect(try await eventually { reported.all.contains("echo left") })
        #expect(reported.all.contains("echo's video off"))
        // The subscription outlasts it.
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
        // Local users' streams are none of a transport's business.
        #expect(!calls.contains { $0.hasPrefix("demand for") }, "\(calls)")
    }

    @Test("NW-1 SH-1 a share waits while a remote user shares, as the transport says")
    func remoteShare() async throws {
        EchoTransport.register("echo-shares")
        let (graph, reported) = try await Self.sharing(over: "echo-shares")
        #expect(try await eventually { reported.all.contains("user \"echo\" is already sharing") }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 SH-1 a transport's grant lasts as long as the share, and one that is lost is asked for again")
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

    @Test("NW-1 a transport may hear that a remote share has ended while it decides about a local one")
    func shareWhileDeciding() throws {
        let floor = ShareFloor()
        try floor.take(StreamKey(user: "alice", kind: .share)) {
            floor.askAgain()
            return nil
        }
        var requests = 0
        func refused() -> Bool {
            do throws(MediaGraphError) {
                try floor.take(StreamKey(user: "bob", kind: .share)) { () throws(MediaGraphError) in
                    requests += 1
                    // What ended meanwhile isn't known to this answer.
                    floor.askAgain()
                    return .sharedBy("echo")
                }
                return false
            } catch { return "\(error)" == "user \"echo\" is already sharing" }
        }
        floor.giveBack(StreamKey(user: "alice", kind: .share))
        #expect(refused() && refused())
        #expect(requests == 2)
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
        EchoTransport.register("echo-rooms")
        let kind = try #require(RoomTransportKind.named("echo-rooms"))
        let room = Room.named(#function, over: kind)
        #expect(Room.named(#function, over: kind) === room)
        #expect(Room.named(#function, over: .processes) !== room)
        let text = "mediasession name=a user=bob room=r mediasession name=b user=bob room=r transport="
        #expect(try problems(in: text + "echo-rooms") == [])
        #expect(try problems(in: text + "room").count == 1)
    }

    @Test("NW-1 where a transport can't be made the users of the process meet, and hear why nobody else does")
    func unreachable() async throws {
        RoomTransportKind.register(
            RoomTransportKind(name: "broken", summary: "nobody", remedy: "mend it") {
                (room, _) throws(MediaGraphError) in
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
        let warning = "room \"x\" is limited to this program: the way to x: is blocked; mend it"
        #expect(try await eventually { reported.all.count { $0.hasSuffix(warning) } == 2 }, "\(reported.all)")
        await graph.stop()
    }

    @Test("NW-1 a transport that there isn't is refused, with those that there are")
    func unknown() throws {
        let found = try problems(in: "mediasession name=a transport=telepathy")
        #expect(found.count == 1)
        let words = found.first?.components(separatedBy: "use ") ?? []
        #expect(words.first == "31: there is no transport \"telepathy\"; ", "\(found)")
        #expect(words.last?.components(separatedBy: " or ").contains("room") == true, "\(found)")
        var context = SessionContext(user: "alice")
        context.transport = "telepathy"
        #expect { _ = try Session(context) } throws: {
            "\($0)".hasPrefix("the session's transport: expected ") && "\($0)".hasSuffix("got \"telepathy\"")
        }
    }

    @Test("NW-1 a session from Swift uses the transport that its context names")
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
