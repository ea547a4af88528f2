import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests rooms on a real Janus server. The two rooms of a test reach each other only through the server.
@Suite(.enabled(if: JanusNetwork.isAvailable, JanusNetwork.reason), .timeLimit(.minutes(5)))
struct JanusRoomTests {
    init() throws { try Nodes.register() }

    @Test("SE-7 NW-1 users of two programs see each other come, go and change in a Janus room")
    func presence() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        alice.profile = UserProfile(displayName: "Alice", customData: "red")
        try here.join(alice)
        try there.join(bob)
        #expect(try await eventually { here.users == ["alice", "bob"] && there.users == ["alice", "bob"] })
        // What Janus doesn't know comes through the data channel.
        #expect(try await eventually { bob.events.all.last == #"alice is "Alice" red"# })
        bob.profile = UserProfile(displayName: "Robert")
        there.profileChanged(of: bob)
        #expect(try await eventually { alice.events.all.contains(#"bob is "Robert""#) })
        here.streamChanged(StreamKey(user: "alice", kind: .camera), .status(isOn: true))
        here.streamChanged(StreamKey(user: "alice", kind: .microphone), .muted(true))
        #expect(try await eventually { bob.events.all.contains("alice camera on") })
        #expect(try await eventually { bob.events.all.contains("alice microphone muted") })
        here.leave(alice)
        #expect(try await eventually { bob.events.all.last == "-alice" })
        there.leave(bob)
    }

    @Test("SE-11 commands through a Janus room arrive in order, from the moment when the other user is seen")
    func commands() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (alice, bob, carol) = (LoggingMember("alice"), LoggingMember("bob"), LoggingMember("carol"))
        try here.join(alice)
        for member in [bob, carol] { try there.join(member) }
        #expect(try await eventually { here.users.count == 3 })
        let longest = [UInt8](repeating: 7, count: SessionCommand.longest)
        try here.send(.bytes(longest), from: "alice", to: "bob")
        for number in 1...200 { try here.send(.text("\(number)"), from: "alice", to: number % 2 == 0 ? "bob" : nil) }
        let numbers = (1...200).map { $0 % 2 == 0 ? "alice: \($0)" : "alice to all: \($0)" }
        #expect(try await eventually { bob.commands == ["alice: \(longest)"] + numbers })
        #expect(try await eventually { carol.commands == numbers.filter { $0.contains("all") } })
        try there.send(.text("back"), from: "carol", to: "alice")
        #expect(try await eventually { alice.commands == ["carol: back"] })
        for member in [bob, carol] { there.leave(member) }
        here.leave(alice)
    }

    @Test("SE-7 NW-4 numbered frames and sound cross a Janus room, also to a reader who was there first")
    func media() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let bob = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=bob \
            call.video_alice ! rawdatapipe name=pipe  call.audio_alice ! virtualspeaker name=speaker handler=count
            """)
        let (log, numbers) = (Log<String>(), Log<UInt32?>())
        try bob.rawDataPipe("pipe").attach(
            StreamRecorder(log: log) { frame in numbers.add(try? TestFrame(frame).number) })
        try await bob.start()
        for _ in 1...2 {
            let alice = try Graph(
                """
                mediasession name=call transport=janus server=\(server.socket) room=lobby user=alice \
                videosource handler=counter options="width=320,height=180" ! call.camera \
                audiotestsrc is-live=true ! call.mic
                """)
            try await alice.start()
            #expect(try await eventually { numbers.all.count >= 30 })
            await alice.stop()
            #expect(try await eventually { log.all.last == "off" })
            #expect(!numbers.all.contains(nil), "a frame's number can't be read")
            #expect(zip(numbers.all, numbers.all.dropFirst()).allSatisfy { $0 ?? 0 < $1 ?? 0 })
            numbers.removeAll()
        }
        #expect(log.all.filter { $0 != "frame" } == ["on", "off", "on", "off"])
        await bob.stop()
    }

    @Test("SE-7 one user of a Janus room shares at a time, and the next one's share starts when that ends")
    func shares() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let log = Log<String>()
        let (alices, bobs) = (Log<UInt32?>(), Log<UInt32?>())
        let carol = try Graph(
            """
            mediasession name=call transport=janus server=\(server.http) room=lobby user=carol \
            call.share_alice ! rawdatapipe name=alice  call.share_bob ! rawdatapipe name=bob
            """)
        try carol.rawDataPipe("alice").attach(
            StreamRecorder(log: log) { frame in alices.add(try? TestFrame(frame).number) })
        try carol.rawDataPipe("bob").attach(
            StreamRecorder(log: log) { frame in bobs.add(try? TestFrame(frame).number) })
        try await carol.start()
        func sharing(_ user: String, _ server: JanusServer) throws -> Graph {
            try Graph(
                """
                mediasession name=call transport=janus server=\(server) room=lobby user=\(user) \
                videosource handler=counter options="width=320,height=180" ! call.share
                """)
        }
        let alice = try sharing("alice", server.socket)
        try await alice.start()
        #expect(try await eventually { alices.all.count >= 10 })
        let bob = try sharing("bob", server.http)
        let warnings = Log<String>()
        let reader = Task { [events = bob.events] in
            for await event in events { if case .warning(let report) = event { warnings.add(report.error.message) } }
        }
        try await bob.start()
        #expect(try await eventually { warnings.all.contains { $0.contains("alice\" is already sharing") } })
        #expect(bobs.all == [])
        await alice.stop()
        #expect(try await eventually { bobs.all.count >= 10 })
        for numbers in [alices.all, bobs.all] {
            #expect(!numbers.contains(nil), "a frame's number can't be read")
            // A share's last frame may come again.
            #expect(numbers.compactMap(\.self) == numbers.compactMap(\.self).sorted())
        }
        await bob.stop()
        reader.cancel()
        await carol.stop()
    }

    @Test("NW-1 joining a Janus room fails if the name is taken or the server is unreachable")
    func refusals() async throws {
        let server = try await JanusProcess()
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (first, second) = (LoggingMember("alice"), LoggingMember("alice"))
        try here.join(first)
        let error = #expect(throws: MediaGraphError.self) { try there.join(second) }
        #expect(error?.code == .alreadyInUse)
        here.leave(first)
        server.stop()
        let lost = #expect(throws: MediaGraphError.self) { try there.join(second) }
        #expect(lost?.code == .unreachable)
    }

    @Test("NW-1 users find each other again after their Janus server was killed and started again")
    func restart() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        try here.join(alice)
        try there.join(bob)
        #expect(try await eventually { alice.events.all.contains("+bob") })
        server.stop()
        #expect(try await eventually { alice.events.all.contains("-bob") && bob.events.all.contains("-alice") })
        try await server.start()
        #expect(try await eventually { here.users.count == 2 && there.users.count == 2 })
        try here.send(.text("again"), from: "alice", to: "bob")
        #expect(try await eventually { bob.events.all.last == "alice: again" })
        here.leave(alice)
        there.leave(bob)
    }

    @Test("SE-6 a Janus room's camera is encoded only while somebody reads it, at the size that is wanted")
    func demand() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let alice = try Graph(
            """
            mediasession name=call transport=janus server=\(server.socket) room=lobby user=alice \
            videosource handler=counter options="width=640,height=360" ! call.camera
            """)
        try await alice.start()
        let bob = LoggingMember("bob")
        try there.join(bob)
        let key = StreamKey(user: "alice", kind: .camera)
        let (sent, received) = (here.stream(key), there.stream(key))
        #expect(try await eventually { bob.events.all.contains("alice camera on") })
        #expect(sent.demand == nil)
        let reader = StreamReader(bound: 2)
        reader.play()
        received.add(reader)
        reader.setDemand(.p180)
        #expect(try await eventually { sent.knownDemand == .p180 })
        #expect(try await eventually { received.format?.caps[0]["height", as: Int32.self] == 180 })
        received.remove(reader)
        #expect(try await eventually { sent.demand == nil })
        there.leave(bob)
        await alice.stop()
    }
}

extension LoggingMember {
    /// The commands that have come.
    var commands: [String] { events.all.filter { $0.contains(": ") } }
}
