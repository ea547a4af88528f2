import Foundation
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphJanus
@testable import MediaGraphSession

/// Tests what programs in a Janus room tell each other, without a server.
@Suite struct RoomMessageTests {
    @Test("SE-11 a message through a Janus room's data channel arrives as it was sent")
    func roundTrip() throws {
        var state = UserState(displayName: "Bøb 🎥", customData: "{}\n\"")
        state.streams = [
            "camera": UserState.Stream(isOn: true, hasAlpha: true, reference: try Self.reference(), flip: 1),
            "mic": UserState.Stream(isMuted: true),
        ]
        state.receivesFrom = ["alice"]
        state.wants = ["alice": ["camera": .p180, "mic": .native]]
        let message = try #require(RoomMessage(RoomMessage(state: state).text))
        #expect(message.state == state && message.command == nil)
        for command in [SessionCommand.text("hällo / \u{1}"), .text(""), .bytes([0, 255, 13]), .bytes([])] {
            let sent = RoomMessage(command: UserCommand(command, to: "alice"))
            let received = try #require(RoomMessage(sent.text)?.command)
            #expect(received.command == command && received.recipient == "alice")
        }
    }

    private static func reference() throws -> TimeReference {
        let text = #"{"payload-end":"000102030405060708090a0b0c0d0e0f","time":18446744073709551615}"#
        return try JSONDecoder().decode(TimeReference.self, from: Data(text.utf8))
    }

    @Test("SE-7 a stream's state without a time reference and a flip, as from an older program, is read")
    func older() throws {
        let text = """
            {"mediagraph":1,"state":{"customData":"","displayName":"","receivesFrom":[],"streams":{"camera":
            {"alpha":false,"muted":false,"on":true,"speaking":false}},"wants":{}}}
            """
        let details = try #require(RoomMessage(text)?.state?.streams["camera"]?.details)
        #expect(details == OutgoingPackets.Details())
        var stream = UserState.Stream()
        let reference = try Self.reference()
        stream.details = .init(reference: reference, flip: .xy)
        #expect(stream.flip == 3 && stream.details == .init(reference: reference, flip: .xy))
    }

    @Test("SE-11 the longest command fits into a message of a data channel, whatever is in it")
    func longest() throws {
        for character in ["a", "\u{1}", "\"", "\\", "é", "🎥"] {
            let text = String(repeating: character, count: SessionCommand.longest / character.utf8.count)
            let sent = RoomMessage(command: UserCommand(.text(text), to: nil)).text
            #expect(sent.utf8.count <= 64 * 1024, "\(character): \(sent.utf8.count) bytes")
            #expect(RoomMessage(sent)?.command?.command == .text(text))
        }
    }

    @Test(
        "SE-11 a text that isn't a valid message of a Janus room is ignored",
        arguments: [
            "", "nonsense", "[]", "{}", #"{"mediagraph":2}"#, #"{"mediagraph":1,"state":{"streams":7}}"#,
            #"""
            {"mediagraph":1,"state":{"displayName":"","customData":"","streams":{},"receivesFrom":[],
             "wants":{"a":{"camera":-3}}}}
            """#,
        ])
    func invalid(_ text: String) { #expect(RoomMessage(text) == nil) }

    @Test("SE-11 a command that is too long, or has no content, is ignored")
    func invalidCommands() throws {
        let long = String(repeating: "x", count: SessionCommand.longest + 1)
        for body in [#"{"text":"\#(long)"}"#, #"{"text":"a\u0000b"}"#, "{}"] {
            let message = try #require(RoomMessage(#"{"mediagraph":1,"command":\#(body)}"#))
            #expect(message.command != nil && message.command?.command == nil)
        }
    }

    @Test("SE-7 the changes between two states of a stream lead to the new one, and speech is within \"on\"")
    func changes() {
        let silent = UserState.Stream(isOn: true)
        let speaking = UserState.Stream(isOn: true, isSpeaking: true)
        let muted = UserState.Stream(isMuted: true)
        #expect(speaking.changes(since: UserState.Stream()) == [.status(isOn: true), .speaking(true)])
        #expect(muted.changes(since: speaking) == [.speaking(false), .muted(true), .status(isOn: false)])
        #expect(silent.changes(since: silent) == [])
        for (old, new) in [(silent, muted), (muted, speaking), (speaking, silent)] {
            var state = old
            for change in new.changes(since: old) { state.apply(change) }
            #expect(state == new)
        }
    }

    @Test("SE-7 m-lines are what their sender calls them, and otherwise cameras and a microphone in their order")
    func kinds() throws {
        func kinds(_ streams: String, isShare: Bool = false) throws -> [Int: StreamKind] {
            let streams = try JSONDecoder().decode([VideoRoomEvent.Stream].self, from: Data(streams.utf8))
            return VideoRoom.Subscription(handle: 1, offer: .init(.offer, sdp: ""), streams: streams)
                .kinds(ofShare: isShare)
        }
        // Whoever shares sends nothing but a share, and others don't send one.
        let both = """
            [{"type":"video","mindex":0,"feed_description":"camera"},
             {"type":"video","mindex":1,"feed_description":"share"}]
            """
        #expect(try kinds(both) == [0: .camera, 1: .cameraAux])
        #expect(try kinds(both, isShare: true) == [0: .share])
        #expect(
            try kinds(
                """
                [{"type":"video","mindex":0,"feed_description":"camera_aux"},
                 {"type":"audio","mindex":1,"feed_description":"mic"},{"type":"data","mindex":2}]
                """) == [0: .cameraAux, 1: .microphone])
        // A browser's feed: no names, an unknown kind, and more than there are kinds for.
        #expect(
            try kinds(
                """
                [{"type":"audio","mindex":0},{"type":"video","mindex":1},{"type":"smell","mindex":2},
                 {"type":"video","mindex":3,"disabled":true},{"type":"video","mindex":4},{"type":"video","mindex":5}]
                """) == [0: .microphone, 1: .camera, 4: .cameraAux])
        // A name of another kind doesn't count, and none counts twice.
        #expect(
            try kinds(
                """
                [{"type":"audio","mindex":0,"feed_description":"camera"},
                 {"type":"video","mindex":1,"feed_description":"camera"},
                 {"type":"video","mindex":2,"feed_description":"camera"}]
                """) == [0: .microphone, 1: .camera])
    }

    @Test("SE-6 in Swift, a session's transport is the same as the properties in a description")
    func transport() throws {
        try Nodes.register()
        var context = SessionContext(user: "alice", room: "demo")
        #expect(!context.description().contains("transport"))
        context.transport = .janus("http://127.0.0.1:8088/janus")
        context.transport.roomPIN = "env:ROOM_PIN"
        #expect(
            context.description()
                == #"mediasession name=session room="demo" user="alice" transport="janus" server="http://127.0.0.1:8088/janus" room-pin="env:ROOM_PIN""#
        )
    }
}
