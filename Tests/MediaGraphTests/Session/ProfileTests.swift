import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests users' display names and custom data.
@Suite(.timeLimit(.minutes(10))) struct ProfileTests {
    init() throws { try Nodes.register() }

    private static let alice = UserProfile(displayName: "Alice Ä.", customData: "red")

    @Test("SE-11 members learn a user's profile with the user, and each change in order")
    func profilesOfMembers() throws {
        let room = Room.named(#function, over: .roomLink)
        let (alice, bob, carol) = (LoggingMember("alice"), LoggingMember("bob"), LoggingMember("carol"))
        alice.profile = Self.alice
        try room.join(bob)
        try room.join(alice)
        bob.profile = UserProfile(displayName: "Bob")
        room.profileChanged(of: bob)
        // The same again changes nothing.
        room.profileChanged(of: bob)
        room.streamChanged(StreamKey(user: "bob", kind: .camera), .status(isOn: true))
        bob.profile = UserProfile(customData: "blue")
        room.profileChanged(of: bob)
        try room.join(carol)
        let changes = ["bob is \"Bob\"", "bob camera on", "bob is blue"]
        #expect(alice.events.all == ["+bob"] + changes + ["+carol"])
        #expect(bob.events.all == ["+alice \"Alice Ä.\" red"] + changes + ["+carol"])
        #expect(carol.events.all == ["+alice \"Alice Ä.\" red", "+bob blue", "bob camera on"])
        for member in [alice, bob, carol] { room.leave(member) }
        // Nobody is there to be told.
        room.profileChanged(of: bob)
    }

    @Test("SE-11 a profile that changes while the user joins is the one that others know in the end")
    func whileJoining() throws {
        let made = Log<EchoTransport>()
        EchoTransport.register(#function, slowUsers: ["alice"], adding: made)
        let kind = try #require(RoomTransportKind.named(#function))
        let room = Room.named(#function, over: kind)
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        try room.join(bob)
        let transport = try #require(made.all.first)
        room.join(alice) { _ in }
        alice.profile = UserProfile(displayName: "A")
        room.profileChanged(of: alice)
        alice.profile = UserProfile()
        room.profileChanged(of: alice)
        alice.profile = UserProfile(displayName: "B")
        room.profileChanged(of: alice)
        transport.answer("alice")
        #expect(transport.calls.all.suffix(3) == ["alice is \"A\"", "alice is", "alice is \"B\""])
        #expect(bob.events.all == ["+echo", "+alice", "alice is \"A\"", "alice is", "alice is \"B\""])
        transport.setProfile(UserProfile(displayName: "Echo"))
        #expect(bob.events.all.last == "echo is \"Echo\"" && alice.events.all.last == "echo is \"Echo\"")
        for member in [alice, bob] { room.leave(member) }
    }

    @Test("SE-11 profiles and their changes reach other processes")
    func profilesOfProcesses() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let early = try RoomLink.started(#function, first)
        try early.claimed("bob", UserProfile(displayName: "Bob", customData: "before"))
        early.profileChanged(of: "bob", to: UserProfile(displayName: "Bob", customData: "now"))
        let late = try RoomLink.started(#function, second)
        #expect(waitUntil { second.users.all == ["bob \"Bob\" now"] })
        try late.claimed("alice", Self.alice)
        #expect(waitUntil { first.users.all == ["alice \"Alice Ä.\" red"] })
        late.profileChanged(of: "alice", to: UserProfile())
        early.profileChanged(of: "bob", to: UserProfile(displayName: "Robert"))
        #expect(waitUntil { first.users.all.last == "alice is" && second.users.all.last == "bob is \"Robert\"" })
        #expect(early.remoteUsers == ["alice": UserProfile()])
        #expect(late.remoteUsers == ["bob": UserProfile(displayName: "Robert")])
        early.stop()
        late.stop()
    }

    @Test("SE-11 a program that doesn't read gets only the newest of many profiles, and stays in the room")
    func manyProfiles() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        second.isStuck.store(true, ordering: .releasing)
        early.streamChanged(StreamKey(user: "bob", kind: .camera), .status(isOn: true))
        #expect(waitUntil { second.changes.all.count == 1 })
        for number in 0..<3000 {
            let data = String(repeating: "x", count: 1000) + "\(number)"
            early.profileChanged(of: "bob", to: UserProfile(displayName: "\(number)", customData: data))
        }
        second.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.users.all.last?.hasPrefix("bob is \"2999\"") == true })
        #expect(second.users.all.count < 3000 && !second.users.all.contains("-bob"))
        early.stop()
        late.stop()
    }

    @Test("SE-11 a peer that sends an invalid profile is disconnected")
    func invalidProfile() async throws {
        let other = OtherRoom()
        let process = try OtherProcess(room: #function)
        let link = try RoomLink.started(#function, other)
        for _ in 0..<2 {
            #expect(try await process.greet(["bob"]))
            #expect(try await eventually { other.users.all.last == "bob" })
            process.send(.profile("bob", UserProfile(displayName: String(repeating: "x", count: 257))))
            #expect(try await eventually { other.users.all.last == "-bob" })
        }
        #expect(other.users.all == ["bob", "-bob", "bob", "-bob"])
        link.stop()
        process.leave()
    }

    @Test("SE-11 in text, display-name and custom-data are properties that change at any time")
    func properties() async throws {
        let alice = try Graph(
            "mediasession name=call room=profiles-in-text user=alice display-name=\"Alice Ä.\" custom-data=red")
        let bob = try Graph("mediasession name=call room=profiles-in-text user=bob")
        let log = Log<String>()
        let events = bob.events
        Task {
            for await event in events {
                switch event {
                case .userJoined(_, let user, let profile): log.add("+\(user)\(profile.text)")
                case .userProfile(_, let user, let profile): log.add("\(user) is\(profile.text)")
                default: break
                }
            }
        }
        try await bob.start()
        try await alice.start()
        try alice.element("call").setProperty("display-name", to: "Al")
        // The session's own user is reported too.
        try bob.element("call").setProperty("custom-data", to: "blue")
        #expect(
            try await eventually { log.all == ["+alice \"Alice Ä.\" red", "alice is \"Al\" red", "bob is blue"] },
            "\(log.all)")
        let error = #expect(throws: PropertyError.self) {
            try alice.element("call").setProperty("custom-data", to: String(repeating: "ä", count: 513))
        }
        #expect(error.map { "\($0)".contains("at most 1024 bytes of UTF-8") } == true)
        #expect(try alice.element("call").property("custom-data", as: String.self) == "red")
        await alice.stop()
        await bob.stop()
    }

    @Test("SE-11 from Swift, users have display names and custom data")
    func profilesOfSessions() async throws {
        let alice = try session("alice", #function) { ($0.displayName, $0.customData) = ("Alice \"A\"", "{1}") }
        let bob = try session("bob", #function)
        let log = SessionLog()
        bob.delegate = log
        try await bob.join()
        #expect(alice.localUser.displayName == "Alice \"A\"" && alice.localUser.customData == "{1}")
        #expect(bob.localUser.displayName == "bob" && bob.localUser.customData == "")
        try await alice.join()
        #expect(try await eventually { log.log.all == ["joined", "+alice"] })
        let seen = try bob.user("alice")
        #expect(seen.displayName == "Alice \"A\"" && seen.customData == "{1}")
        try alice.setDisplayName("")
        try alice.setCustomData("{2}")
        #expect(try await eventually { log.log.all.count == 4 })
        #expect(log.log.all.suffix(2).last == "alice is alice" && seen.customData == "{2}")
        try bob.setDisplayName("Bob")
        #expect(try await eventually { log.log.all.last == "bob is Bob" })
        #expect(
            bob.description.contains("display-name=\"Bob\"") && alice.description.contains("custom-data=\"{2}\""))
        for text in [String(repeating: "x", count: 257), "a\0b"] {
            #expect(throws: MediaGraphError.self) { try alice.setDisplayName(text) }
            #expect(throws: MediaGraphError.self) { try session("carol", #function) { $0.displayName = text } }
        }
        await alice.leave()
        #expect(try await eventually { log.log.all.last == "-alice" })
        #expect(seen.displayName == "alice" && seen.customData == "")
        await bob.leave()
    }
}
