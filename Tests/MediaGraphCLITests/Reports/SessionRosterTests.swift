import GStreamer
import Testing

@testable import MediaGraph
@testable import MediaGraphCLI

@Suite struct SessionRosterTests {
    private static func lines(_ events: [GraphEvent], width: Int = 79, height: Int = 20) -> [String] {
        var roster = SessionRoster()
        for event in events {
            let isTaken = roster.add(event)
            #expect(isTaken)
        }
        return roster.lines(style: .plain, width: width, height: height).map(\.text)
    }

    @Test("SE-1 a line for each session lists its users and their streams")
    func users() {
        let call: [GraphEvent] = [
            .userJoined(node: "call", user: "bob", profile: UserProfile()),
            .userStream(node: "call", user: "alice", kind: "video", isOn: true),
            .userStream(node: "call", user: "alice", kind: "audio", isOn: true),
            .userStream(node: "call", user: "bob", kind: "share", isOn: true),
        ]
        #expect(Self.lines(call) == ["  call  alice: audio, video · bob: share"])
        let off = call + [.userStream(node: "call", user: "bob", kind: "share", isOn: false)]
        #expect(Self.lines(off) == ["  call  alice: audio, video · bob"])
        let left =
            off + [
                .userLeft(node: "call", user: "bob"),
                .userJoined(node: "b", user: "eve\u{1B}[2J", profile: UserProfile()),
            ]
        #expect(Self.lines(left) == ["  b     eve␛[2J", "  call  alice: audio, video"])
        #expect(Self.lines(left, height: 1).count == 1)
        let stalled = call + [.userStalled(node: "call", user: "alice", kind: "video", isStalled: true)]
        #expect(Self.lines(stalled) == ["  call  alice: audio, video (stalled) · bob: share"])
        let again = stalled + [.userStalled(node: "call", user: "alice", kind: "video", isStalled: false)]
        #expect(Self.lines(again) == Self.lines(call))
        // A user who returns starts without streams.
        let back: [GraphEvent] = [
            .userLeft(node: "call", user: "alice"), .userStream(node: "call", user: "alice", kind: "video", isOn: true),
        ]
        #expect(Self.lines(stalled + back) == ["  call  alice: video · bob: share"])
        #expect(Self.lines(call, width: 20) == ["  call  alice: audi…"])
    }

    @Test("SE-8 a session's line shows who is muted, and a log has a line for each change")
    func muted() {
        let call: [GraphEvent] = [
            .userJoined(node: "call", user: "bob", profile: UserProfile()),
            .userStream(node: "call", user: "bob", kind: "audio", isOn: true),
            .userStream(node: "call", user: "bob", kind: "video", isOn: true),
            .userMuted(node: "call", user: "bob", kind: "audio", isMuted: true),
            .userStream(node: "call", user: "bob", kind: "audio", isOn: false),
        ]
        #expect(Self.lines(call) == ["  call  bob: audio (muted), video"])
        let unmuted = call + [.userMuted(node: "call", user: "bob", kind: "audio", isMuted: false)]
        #expect(Self.lines(unmuted) == ["  call  bob: video"])
        let back: [GraphEvent] = [
            .userLeft(node: "call", user: "bob"), .userJoined(node: "call", user: "bob", profile: UserProfile()),
        ]
        #expect(Self.lines(call + back) == ["  call  bob"])
        #expect(SessionRoster.logLine(call[3]) == "call: bob has muted audio")
        #expect(SessionRoster.logLine(unmuted[5]) == "call: bob has unmuted audio")
    }

    @Test("SE-12 a session's line shows who speaks; a log has no line for it")
    func speaking() {
        let call: [GraphEvent] = [
            .userJoined(node: "call", user: "bob", profile: UserProfile()),
            .userStream(node: "call", user: "bob", kind: "audio", isOn: true),
            .userStream(node: "call", user: "bob", kind: "video", isOn: true),
            .userSpeaking(node: "call", user: "bob", isSpeaking: true),
        ]
        #expect(Self.lines(call) == ["  call  bob: audio (speaking), video"])
        let stalled = GraphEvent.userStalled(node: "call", user: "bob", kind: "audio", isStalled: true)
        #expect(Self.lines(call + [stalled]) == ["  call  bob: audio (stalled), video"])
        let silent = call + [.userSpeaking(node: "call", user: "bob", isSpeaking: false)]
        #expect(Self.lines(silent) == ["  call  bob: audio, video"])
        #expect(SessionRoster.logLine(call[3]) == nil)
    }

    @Test("SE-12 a session's line shows the numbers of its streams, if they fit")
    func numbers() {
        var roster = SessionRoster()
        func line(_ width: Int = 79) -> [String] { roster.lines(style: .plain, width: width, height: 20).map(\.text) }
        for event: GraphEvent in [
            .userJoined(node: "call", user: "bob", profile: UserProfile()),
            .userStream(node: "call", user: "alice", kind: "video", isOn: true),
            .userStream(node: "call", user: "bob", kind: "audio", isOn: true),
            .userStream(node: "call", user: "bob", kind: "video", isOn: true),
        ] {
            _ = roster.add(event)
        }
        let sent = StreamStatistics(
            user: "alice", stream: .video, direction: .sent, framesPerSecond: 29.97, bitsPerSecond: 1_250_000,
            width: 640, height: 360, lost: 3)
        let received = StreamStatistics(
            user: "bob", stream: .audio, direction: .received, framesPerSecond: 50, bitsPerSecond: 64_400)
        roster.set(SessionStatistics(node: "call", streams: [sent, received]))
        #expect(
            line(90) == ["  call  alice: video 640×360 30 fps 1.3 Mbit/s, 3 lost · bob: audio 64 kbit/s, video"])
        #expect(line() == ["  call  alice: video · bob: audio, video"])
        _ = roster.add(.userStream(node: "call", user: "alice", kind: "video", isOn: false))
        #expect(line() == ["  call  alice · bob: audio 64 kbit/s, video"])
        // Over a network, its bit rate is shown instead of the raw one.
        var crossing = received
        crossing.network = NetworkStatistics(
            bitsPerSecond: 31_000, packetLoss: 0.002, roundTripTime: .microseconds(4200))
        roster.set(SessionStatistics(node: "call", streams: [crossing]))
        #expect(line(90) == ["  call  alice · bob: audio 31 kbit/s, 1 % of packets lost, 4.2 ms round trip, video"])
        crossing.network = NetworkStatistics(bitsPerSecond: 31_000, roundTripTime: .milliseconds(120))
        roster.set(SessionStatistics(node: "call", streams: [crossing]))
        #expect(line() == ["  call  alice · bob: audio 31 kbit/s, 120 ms round trip, video"])
        roster.set(SessionStatistics(node: "call", streams: []))
        #expect(line() == ["  call  alice · bob: audio, video"])
    }

    @Test("SE-11 a session's line shows display names, and a log has a line for each change and command")
    func profiles() {
        let alice = UserProfile(displayName: "Alice\u{1B}[2J", customData: "red")
        let call: [GraphEvent] = [
            .userJoined(node: "call", user: "alice", profile: alice),
            .userStream(node: "call", user: "alice", kind: "video", isOn: true),
        ]
        #expect(Self.lines(call) == ["  call  alice (Alice␛[2J): video"])
        let renamed = GraphEvent.userProfile(node: "call", user: "alice", profile: UserProfile(displayName: "Al"))
        #expect(Self.lines(call + [renamed]) == ["  call  alice (Al): video"])
        #expect(SessionRoster.logLine(call[0]) == "call: alice (Alice␛[2J) is here")
        // A change of custom data would be the same line again.
        #expect(SessionRoster.logLine(renamed) == nil)
        func line(_ command: SessionCommand, isForAll: Bool) -> String? {
            SessionRoster.logLine(.userCommand(node: "call", user: "bob", command: command, isForAll: isForAll))
        }
        #expect(line(.text("raise\nyour hands"), isForAll: true) == "call: bob to all: raise your hands")
        #expect(line(.bytes([1]), isForAll: false) == "call: bob: 1 byte")
        #expect(line(.bytes([1, 2]), isForAll: false) == "call: bob: 2 bytes")
    }

    @Test("SE-1 a session's line lists the users it waits for until they join")
    func waiting() {
        var roster = SessionRoster([
            SessionSubscriptions(node: "call", user: "alice", users: ["alice", "bob", "you"])
        ])
        func lines() -> [String] { roster.lines(style: .plain, width: 79, height: 5).map(\.text) }
        #expect(lines() == ["  call  waiting for bob, you (not in the room)"])
        _ = roster.add(.userJoined(node: "call", user: "bob", profile: UserProfile()))
        #expect(lines() == ["  call  bob · waiting for you (not in the room)"])
        _ = roster.add(.userJoined(node: "call", user: "you", profile: UserProfile()))
        #expect(lines() == ["  call  bob · you"])
        #expect(
            SessionRoster.logLines([SessionSubscriptions(node: "call", user: "alice", users: ["alice", "bob"])])
                == ["call: alice waits for bob"])
        #expect(SessionRoster.logLines([SessionSubscriptions(node: "call", user: "a", users: ["a"])]).isEmpty)
    }

    @Test("GR-3 the roster ignores other events, and a log has a line for each change")
    func others() {
        var roster = SessionRoster()
        let isTaken = roster.add(.stateChanged(.playing))
        #expect(!isTaken)
        #expect(roster.lines(style: .plain, width: 80, height: 5).isEmpty)
        #expect(SessionRoster.logLine(.stateChanged(.playing)) == nil)
        #expect(
            SessionRoster.logLine(.userJoined(node: "call", user: "bob", profile: UserProfile())) == "call: bob is here"
        )
        #expect(
            SessionRoster.logLine(.userStream(node: "call", user: "bob", kind: "video", isOn: false))
                == "call: bob's video is off")
        #expect(SessionRoster.logLine(.userLeft(node: "call", user: "bob")) == "call: bob has left")
    }
}
