import Foundation
import GStreamer
import MediaGraph
import MediaGraphCore
import TestSupport
import Testing

@testable import MediaGraphJanus

/// Tests of servers that aren't what they should be.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: JanusProcess.isInstalled, "Janus isn't installed (Debian's package janus)"))
struct JanusFailureTests {
    /// Returns the error with which a client fails to connect.
    private func failure(_ server: JanusServer) async throws -> MediaGraphError? {
        let client = JanusClient(server)
        await client.start()
        for await event in client.events {
            if case .failed(let error) = event { return error }
            Issue.record("\(event)")
        }
        return nil
    }

    @Test(
        "NW-4 an address where nothing listens, and a host that doesn't exist, are errors",
        arguments: ["http", "https"])
    func nobody(_ scheme: String) async throws {
        let port = try JanusProcess.freePort()
        let address = "\(scheme)://127.0.0.1:\(port)/janus"
        let error = try await failure(JanusServer(address))
        #expect(
            error == .unreachable(.init("Janus server \(address)", actual: "can't be reached: nothing listens there")))
        let unknown = "\(scheme)://no-such-host.invalid:8088/janus"
        let unknownError = try await failure(JanusServer(unknown))
        #expect(
            unknownError
                == .unreachable(
                    .init("Janus server \(unknown)", actual: "can't be reached: there is no host of this name")))
        let path = "/tmp/mediagraph-no-such-socket"
        #expect(try await failure(.socket(path: path))?.code == .unreachable)
    }

    @Test("NW-4 servers that aren't Janus are errors that say so: another web server, and one that doesn't speak HTTP")
    func others() async throws {
        let folder = try TemporaryFolder()
        let port = try JanusProcess.freePort()
        let web = try BackgroundProgram("python3", ["-m", "http.server", "\(port)", "--bind", "127.0.0.1"], in: folder)
        defer { web.stop() }
        #expect(try await eventually { JanusProcess.accepts(port) })
        let error = try await failure(JanusServer("http://127.0.0.1:\(port)/janus"))
        #expect(
            error.map { "\($0)" }
                == "http://127.0.0.1:\(port)/janus isn't a Janus server: it answered with the HTTP status 501; check the "
                + "address, which ends in Janus' base path, by default /janus")

        // Janus itself, at a path that isn't its own.
        let server = try await JanusProcess(hasSocket: false)
        defer { server.stop() }
        #expect(try await failure(JanusServer("http://127.0.0.1:\(server.port)/"))?.code == .unsupported)
        // The server expects TLS, and the client doesn't know that, or the other way round.
        #expect(try await failure(JanusServer("https://127.0.0.1:\(server.port)/janus")) != nil)

        let chatter = try BackgroundProgram(
            "python3",
            [
                "-c",
                """
                import socket, sys
                server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                server.bind(sys.argv[1])
                server.listen()
                client, _ = server.accept()
                client.recv(8192)
                client.send(b"hello")
                client.recv(8192)
                """,
                folder.file("chatter"),
            ], in: folder)
        defer { chatter.stop() }
        #expect(try await eventually { FileManager.default.fileExists(atPath: folder.file("chatter")) })
        var chatterError = try await failure(.socket(path: folder.file("chatter")))
        while chatterError?.code == .unreachable {
            chatterError = try await failure(.socket(path: folder.file("chatter")))
        }
        #expect(chatterError?.code == .unsupported)
    }

    @Test("NW-5 a server whose certificate can't be verified is refused")
    func certificates() async throws {
        let folder = try TemporaryFolder()
        let made = try ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file("key.pem"),
                "-out",
                folder.file("cert.pem"),
            ])
        #expect(made.status == 0, "\(made.errors)")
        let server = try await JanusProcess(certificate: folder.path, hasSocket: false)
        defer { server.stop() }
        let error = try await failure(server.http)
        #expect(
            error
                == .notPermitted(
                    .init(
                        "Janus server https://127.0.0.1:\(server.port)/janus",
                        actual:
                            "has a certificate that this machine can't verify or doesn't trust (SSL certificate problem: "
                            + "self-signed certificate)")))
    }

    @Test("SE-6 a server whose rooms have numbers is an error that says which setting to change")
    func numberedRooms() async throws {
        // Janus as it is set after its installation, but for the addresses.
        let (folder, port) = (try TemporaryFolder(), try JanusProcess.freePort())
        let settings = [
            "janus.jcfg": #"transports: { disable = "libjanus_websockets.so,libjanus_nanomsg.so" }"#,
            "janus.transport.http.jcfg":
                "general: { http = true; base_path = \"/janus\"; port = \(port); ip = \"127.0.0.1\" }",
        ]
        for (file, text) in settings { _ = try folder.write(file, text.utf8) }
        let server = try BackgroundProgram("janus", ["--configs-folder", folder.path], in: folder)
        defer { server.stop() }
        // At first, the server accepts connections without answering.
        let address = try JanusServer("http://127.0.0.1:\(port)/janus")
        var alice = ClientLog(address)
        let hasBegun = try await eventually {
            alice = ClientLog(address)
            return (try? await alice.start()) == "began"
        }
        #expect(hasBegun)
        let error = await #expect(throws: MediaGraphError.self) { try await alice.room().join("alice", display: "") }
        #expect(error?.code == .unsupported && error?.detail.actual.contains("set string_ids = true") == true)
    }

    @Test("SE-6 a message that Janus would ignore on its socket, because it is too long, is an error; HTTP takes it")
    func longMessage() async throws {
        let server = try await JanusProcess()
        defer { server.stop() }
        let display = String(repeating: "x", count: 8150)
        let (alice, bob) = (ClientLog(server.socket), ClientLog(server.http))
        for client in [alice, bob] { #expect(try await client.begins()) }
        let error = await #expect(throws: MediaGraphError.self) {
            try await alice.room().join("alice", display: display)
        }
        #expect(error?.code == .tooMuchAtOnce && error?.detail.actual.contains("8191 bytes") == true)
        // The session goes on.
        _ = try await alice.room().join("alice", display: "")
        #expect(try await bob.room().join("bob", display: display).names == ["alice": ""])
        #expect(try await alice.has("joining bob (\(display))"))
    }
}
