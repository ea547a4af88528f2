import Dispatch
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests users whose transport takes its time to let them in.
@Suite struct SlowJoinTests {
    init() throws { try Nodes.register() }

    /// A room whose transport lets alice wait until the test answers, with a log of the outcomes of alice's joins.
    private final class Scene: Sendable {
        let room: Room
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        let outcomes = Log<String>()
        private let made = Log<EchoTransport>()

        init(_ name: String) throws {
            EchoTransport.register("slow-\(name)", slowUsers: ["alice"], adding: made)
            room = Room.named(name, over: try #require(RoomTransportKind.named("slow-\(name)")))
        }

        /// The room's transport; after the last user has left, the one that the room had.
        var transport: EchoTransport { made.all.last! }
        var calls: [String] { transport.calls.all }
        var transportCount: Int { made.all.count }

        func join(_ member: LoggingMember) {
            room.join(member) { [outcomes] result in
                do throws(MediaGraphError) {
                    try result.get()
                    outcomes.add("joined")
                } catch { outcomes.add("\(error.code)") }
            }
        }
    }

    private static let (alices, bobs) = (StreamKey(user: "alice", kind: .camera), StreamKey(user: "bob", kind: .camera))

    @Test("NW-1 SE-1 while a user waits for the transport, another one of the process joins, sends and leaves")
    func othersMeanwhile() throws {
        let scene = try Scene(#function)
        scene.join(scene.alice)
        #expect(scene.calls == ["start", "join alice"])
        try scene.room.join(scene.bob)
        scene.room.streamChanged(Self.bobs, .status(isOn: true))
        scene.room.streamChanged(Self.bobs, .status(isOn: false))
        #expect(scene.room.users == ["bob", "echo"])
        scene.room.leave(scene.bob)
        #expect(
            scene.calls.dropFirst(2) == ["join bob", "bob camera on", "bob camera off", "leave bob"], "\(scene.calls)")
        #expect(scene.bob.events.all == ["+echo", "bob camera on", "bob camera off"])
        #expect(scene.alice.events.all == [] && scene.outcomes.all == [] && scene.room.users == ["echo"])
        scene.transport.answer("alice")
        #expect(scene.outcomes.all == ["joined"] && scene.alice.events.all == ["+echo"])
        #expect(scene.room.users == ["alice", "echo"])
        scene.room.leave(scene.alice)
        #expect(scene.calls.suffix(2) == ["leave alice", "stop"] && scene.transportCount == 1)
    }

    @Test("NW-1 SE-1 a user who waits for the transport has the name, and is announced with the streams afterwards")
    func announced() throws {
        let scene = try Scene(#function)
        try scene.room.join(scene.bob)
        scene.join(scene.alice)
        scene.join(LoggingMember("alice"))
        #expect(scene.outcomes.all == ["alreadyInUse"])
        for isOn in [true, false, true] { scene.room.streamChanged(Self.alices, .status(isOn: isOn)) }
        #expect(throws: MediaGraphError.self) { try scene.room.begin(StreamKey(user: "alice", kind: .share)) }
        #expect(scene.calls.last == "join alice" && scene.bob.events.all == ["+echo"])
        scene.transport.answer("alice")
        let changes = ["on", "off", "on"].map { "alice camera \($0)" }
        #expect(scene.calls.suffix(3) == changes[...])
        #expect(scene.bob.events.all == ["+echo", "+alice"] + changes)
        #expect(scene.outcomes.all == ["alreadyInUse", "joined"])
        for member in [scene.alice, scene.bob] { scene.room.leave(member) }
    }

    @Test("NW-1 SE-1 a user who leaves while joining doesn't join, and may join again at once")
    func leaving() throws {
        let scene = try Scene(#function)
        try scene.room.join(scene.bob)
        scene.join(scene.alice)
        scene.room.leave(scene.alice)
        #expect(scene.outcomes.all == ["notInSession"] && scene.calls.last == "leave alice")
        scene.join(scene.alice)
        #expect(scene.calls.suffix(3) == ["join alice", "leave alice", "join alice"])
        // The answer to the first join was on its way.
        scene.transport.answer("alice")
        #expect(scene.room.users == ["bob", "echo"] && scene.outcomes.all.count == 1)
        scene.transport.answer("alice")
        #expect(scene.outcomes.all == ["notInSession", "joined"] && scene.alice.events.all == ["+bob", "+echo"])
        #expect(scene.bob.events.all == ["+echo", "+alice"])
        for member in [scene.alice, scene.bob] { scene.room.leave(member) }
    }

    @Test("NW-1 SE-1 a refused user is told why, and the room closes if it was the only one")
    func refusedUser() throws {
        let scene = try Scene(#function)
        for refusal in [MediaGraphError.nameTaken("alice", in: "r"), .timeOut(.init("the server"))] {
            scene.join(scene.alice)
            scene.transport.answer("alice", .refused(refusal))
            #expect(scene.calls == ["start", "join alice", "stop"] && scene.room.users == [])
        }
        #expect(scene.outcomes.all == ["alreadyInUse", "timeOut"] && scene.alice.events.all == [])
        #expect(scene.transportCount == 2)
    }

    @Test("NW-1 SE-1 a user whom the transport refuses at once hears of it after the transport has stopped")
    func refusedAtOnce() throws {
        let scene = try Scene(#function)
        let calls = Log<[String]>()
        scene.room.join(LoggingMember("echo")) { _ in calls.add(scene.calls) }
        #expect(calls.all == [["start", "stop"]])
    }

    @Test("NW-1 SE-1 a user who is welcomed while a remote user leaves and returns knows that user in the end")
    func changesDuringWelcome() throws {
        let scene = try Scene(#function)
        scene.join(scene.alice)
        let transport = scene.transport
        transport.changeAfterListing({ transport.vanish() }, { transport.appear() })
        transport.answer("alice")
        #expect(scene.alice.events.all == ["+echo"] && scene.outcomes.all == ["joined"])
        #expect(scene.room.users == ["alice", "echo"])
        scene.room.leave(scene.alice)
    }

    /// A user who logs each notification when the call ends, and makes echo's stream change during the first one.
    private final class SlowMember: RoomMember {
        let user = "alice"
        let profile = UserProfile()
        let sending = SendSettings()
        let events = Log<String>()
        private let react: @Sendable () -> Void
        init(_ react: @escaping @Sendable () -> Void) { self.react = react }
        func joined(_ user: String, _ profile: UserProfile) {
            react()
            events.add("+\(user)")
        }
        func left(_ user: String) { events.add("-\(user)") }
        func streamChanged(_ key: StreamKey, _ change: StreamChange) { events.add(change.text) }
        func profileChanged(of user: String, to profile: UserProfile) {}
        func received(_ command: SessionCommand, from user: String, isForAll: Bool) {}
        func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) {}
        func warn(_ text: String) {}
    }

    @Test("NW-1 SE-1 what happens while a user is notified of something reaches the user afterwards, in order")
    func notifiedInOrder() throws {
        let scene = try Scene(#function)
        try scene.room.join(scene.bob)
        let transport = scene.transport
        let alice = SlowMember { for isOn in [true, false, true] { transport.tell(isOn: isOn) } }
        scene.room.join(alice) { _ in }
        transport.answer("alice")
        // Once for bob and once for echo.
        #expect(alice.events.all == ["+bob", "+echo"] + ["on", "off", "on", "on", "off", "on"])
        for member in [alice, scene.bob] as [any RoomMember] { scene.room.leave(member) }
    }

    @Test("NW-1 SE-5 a join that the transport never answers times out, and is undone")
    func unanswered() throws {
        let scene = try Scene(#function)
        do throws(MediaGraphError) {
            try scene.room.join(scene.alice, within: .zero)
            Issue.record("alice joined")
        } catch { #expect(error.code == .timeOut && "\(error)".contains("didn't answer"), "\(error)") }
        #expect(scene.calls == ["start", "join alice", "leave alice", "stop"])
    }

    @Test("NW-1 GR-1 a graph whose session's join is never answered can be stopped, and started again")
    func stop() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("slow-graph", slowUsers: ["alice"], adding: made)
        let graph = try Graph("mediasession name=call transport=slow-graph user=alice")
        for round in 1...2 {
            let start = Task { () async -> GraphError? in
                do throws(GraphError) {
                    try await graph.start()
                    return nil
                } catch { return error }
            }
            #expect(try await eventually { made.all.last?.calls.all.last == "join alice" && made.all.count == round })
            await graph.stop()
            guard case .stopped = await start.value else {
                Issue.record("the graph started")
                return
            }
            #expect(made.all.last?.calls.all == ["start", "join alice", "leave alice", "stop"])
        }
    }

    @Test("NW-1 SE-5 CR-7 a session that isn't let into the room during a preview throws the transport's error")
    func preview() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("slow-session", slowUsers: ["alice"], adding: made)
        var context = SessionContext(user: "alice", room: "slow")
        context.transport = "slow-session"
        context.camera = "videotestsrc is-live=true"
        let session = try Session(context)
        try await session.preview.start()
        func join(_ meanwhile: () async throws -> Void) async throws -> MediaGraphError? {
            let joining = Task { () async -> MediaGraphError? in
                do throws(MediaGraphError) {
                    try await session.join()
                    return nil
                } catch { return error }
            }
            #expect(try await eventually { made.all.last?.calls.all.last == "join alice" })
            try await meanwhile()
            return await joining.value
        }
        for refusal in [MediaGraphError.timeOut(.init("the server")), .nameTaken("alice", in: "slow")] {
            #expect(try await join { made.all.last?.answer("alice", .refused(refusal)) } == refusal)
        }
        #expect(try await join { await session.leave() }?.code == .notInSession)
        #expect(!session.isJoined)
    }

    @Test("CR-7 SE-5 a join of a running preview whose task is cancelled ends, and the preview goes on")
    func cancelledPreview() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("slow-cancelled", slowUsers: ["alice"], adding: made)
        let source = RecordingSource()
        let alice = try session("alice", #function) {
            $0.transport = "slow-cancelled"
            $0.externalVideoSource = source
        }
        let own = PipeLog()
        try alice.preview.subscribe(own, resolution: .p90)
        try await alice.preview.start()
        func join() -> Task<MediaGraphError?, Never> {
            Task { () async -> MediaGraphError? in
                do throws(MediaGraphError) {
                    try await alice.join()
                    return nil
                } catch { return error }
            }
        }
        func previewGoesOn() async throws -> Bool {
            let count = own.count
            return try await eventually {
                try? source.sendPattern()
                return own.count > count
            }
        }
        let waiting = join()
        #expect(try await eventually { made.all.last?.calls.all.last == "join alice" })
        waiting.cancel()
        #expect(await waiting.value?.code == .notInSession)
        #expect(made.all.last?.calls.all == ["start", "join alice", "leave alice", "stop"])
        #expect(try await previewGoesOn())
        // The task may also be cancelled before it calls `join`.
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await #expect(throws: MediaGraphError.self) { try await alice.join() }
        }
        #expect(await cancelled.value?.code == .notInSession && !alice.isJoined)
        #expect(try await previewGoesOn())
        let joining = join()
        #expect(try await eventually { made.all.last?.calls.all == ["start", "join alice"] })
        made.all.last?.answer("alice")
        #expect(await joining.value == nil && alice.isJoined)
        #expect(source.stateCalls == ["initialize", "startSend"])
        await alice.leave()
    }

    @Test("SE-1 a user whose join is cancelled before it begins isn't in the room, however fast the transport is")
    func cancelledBefore() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register("fast-cancelled", adding: made)
        let alice = try session("alice", #function) { $0.transport = "fast-cancelled" }
        try await alice.preview.start()
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await #expect(throws: MediaGraphError.self) { try await alice.join() }
        }
        #expect(await cancelled.value?.code == .notInSession && !alice.isJoined)
        #expect(made.all.last?.calls.all == ["start", "join alice", "leave alice", "stop"])
        try await alice.join()
        #expect(alice.isJoined)
        await alice.leave()
    }

    @Test("SE-1 a user who leaves before the graph has begun to start doesn't join")
    func leavesEarly() async throws {
        let alice = try session("alice", #function) { $0.camera = "videotestsrc is-live=true" }
        let gate = DispatchSemaphore(value: 0)
        // Holds the join up before it starts the graph.
        alice.graph.enqueue { gate.wait() }
        let codes = await withTaskGroup { tasks in
            for _ in 0..<2 {
                tasks.addTask { () async -> MediaGraphError.Code? in
                    do throws(MediaGraphError) {
                        try await alice.join()
                        return nil
                    } catch { return error.code }
                }
            }
            // One of the two joins ends at once, because the other has begun.
            var codes = [await tasks.next()!]
            let leaving = Task.immediate { await alice.leave() }
            gate.signal()
            await leaving.value
            codes.append(await tasks.next()!)
            return codes
        }
        #expect(codes == [.wrongUsage, .notInSession] && !alice.isJoined)
        #expect(alice.graph.pipeline.state == .null)
        try await alice.join()
        await alice.leave()
    }
}
