import Foundation
import MediaGraph
import Testing

@testable import MediaGraphJanus

/// Tests of the rules by which a session with a Janus server is kept, without a server and without a clock.
@Suite(.timeLimit(.minutes(10))) struct JanusSessionTests {
    /// A session, and what it does in the test's time.
    private struct Script {
        static let server = JanusServer.http(URL(string: "http://127.0.0.1:1/janus")!)
        static let secrets = JanusSecrets(apiSecret: Secret("seven"), token: Secret("eight"))

        var session: JanusSession
        /// In nanoseconds.
        var now: UInt64 = 1_000_000_000

        /// - Parameter random: What `random` returns; pauses aren't changed by 0.5.
        init(random: Double = 0.5) {
            session = JanusSession(server: Self.server, secrets: Self.secrets, random: { random })
        }

        mutating func handle(_ input: JanusSession.Input) -> [String] { session.handle(input, at: now).map(\.text) }

        /// Passes a message, given as JSON, on to the session.
        mutating func receive(_ json: String) throws -> [String] {
            try JanusMessage.list(from: Data(json.utf8)).flatMap { handle(.received($0)) }
        }

        /// Moves the time on to the session's deadline. Returns how long that took, and what the session does then.
        mutating func tick() throws -> (passed: Duration, actions: [String]) {
            let deadline = try #require(session.deadline)
            defer { now = deadline }
            let passed = Duration.nanoseconds(deadline - now)
            return (passed, session.handle(.tick, at: deadline).map(\.text))
        }

        /// Opens session 7.
        mutating func open() throws {
            _ = handle(.start)
            _ = try receive(#"{"janus":"success","transaction":"session-1","data":{"id":7}}"#)
        }
    }

    private static let lost = MediaGraphError.unreachable(.init("it", actual: "is gone"))

    @Test("SE-6 a Janus session is created on the first connection, and has secrets in every message")
    func opening() throws {
        var script = Script()
        #expect(script.handle(.start) == ["connect", "create session-1"])
        #expect(
            try script.receive(#"{"janus":"success","transaction":"session-1","data":{"id":7}}"#)
                == ["began 7"])
        let actions = script.session.handle(.request(.attach, transaction: "a"), at: script.now)
        guard case .send(let envelope)? = actions.first else { throw Unexpected() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(envelope), as: UTF8.self)
                == #"{"apisecret":"seven","janus":"attach","plugin":"janus.plugin.videoroom","session_id":7,"token":"eight","transaction":"a"}"#
        )
        #expect(!"\(Script.secrets)".contains("seven") && !"\(envelope)".contains("seven"))
        var dumped = ""
        dump(envelope, to: &dumped)
        #expect(!dumped.contains("eight"))
    }

    private struct Unexpected: Error {}

    @Test("NW-4 a Janus server that can't be reached the first time is an error, and no second attempt follows")
    func firstFailure() throws {
        var script = Script()
        _ = script.handle(.start)
        #expect(script.handle(.disconnected(Self.lost)) == ["failed it is gone"])
        #expect(script.session.deadline == nil)
        #expect(script.handle(.tick) == [] && script.handle(.start) == [])
    }

    @Test("NW-4 a Janus server that refuses the session, or doesn't answer within 5 s, is an error the first time")
    func refusedSession() throws {
        var script = Script()
        _ = script.handle(.start)
        let refused = try script.receive(
            #"{"janus":"error","transaction":"session-1","error":{"code":403,"reason":"Unauthorized"}}"#)
        #expect(refused.first == "disconnect" && refused.count == 2)
        #expect(refused.last?.hasPrefix("failed Janus server http://127.0.0.1:1/janus doesn't permit") == true)

        script = Script()
        _ = script.handle(.start)
        let (passed, actions) = try script.tick()
        #expect(passed == .seconds(5))
        #expect(
            actions == ["disconnect", "failed Janus server http://127.0.0.1:1/janus didn't answer within 5 s"])
    }

    @Test("NW-4 a Janus session is kept alive every 4 s; a missing answer means after 5 s that the server is lost")
    func keepAlive() throws {
        var script = Script()
        try script.open()
        for number in 2...4 {
            let (passed, actions) = try script.tick()
            #expect(passed == .seconds(4))
            #expect(actions == ["keepAlive session-\(number) in 7"])
            #expect(try script.receive(#"{"janus":"ack","transaction":"session-\#(number)","session_id":7}"#) == [])
        }
        #expect(try script.tick().actions == ["keepAlive session-5 in 7"])
        #expect(try script.tick().actions == ["keepAlive session-6 in 7"])
        let (passed, actions) = try script.tick()
        #expect(passed == .seconds(1))
        #expect(actions == ["disconnect", "lost Janus server http://127.0.0.1:1/janus didn't answer within 5 s"])
    }

    @Test("NW-4 after a loss, a new session begins on a new connection, and the old one is ended")
    func newSession() throws {
        var script = Script()
        try script.open()
        #expect(script.handle(.disconnected(Self.lost)) == ["lost it is gone"])
        let (passed, actions) = try script.tick()
        #expect(passed == .milliseconds(250))
        #expect(actions == ["connect", "destroy session-2 in 7", "create session-3"])
        // The server has been restarted, and doesn't know the old session.
        let unknown = #"{"janus":"error","transaction":"session-2","error":{"code":458,"reason":"No such session 7"}}"#
        #expect(try script.receive(unknown) == [])
        #expect(
            try script.receive(#"{"janus":"success","transaction":"session-3","data":{"id":8}}"#) == ["began 8"])
        #expect(try script.receive(#"{"janus":"event","session_id":7,"sender":9}"#) == [], "an old session's")
        #expect(try script.receive(#"{"janus":"event","session_id":8,"sender":9}"#) == ["announce event"])
        // The connection is lost again while it is being opened: session 8 has to be ended then.
        _ = script.handle(.disconnected(Self.lost))
        #expect(try script.tick().actions == ["connect", "destroy session-4 in 8", "create session-5"])
        _ = script.handle(.disconnected(Self.lost))
        #expect(try script.tick().actions == ["connect", "destroy session-6 in 8", "create session-7"])
    }

    @Test("NW-4 the pauses between attempts to connect double from 0.25 s to 8 s, and differ by a quarter")
    func backOff() throws {
        for (random, factor) in [(0.5, 1.0), (0, 0.75), (1, 1.25)] {
            var script = Script(random: random)
            try script.open()
            #expect(script.handle(.disconnected(Self.lost)) == ["lost it is gone"])
            for pause in [0.25, 0.5, 1, 2, 4, 8, 8, 8] {
                #expect(try script.tick().passed == .seconds(pause * factor))
                // The loss has been reported.
                #expect(script.handle(.disconnected(Self.lost)) == [])
            }
        }
        var script = Script()
        try script.open()
        // A server that accepts each session and refuses its events isn't asked at once again and again.
        for (pause, number) in [(0.25, 3), (0.5, 5), (1, 7)] {
            let refused = #"{"janus":"error","session_id":7,"error":{"code":403,"reason":"Unauthorized"}}"#
            #expect(try script.receive(refused).first == "disconnect")
            #expect(try script.tick().passed == .seconds(pause))
            _ = try script.receive(#"{"janus":"success","transaction":"session-\#(number)","data":{"id":7}}"#)
        }
        #expect(try script.tick().actions == ["keepAlive session-8 in 7"])
        _ = try script.receive(#"{"janus":"ack","transaction":"session-8","session_id":7}"#)
        _ = script.handle(.disconnected(Self.lost))
        #expect(try script.tick().passed == .milliseconds(250), "the first pause again")
    }

    @Test("SE-6 a request is answered by the event after its ack, whichever of the two arrives first")
    func requests() throws {
        var script = Script()
        try script.open()
        #expect(script.handle(.request(.message(handle: 9, .leave), transaction: "a")) == ["message a in 7"])
        #expect(try script.receive(#"{"janus":"ack","transaction":"a","session_id":7}"#) == [])
        let event =
            #"{"janus":"event","transaction":"a","session_id":7,"sender":9,"#
            + #""plugindata":{"plugin":"janus.plugin.videoroom","data":{"videoroom":"event","leaving":"ok"}}}"#
        #expect(try script.receive(event) == ["answer a: event leaving ok"])
        #expect(try script.receive(event) == ["announce event leaving ok"], "no request waits for it any more")

        _ = script.handle(.request(.message(handle: 9, .leave), transaction: "a"))
        #expect(try script.receive(event) == ["answer a: event leaving ok"])
        #expect(try script.receive(#"{"janus":"ack","transaction":"a","session_id":7}"#) == [])

        #expect(script.handle(.request(.attach, transaction: "b")) == ["attach b in 7"])
        #expect(
            try script.receive(
                #"{"janus":"error","session_id":7,"transaction":"b","error":{"code":460,"reason":"No such plugin"}}"#)
                == [
                    "answer b: Janus server http://127.0.0.1:1/janus has no VideoRoom (No such plugin); enable the plugin "
                        + "janus.plugin.videoroom there"
                ])
    }

    @Test("SE-6 requests fail at once while there is no session, and when the connection is lost or the session ends")
    func failedRequests() throws {
        var script = Script()
        let absent = ["answer a: Janus server http://127.0.0.1:1/janus isn't connected"]
        #expect(script.handle(.request(.attach, transaction: "a")) == absent)
        try script.open()
        _ = script.handle(.request(.attach, transaction: "a"))
        _ = script.handle(.request(.attach, transaction: "b"))
        #expect(
            script.handle(.disconnected(Self.lost)) == [
                "answer a: it is gone", "answer b: it is gone", "lost it is gone",
            ])
        #expect(script.handle(.request(.attach, transaction: "a")) == absent)

        script = Script()
        try script.open()
        _ = script.handle(.request(.attach, transaction: "a"))
        #expect(
            script.handle(.stop) == [
                "answer a: the connection to Janus server http://127.0.0.1:1/janus was closed",
                "destroy session-2 in 7", "disconnect",
            ])
        #expect(script.handle(.request(.attach, transaction: "a")) == absent && script.session.deadline == nil)
    }

    @Test("NW-4 a plugin that is slow to answer an acknowledged request costs that request alone, after 15 s")
    func slowPlugin() throws {
        var script = Script()
        try script.open()
        _ = script.handle(.request(.message(handle: 9, .leave), transaction: "a"))
        #expect(try script.receive(#"{"janus":"ack","transaction":"a","session_id":7}"#) == [])
        for (number, pause) in [(2, 4), (3, 4), (4, 4)] {
            let (passed, actions) = try script.tick()
            #expect(passed == .seconds(pause))
            #expect(actions == ["keepAlive session-\(number) in 7"])
            _ = try script.receive(#"{"janus":"ack","transaction":"session-\#(number)","session_id":7}"#)
        }
        let (passed, actions) = try script.tick()
        #expect(passed == .seconds(3))
        #expect(actions == ["answer a: Janus server http://127.0.0.1:1/janus didn't answer within 15 s"])
        #expect(try script.tick().actions == ["keepAlive session-5 in 7"])
    }

    @Test("NW-4 a session that the server ends for silence, or says it doesn't have, is replaced at once")
    func endedByServer() throws {
        var script = Script()
        try script.open()
        let actions = try script.receive(#"{"janus":"timeout","session_id":7}"#)
        #expect(
            actions == [
                "lost Janus server http://127.0.0.1:1/janus has ended the session: nothing arrived from here",
                "create session-2",
            ])
        _ = try script.receive(#"{"janus":"success","transaction":"session-2","data":{"id":8}}"#)
        #expect(try script.receive(#"{"janus":"timeout","session_id":7}"#) == [], "an old session")
        // The answer to a long poll, and to a request.
        #expect(
            try script.receive(#"{"janus":"error","error":{"code":458,"reason":"No such session"}}"#).last
                == "create session-3")
        _ = try script.receive(#"{"janus":"success","transaction":"session-3","data":{"id":9}}"#)
        _ = script.handle(.request(.attach, transaction: "a"))
        let refused = try script.receive(
            #"{"janus":"error","transaction":"a","error":{"code":458,"reason":"No such session"}}"#)
        #expect(refused.count == 3 && refused.last == "create session-4")
    }

    @Test("NW-4 a session can be stopped at any time; nothing follows")
    func stopping() throws {
        var idle = Script()
        #expect(idle.handle(.stop) == [] && idle.handle(.start) == [])
        var opening = Script()
        _ = opening.handle(.start)
        #expect(opening.handle(.stop) == ["disconnect"])
        #expect(try opening.receive(#"{"janus":"success","transaction":"session-1","data":{"id":7}}"#) == [])
        var paused = Script()
        try paused.open()
        _ = paused.handle(.disconnected(Self.lost))
        #expect(paused.handle(.stop) == [] && paused.session.deadline == nil && paused.handle(.tick) == [])
    }

    @Test("NW-4 messages that this client doesn't know are ignored, and what isn't a message is an error")
    func unknownMessages() throws {
        var script = Script()
        try script.open()
        #expect(try script.receive(#"{"janus":"novelty","session_id":7}"#) == [])
        #expect(
            try script.receive(
                #"[{"janus":"event","session_id":7,"plugindata":{"plugin":"x","data":{"videoroom":5}}},"#
                    + #"{"janus":"event","session_id":7,"plugindata":{"data":{"videoroom":"event","leaving":"bob"}}}]"#)
                == ["announce event", "announce event leaving bob"])
        for text in ["", "5", "[]x", "{}", "<html>", #"["janus"]"#] {
            #expect(throws: (any Error).self) { try JanusMessage.list(from: Data(text.utf8)) }
        }
    }
}

extension JanusSession.Action {
    /// The action in a few words.
    fileprivate var text: String {
        switch self {
        case .connect: return "connect"
        case .disconnect: return "disconnect"
        case .send(let envelope):
            var request = "\(envelope.content)"
            if case .request(let content) = envelope.content { request = "\(content)" }
            return "\(request.prefix { $0.isLetter }) \(envelope.transaction)"
                + (envelope.session.map { " in \($0)" } ?? "")
        case .began(let session): return "began \(session)"
        case .lost(let error): return "lost \(error)"
        case .failed(let error): return "failed \(error)"
        case .answer(let transaction, .success(let message)): return "answer \(transaction): \(message.text)"
        case .answer(let transaction, .failure(let error)): return "answer \(transaction): \(error)"
        case .announce(let message): return "announce \(message.text)"
        }
    }
}

extension JanusMessage {
    fileprivate var text: String {
        (kind.map { "\($0)" } ?? "?") + (event?.leaving.map { " leaving \($0)" } ?? "")
    }
}
