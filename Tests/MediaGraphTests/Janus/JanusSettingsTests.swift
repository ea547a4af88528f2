import Foundation
import LocalSockets
import MediaGraph
import TestSupport
import Testing

@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests of what a description says about a server.
@Suite(.timeLimit(.minutes(10))) struct JanusSettingsTests {
    @Test(
        "SE-6 a server is a URL of its HTTP interface, or the path of its socket",
        arguments: [
            ("http://10.0.0.1:8088/janus", "http://10.0.0.1:8088/janus"),
            ("HTTPS://example.com/janus", "HTTPS://example.com/janus"),
            ("http://[fd00::2]:8088/janus", "http://[fd00::2]:8088/janus"),
            ("unix:/run/janus.sock", "unix:/run/janus.sock"), ("unix:///run/janus.sock", "unix:/run/janus.sock"),
        ])
    func servers(_ text: String, _ description: String) throws {
        #expect("\(try JanusServer(text))" == description)
    }

    @Test(
        "SE-6 another text is refused as a server, with examples",
        arguments: [
            "", "janus", "ws://10.0.0.1:8188", "http://", "http:///janus", "unix:", "unix:run/janus.sock",
            "10.0.0.1:8088",
        ])
    func wrongServers(_ text: String) {
        let error = #expect(throws: MediaGraphError.self) { try JanusServer(text) }
        #expect(
            error.map { "\($0)" }
                == "server: expected a URL of a Janus server, such as http://192.168.1.2:8088/janus, "
                + "https://example.com/janus or unix:/run/janus.sock, got \"\(text)\"")
    }

    @Test(
        "NW-2 check finds a video-encoder that doesn't make VP8 or H.264, and accepts one that does",
        arguments: [
            ("x264enc tune=zerolatency", true), ("vp8enc", true), ("openh264enc ! h264parse", true),
            ("nosuchenc", false),
            ("jpegenc", false), ("identity", false), ("vp8enc ! fakesink", false), ("vp8enc nosuch=1", false),
        ])
    func videoEncoder(_ elements: String, isRight: Bool) throws {
        try Nodes.register()
        let found = try problems(
            in: "mediasession transport=janus server=http://10.0.0.1:8088/janus video-encoder=\"\(elements)\"")
        #expect(found.count == (isRight ? 0 : 1))
        let expected = "video-encoder: expected elements that encode video as VP8 or H.264, such as"
        #expect(found.allSatisfy { $0.contains(expected) && $0.contains("got \"\(elements)\"") }, "\(found)")
    }

    @Test(
        "NW-5 a server's URL with a secret in it is refused, and the secret isn't repeated",
        arguments: [
            "http://me:seven@h/janus", "http://seven@h/janus", "https://h/janus?token=seven", "wss://h?token=seven",
            "http://me:seven@/janus", "http://me:seven@h:x/", "http://h/janus#token=seven",
        ])
    func secretInURL(_ text: String) {
        let error = #expect(throws: MediaGraphError.self) { try JanusServer(text) }
        #expect(error?.code == .invalidParameter && error.map { "\($0)".contains("seven") } == false)
    }

    @Test("SE-6 a socket's path that is too long for the system is refused, rather than cut")
    func longPath() {
        let path = "/" + String(repeating: "x", count: 107)
        let error = #expect(throws: MediaGraphError.self) { try JanusServer("unix:\(path)") }
        #expect(
            error.map { "\($0)" } == "server: expected a socket's path of up to 107 bytes, got one of 108")
        #expect(throws: Never.self) { try JanusServer("unix:\(path.dropLast())") }
        #expect(throws: LocalSocket.Failure.self) { try LocalSocket.connected(to: path) }
    }

    @Test("NW-5 secrets come from files and the environment, and aren't shown when they are printed")
    func secrets() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("pin", "sev en\r\n".utf8)
        let secret = try Secret("file:\(path)", of: "room-pin")
        #expect(secret.value == "sev en")
        #expect(try Secret("env:PIN", of: "room-pin", environment: ["PIN": "eight"]).value == "eight")
        let secrets = JanusSecrets(apiSecret: secret, token: secret, roomPIN: secret, adminKey: secret)
        let request = VideoRoomRequest.join(room: "a", user: "b", display: "", pin: secret, token: secret)
        for value: Any in [secret, secrets, request] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!"\(value) \(String(reflecting: value)) \(dumped)".contains("sev"))
        }
    }

    @Test("NW-3 a STUN or TURN server that GStreamer couldn't read is refused, and a password isn't repeated")
    func iceServers() throws {
        let folder = try TemporaryFolder()
        func refusal(stun: String = "", turn: String = "") throws -> String? {
            var settings = RoomTransportSettings()
            (settings.server, settings.stunServer) = ("http://10.0.0.1:8088/janus", stun)
            if !turn.isEmpty { settings.turnServer = "file:\(try folder.write("turn", turn.utf8))" }
            do {
                _ = try JanusSettings(settings)
                return nil
            } catch { return "\(error)" }
        }
        for server in ["stun://10.0.0.1:3478", "stun://stun.example.com"] { #expect(try refusal(stun: server) == nil) }
        for server in ["turn://me:seven@10.0.0.1:3478", "turns://me:seven@turn.example.com"] {
            #expect(try refusal(turn: server) == nil)
        }
        for server in ["10.0.0.1:3478", "stun:10.0.0.1", "stun://", "http://10.0.0.1"] {
            #expect(
                try refusal(stun: server) == "stun-server: expected stun://HOST:PORT, got \"\(server)\"")
        }
        for server in ["me:seven@10.0.0.1", "turn:me:seven@10.0.0.1", "stun://me:seven@10.0.0.1"] {
            #expect(
                try refusal(turn: server)
                    == "turn-server: expected a file or variable that contains turn://USER:PASSWORD@HOST:PORT or "
                    + "turns://…, got other contents")
        }
    }

    @Test("NW-5 a secret in a description, a missing file or variable, and an empty one are refused without the secret")
    func wrongSecrets() throws {
        let folder = try TemporaryFolder()
        let empty = try folder.write("empty", "\n".utf8)
        let expected: [(String, String)] = [
            (
                "seven",
                "room-pin: expected file:PATH or env:NAME, so that the secret itself isn't visible in ps, logs and "
                    + "pictures, got another text"
            ),
            ("env:NONE", "room-pin: the environment variable NONE isn't set"),
            ("env:EMPTY", "room-pin: the environment variable EMPTY is empty"),
            ("file:/no/such", "room-pin: the file /no/such can't be read"),
            ("file:\(empty)", "room-pin: the file \(empty) is empty"),
        ]
        for (text, message) in expected {
            let error = #expect(throws: MediaGraphError.self) {
                try Secret(text, of: "room-pin", environment: ["EMPTY": ""])
            }
            #expect(error.map { "\($0)" } == message)
        }
    }
}
