import Foundation
import GStreamer
import MediaGraph
import MediaGraphCore
import TestSupport
import Testing

@testable import MediaGraphJanus

/// Tests of the client with a real Janus server, over both of its interfaces.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: JanusProcess.isInstalled, "Janus isn't installed (Debian's package janus)"))
struct JanusClientTests {
    /// The interfaces of a server.
    enum Interface: Sendable, CaseIterable {
        case http, socket

        func of(_ server: JanusProcess) -> JanusServer { self == .http ? server.http : server.socket }
    }

    private func code(_ body: () async throws -> Void) async -> MediaGraphError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? MediaGraphError)?.code }
    }

    @Test(
        "SE-6 two clients of a Janus server meet in a room: each hears who is there, comes, is renamed and leaves",
        arguments: Interface.allCases)
    func meeting(_ interface: Interface) async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (alice, bob) = (ClientLog(interface.of(server)), ClientLog(interface.of(server)))
        #expect(try await alice.begins())
        #expect(try await bob.begins())
        let atAlice = alice.room()
        let first = try await atAlice.join("alice", display: "Alice")
        #expect(first.names == [:])
        let atBob = bob.room()
        let second = try await atBob.join("bob", display: "Bøb 🎥")
        #expect(second.names == ["alice": "Alice"])
        #expect(try await alice.has("joining bob (Bøb 🎥)"))
        try await atBob.rename(second, display: "Robert")
        #expect(try await alice.has("bob is called Robert"))
        try await atBob.leave(second)
        #expect(try await alice.has("leaving bob"))
        // The name is free again.
        let again = try await atBob.join("bob", display: "")
        #expect(again.names == ["alice": "Alice"])
        await alice.client.stop()
        #expect(try await bob.has("leaving alice"))
        #expect(try await alice.has("over"))
        await bob.client.stop()
        #expect(try await bob.has("over"))
    }

    @Test("SE-6 a name that is taken in a room is refused, and the client can join with another one")
    func takenName() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let (alice, other) = (ClientLog(server.socket), ClientLog(server.http))
        _ = try await (alice.start(), other.start())
        _ = try await alice.room().join("alice", display: "")
        let second = other.room()
        let error = await #expect(throws: MediaGraphError.self) { try await second.join("alice", display: "") }
        #expect(
            error.map { "\($0)" }
                == "somebody in room \"lobby\" is already called \"alice\"; choose another name with user=…")
        #expect(try await second.join("al", display: "").names == ["alice": ""])
        #expect(try await other.room("attic").join("alice", display: "").names == [:])
    }

    @Test("NW-4 NW-5 a wrong PIN, a missing admin key and a wrong API secret are errors that say what to set")
    func secrets() async throws {
        let server = try await JanusProcess(
            environment: ["JANUS_ADMIN_KEY": #"ad"min\key"#, "JANUS_API_SECRET": "s & ? + ü"])
        defer { server.stop() }
        let api = Secret("s & ? + ü")

        for interface in Interface.allCases {
            let stranger = ClientLog(interface.of(server), JanusSecrets(apiSecret: Secret("other")))
            let first = try await stranger.start()
            #expect(
                first
                    == "failed: Janus server \(interface.of(server)) doesn't permit this program to connect (Unauthorized "
                    + "request (wrong or missing secret/token)); set its token or api-secret")
            #expect(try await stranger.has("over"))
        }

        func client(pin: String? = nil, adminKey: String? = nil) async throws -> ClientLog {
            let client = ClientLog(
                server.http,
                JanusSecrets(apiSecret: api, roomPIN: pin.map { Secret($0) }, adminKey: adminKey.map { Secret($0) }))
            #expect(try await client.begins())
            return client
        }
        for adminKey in [nil, "other"] {
            let user = try await client(adminKey: adminKey)
            let error = await #expect(throws: MediaGraphError.self) { try await user.room().join("alice", display: "") }
            #expect(error?.code == .notPermitted && error?.detail.actual.hasSuffix("set admin-key") == true)
        }
        let owner = try await client(pin: "1234", adminKey: #"ad"min\key"#)
        _ = try await owner.room().join("alice", display: "")
        for pin in [nil, "4321"] {
            let guest = try await client(pin: pin)
            let error = await #expect(throws: MediaGraphError.self) { try await guest.room().join("bob", display: "") }
            #expect(error?.code == .notPermitted && error?.detail.actual.hasSuffix("set room-pin or token") == true)
        }
        let guest = try await client(pin: "1234")
        #expect(try await guest.room().join("bob", display: "").names == ["alice": ""])
        // Events come over the long poll, whose URL has the secret.
        #expect(try await owner.has("joining bob ()"))
    }

    @Test("NW-4 a killed client leaves the room at once on the socket, and after the server's time limit over HTTP")
    func lostClient() async throws {
        let server = try await JanusProcess(["--timeout", "3"])
        defer { server.stop() }
        let clock = VirtualClock()
        let alice = ClientLog(server.socket, on: EventThread("test-network", clock: TimerClock(clock)))
        #expect(try await alice.begins())
        _ = try await alice.room().join("alice", display: "")
        for interface in Interface.allCases {
            let script = try ScriptedClient(interface.of(server))
            try await script.join("bob", "lobby")
            #expect(try await alice.has("joining bob ()"))
            script.vanish()
            let hasLeft = try await eventually {
                // The server's time limit is a real one, also for Alice.
                if clock.deadlines.contains(JanusSession.keepAliveInterval) {
                    clock.advance(by: JanusSession.keepAliveInterval)
                }
                return alice.events.all.contains("leaving bob")
            }
            #expect(hasLeft)
            alice.events.removeAll()
        }
        #expect(alice.events.all == [])
    }

    @Test(
        "NW-4 after a server's end and restart, the client has a new session without being told",
        arguments: Interface.allCases)
    func restart(_ interface: Interface) async throws {
        let server = try await JanusProcess(hasSocket: interface == .socket)
        defer { server.stop() }
        let alice = ClientLog(interface.of(server))
        #expect(try await alice.begins())
        let lobby = alice.room()
        let publisher = try await lobby.join("alice", display: "")
        server.stop()
        #expect(try await eventually { alice.events.all.last?.hasPrefix("lost: ") == true })
        #expect(await code { _ = try await lobby.join("al", display: "") } == .notInSession)
        alice.events.removeAll()
        try await server.start()
        #expect(try await alice.has("began"))
        // The old handle is gone, and the room with it.
        #expect(await code { try await lobby.rename(publisher, display: "A") } == .processingFailed)
        #expect(try await lobby.join("alice", display: "").names == [:])
    }

    @Test("NW-4 a frozen server is lost; when it goes on, a new session begins, and the old one's users are gone")
    func freeze() async throws {
        let clock = VirtualClock()
        let server = try await JanusProcess(["--timeout", "60"])
        defer { server.stop() }
        let alice = ClientLog(server.http, on: EventThread("test-network", clock: TimerClock(clock)))
        #expect(try await alice.begins())
        _ = try await alice.room().join("alice", display: "old")
        server.setFrozen(true)
        #expect(try await clock.pass(.seconds(4)))
        #expect(try await clock.pass(.seconds(4)))
        #expect(try await clock.pass(.seconds(1)))
        #expect(try await alice.has("lost: Janus server \(server.http) didn't answer within 5 s"))
        server.setFrozen(false)
        // Of Bob, who comes while Alice is away, she learns when she joins again.
        let bob = ClientLog(server.socket)
        #expect(try await bob.begins())
        #expect(try await bob.room().join("bob", display: "").names == ["alice": "old"])
        alice.events.removeAll()
        #expect(try await clock.pass(.milliseconds(250)))
        #expect(try await alice.has("began"))
        #expect(try await bob.has("leaving alice"))
        #expect(try await alice.room().join("alice", display: "new").names == ["bob": ""])
        #expect(try await bob.has("joining alice (new)"))
    }

    @Test("NW-4 a client that is released ends its connection, and its events", arguments: Interface.allCases)
    func release(_ interface: Interface) async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let log = Log<String>()
        weak var released: JanusClient?
        do {
            let client = JanusClient(interface.of(server))
            released = client
            Task { [events = client.events, log] in
                for await event in events { log.add(event.text) }
                log.add("over")
            }
            await client.start()
            #expect(try await eventually { log.all == ["began"] })
        }
        #expect(try await eventually { log.all.last == "over" && released == nil })
    }
}
