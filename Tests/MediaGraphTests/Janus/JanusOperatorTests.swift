import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests what a server's operator, and others who can reach the server, do to rooms.
@Suite(.enabled(if: JanusNetwork.isAvailable, JanusNetwork.reason), .timeLimit(.minutes(5)))
struct JanusOperatorTests {
    init() throws { try Nodes.register() }

    /// Makes a room of which the secret is known.
    private static func makeRoom(_ name: String, on server: JanusProcess) async throws -> JanusOperator {
        let manager = try await JanusOperator(server.http)
        let refusal = try await manager.request(
            "create", ["room": name, "secret": "seven", "publishers": 100, "notify_joining": true])
        #expect(refusal == nil)
        return manager
    }

    /// Lets two users join, and waits until their connections are up, and they hear each other.
    private static func meet(_ first: (room: Room, user: LoggingMember), _ second: (room: Room, user: LoggingMember))
        async throws
    {
        for (room, user) in [first, second] { try room.join(user) }
        #expect(try await eventually { first.room.users.count == 2 && second.room.users.count == 2 })
        for (room, user) in [first, second] { try room.send(.text("hello"), from: user.user, to: nil) }
        #expect(try await eventually { first.user.commands.count == 1 && second.user.commands.count == 1 })
    }

    @Test("NW-5 others who can reach the server can't remove the users of a room, or destroy it")
    func others() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let room = try server.http.room("lobby")
        let alice = LoggingMember("alice")
        try room.join(alice)
        let other = try await JanusOperator(server.http)
        for request in ["kick", "destroy"] {
            let refusal = try await other.request(request, ["room": "lobby", "id": "alice"])
            #expect(refusal?.contains("secret") == true, "\(request): \(refusal ?? "done")")
        }
        #expect(alice.events.all == [])
        room.leave(alice)
    }

    @Test("NW-1 a user whom the server's operator removes from a Janus room is out, and nobody else is")
    func removal() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let manager = try await Self.makeRoom("lobby", on: server)
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        // Janus says "ok" to somebody who has left.
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("ok"))
        try await Self.meet((here, alice), (there, bob))
        #expect(try await manager.request("kick", ["room": "lobby", "id": "ok", "secret": "seven"]) == nil)
        #expect(try await eventually { alice.events.all.contains("-ok") })
        #expect(try await eventually { bob.events.all.contains("-alice") })
        let warning =
            "user \"ok\" is no longer in the room: the server's operator removed the user; restart the graph to rejoin"
        #expect(bob.events.all.contains(warning))
        #expect(here.users == ["alice"])
        there.leave(bob)
        // Again, as an ordinary user.
        try there.join(bob)
        #expect(try await eventually { here.users.count == 2 })
        there.leave(bob)
        #expect(try await eventually { here.users == ["alice"] })
        here.leave(alice)
    }

    @Test("NW-1 when the server's operator destroys a Janus room, its users are told, and can make it anew")
    func destruction() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let manager = try await Self.makeRoom("lobby", on: server)
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        try await Self.meet((here, alice), (there, bob))
        #expect(try await manager.request("destroy", ["room": "lobby", "secret": "seven"]) == nil)
        #expect(try await eventually { alice.events.all.contains("-bob") && bob.events.all.contains("-alice") })
        #expect(alice.events.all.contains { $0.contains("the room was destroyed by the server's operator") })
        for (room, member) in [(here, alice), (there, bob)] {
            room.leave(member)
            try room.join(member)
        }
        #expect(try await eventually { here.users.count == 2 && there.users.count == 2 })
        here.leave(alice)
        there.leave(bob)
    }

    @Test("SE-11 commands for others don't wait for a Janus room's user who receives none")
    func silentUser() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (here, there) = (try server.socket.room("lobby"), try server.http.room("lobby"))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        try here.join(alice)
        // A program that joins, but neither sends nor listens.
        let other = try await JanusOperator(server.http)
        #expect(
            try await other.request("join", ["room": "lobby", "ptype": "publisher", "id": "mute", "display": ""]) == nil
        )
        #expect(try await eventually { here.users.contains("mute") })
        try here.send(.text("to nobody"), from: "alice", to: "mute")
        try there.join(bob)
        #expect(try await eventually { here.users.contains("bob") })
        try here.send(.text("now"), from: "alice", to: "bob")
        #expect(try await eventually { bob.commands == ["alice: now"] })
        // A command for all waits for a while.
        try here.send(.text("later"), from: "alice", to: nil)
        #expect(try await eventually { bob.commands == ["alice: now", "alice to all: later"] })
        #expect(
            alice.events.all.contains("a command from \"alice\" to \"mute\" is lost: that user receives no messages"))
        here.leave(alice)
        there.leave(bob)
    }
}
