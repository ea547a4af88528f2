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
        #expect(first.others == [:])
        let atBob = bob.room()
        let second = try await atBob.join("bob", display: "Bøb 🎥")
        #expect(second.others == ["alice": "Alice"])
        #expect(try await alice.has("joining bob (Bøb 🎥)"))
        try await atBob.rename(second, display: "Robert")
        #expect(try await alice.has("bob is called Robert"))
        try await atBob.leave(second)
        #expect(try await alice.has("leaving bob"))
        // The name is free again.
        let again = try await atBob.join("bob", display: "")
        #expect(again.others == ["alice": "Alice"])
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
        #expect(try await second.join("al", display: "").others == ["alice": ""])
        #expect(try await other.room("attic").join("alice", display: "").others == [:])
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

        let known = JanusSecrets(apiSecret: api)
        let client = ClientLog(server.http, known)
        #expect(try await client.begins())
        let error = await #expect(throws: MediaGraphError.self) {
            try await client.room("lobby", known).join("alice", display: "")
        }
        #expect(error?.code == .notPermitted && error?.detail.actual.hasSuffix("set admin-key") == true)

        let owner = JanusSecrets(apiSecret: api, roomPIN: Secret("1234"), adminKey: Secret(#"ad"min\key"#))
        let place = try await client.room("lobby", owner).join("alice", display: "")
        for pin in [nil, Secret("4321")] {
            let guest = JanusSecrets(apiSecret: api, roomPIN: pin)
            let refused = await #expect(throws: MediaGraphError.self) {
                try await client.room("lobby", guest).join("bob", display: "")
            }
            #expect(refused?.code == .notPermitted && refused?.detail.actual.hasSuffix("set room-pin or token") == true)
        }
        // Events come over the long poll, whose URL has the secret.
        let guest = JanusSecrets(apiSecret: api, roomPIN: Secret("1234"))
        let bob = try await client.room("lobby", guest).join("bob", display: "")
        #expect(bob.others == ["alice": ""])
        try await client.room("lobby", guest).leave(bob)
        #expect(try await client.has("leaving bob"))
        try await client.room("lobby", owner).leave(place)
    }

    @Test("NW-4 a killed client leaves the room at once on the socket, and after the server's time limit over HTTP")
    func lostClient() async throws {
        let server = try await JanusProcess(["--timeout", "1"])
        defer { server.stop() }
        let alice = ClientLog(server.socket)
        _ = try await alice.start()
        // The time limit of a second would end this session as well.
        let alive = Task {
            while !Task.isCancelled {
                _ = try await alice.client.request(.keepAlive)
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        defer { alive.cancel() }
        _ = try await alice.room().join("alice", display: "")
        for interface in Interface.allCases {
            let script = try ScriptedClient(interface.of(server))
            try await script.join("bob", "lobby")
            #expect(try await alice.has("joining bob ()"))
            script.vanish()
            #expect(try await alice.has("leaving bob"))
            alice.events.removeAll()
        }
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
        let place = try await lobby.join("alice", display: "")
        server.stop()
        #expect(try await eventually { alice.events.all.last?.hasPrefix("lost: ") == true })
        #expect(await code { _ = try await lobby.join("al", display: "") } == .notInSession)
        alice.events.removeAll()
        try await server.start()
        #expect(try await alice.has("began"))
        // The old handle is gone, and the room with it.
        #expect(await code { try await lobby.rename(place, display: "A") } == .processingFailed)
        #expect(try await lobby.join("alice", display: "").others == [:])
    }

    @Test("NW-4 a frozen server is reported as lost; when it goes on, the session over HTTP is resumed")
    func freeze() async throws {
        let clock = VirtualClock()
        let server = try await JanusProcess(["--timeout", "60"])
        defer { server.stop() }
        let alice = ClientLog(server.http, on: EventThread("test-network", clock: TimerClock(clock)))
        #expect(try await alice.begins())
        let lobby = alice.room()
        let place = try await lobby.join("alice", display: "")
        server.setFrozen(true)
        // The time limits on the virtual clock pass before those of URLSession.
        #expect(try await clock.pass(.seconds(4)))
        #expect(try await clock.pass(.seconds(4)))
        #expect(try await clock.pass(.seconds(1)))
        #expect(try await alice.has("lost: Janus server \(server.http) didn't answer within 5 s"))
        server.setFrozen(false)
        #expect(try await clock.pass(.milliseconds(250)))
        #expect(try await alice.has("resumed"))
        try await lobby.rename(place, display: "Alice")
        let bob = ClientLog(server.socket)
        _ = try await bob.start()
        #expect(try await bob.room().join("bob", display: "").others == ["alice": "Alice"])
        #expect(try await alice.has("joining bob ()"))
    }
}
