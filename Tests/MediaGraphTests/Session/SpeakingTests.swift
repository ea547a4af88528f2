import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests who is reported as speaking in a room.
@Suite(.timeLimit(.minutes(10))) struct SpeakingTests {
    init() throws { try Nodes.register() }

    private static let blockCaps = "audio/x-raw,format=S16LE,layout=interleaved,rate=8000,channels=2"

    /// Alice's graph, whose microphone sends what the test pushes.
    private struct Speaker {
        let graph: Graph
        let source: AppSource

        init(_ room: String, _ conversion: String = "", session: String = "") throws {
            graph = try Graph(
                """
                appsrc name=source is-live=true format=time do-timestamp=true caps=\(blockCaps) \(conversion) ! call.mic
                mediasession name=call room="\(room)" user=alice \(session)
                """)
            source = try #require(AppSource(wrapping: graph.element("source")))
        }

        /// Sends 100 ms of sound, whose samples have this value in both bytes: 0x20 is RMS −12 dB.
        func say(_ value: UInt8, times: Int = 1) {
            for _ in 0..<times {
                guard let block = Buffer(filledWith: value, count: 800 * 4) else { return }
                source.push(block)
            }
        }
    }

    private static let loud: UInt8 = 0x20

    @Test(
        "SE-12 a user's speech is told to all members, whatever the format of the sound",
        arguments: [
            "S8", "U8", "S16LE", "S16BE", "U16LE", "S24_32LE", "S24LE", "U24BE", "S20LE", "U18BE", "S32BE", "F32LE",
            "F32BE", "F64LE", "F64BE",
        ], ["interleaved", "non-interleaved"])
    func formats(format: String, layout: String) async throws {
        let room = Room.named("speech in \(format) \(layout)", over: .roomLink)
        let bob = LoggingMember("bob")
        try room.join(bob)
        // Dither of 8 bits is louder than silence.
        let alice = try Speaker(
            room.name, "! audioconvert dithering=none ! audio/x-raw,format=\(format),layout=\(layout)")
        try await alice.graph.start()
        alice.say(Self.loud, times: 2)
        alice.say(0, times: 6)
        #expect(
            waitUntil {
                bob.events.all == [
                    "+alice", "alice microphone on", "alice microphone speaks", "alice microphone is silent",
                ]
            }, "\(bob.events.all)")
        await alice.graph.stop()
        room.leave(bob)
    }

    @Test("SE-12 a user who is muted, or whose microphone ends, stops speaking first")
    func mutedSpeaker() async throws {
        // Time stands still, so no pause between two blocks ends speech.
        RoomTransportKind.registerProcesses("muted-speaker", clock: VirtualClock())
        let room = Room.named(#function, over: try #require(RoomTransportKind.named("muted-speaker")))
        let (bob, carol) = (LoggingMember("bob"), LoggingMember("carol"))
        try room.join(bob)
        let alice = try Speaker(room.name, session: "transport=muted-speaker")
        try await alice.graph.start()
        alice.say(Self.loud, times: 2)
        #expect(waitUntil { bob.events.all.last == "alice microphone speaks" })
        try room.join(carol)
        #expect(carol.events.all == ["+alice", "+bob", "alice microphone on", "alice microphone speaks"])
        let call = try alice.graph.element("call")
        try call.setProperty("mic-muted", to: true)
        let muted = ["alice microphone is silent", "alice microphone muted", "alice microphone off"]
        #expect(waitUntil { carol.events.all.suffix(3) == ArraySlice(muted) })
        // What is left out isn't measured.
        alice.say(Self.loud, times: 5)
        #expect(waitUntil { (try? call.property("stats", as: Structure.self))?["muted"] == UInt64(5) })
        try call.setProperty("mic-muted", to: false)
        // Speech begins anew.
        alice.say(Self.loud)
        #expect(waitUntil { carol.events.all.last == "alice microphone on" })
        alice.say(Self.loud)
        #expect(waitUntil { carol.events.all.last == "alice microphone speaks" })
        _ = alice.source.endOfStream()
        #expect(waitUntil { carol.events.all.last == "alice microphone off" })
        let expected =
            ["+alice", "+bob", "alice microphone on", "alice microphone speaks"] + muted
            + ["alice microphone unmuted", "alice microphone on", "alice microphone speaks"]
            + ["alice microphone is silent", "alice microphone off"]
        #expect(carol.events.all == expected)
        await alice.graph.stop()
        for member in [bob, carol] { room.leave(member) }
    }

    @Test("SE-12 a speaker whose microphone sends nothing for a second stops speaking, and goes on with the sound")
    func silentMicrophone() async throws {
        let clock = VirtualClock()
        RoomTransportKind.registerProcesses("silent-microphone", clock: clock)
        let room = Room.named(#function, over: try #require(RoomTransportKind.named("silent-microphone")))
        let bob = LoggingMember("bob")
        try room.join(bob)
        let alice = try Speaker(room.name, session: "transport=silent-microphone")
        try await alice.graph.start()
        alice.say(Self.loud, times: 3)
        #expect(waitUntil { bob.events.all.last == "alice microphone speaks" })
        let sent = { (try? alice.graph.element("call").property("stats", as: Structure.self))?["frames"] == UInt64(3) }
        #expect(waitUntil(sent))
        // Sound has come since the last check.
        #expect(try await clock.pass(.seconds(1)))
        #expect(try await clock.pass(.seconds(1)))
        #expect(try await eventually { bob.events.all.last == "alice microphone is silent" })
        alice.say(Self.loud)
        #expect(waitUntil { bob.events.all.last == "alice microphone speaks" })
        let changes = ["on", "speaks", "is silent", "speaks"].map { "alice microphone \($0)" }
        #expect(bob.events.all == ["+alice"] + changes)
        await alice.graph.stop()
        room.leave(bob)
    }

    @Test("SE-12 a speaker who leaves, or whose program dies, stops speaking for the others")
    func goneSpeaker() async throws {
        let made = Log<EchoTransport>()
        EchoTransport.register(#function, adding: made)
        let room = Room.named(#function, over: try #require(RoomTransportKind.named(#function)))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        for member in [alice, bob] { try room.join(member) }
        let microphone = StreamKey(user: "alice", kind: .microphone)
        for change in [StreamChange.status(isOn: true), .speaking(true)] { room.streamChanged(microphone, change) }
        room.leave(alice)
        let left = ["on", "speaks", "is silent", "off"].map { "alice microphone \($0)" } + ["-alice"]
        #expect(bob.events.all == ["+alice", "+echo"] + left || bob.events.all == ["+echo", "+alice"] + left)
        let echo = try #require(made.all.first)
        echo.speak()
        #expect(bob.events.all.last == "echo microphone speaks")
        echo.vanish()
        #expect(bob.events.all.suffix(2) == ["echo microphone is silent", "-echo"])
        room.leave(bob)
    }

    @Test("SE-12 in Swift and in text, sessions report who speaks, their own users included")
    func speakersOfSessions() async throws {
        RoomTransportKind.registerProcesses("speakers", clock: VirtualClock())
        let bob = try session("bob", #function) { $0.transport = "speakers" }
        let log = SessionLog()
        bob.delegate = log
        let carol = try Graph("mediasession name=call room=\"\(#function)\" transport=speakers user=carol")
        let reported = Log<String>()
        let events = carol.events
        Task {
            for await case .userSpeaking(_, let user, let isSpeaking) in events {
                reported.add("\(user) \(isSpeaking)")
            }
        }
        try await carol.start()
        try await bob.join()
        let alice = try session("alice", #function) {
            ($0.microphone, $0.transport) = ("audiotestsrc is-live=true", "speakers")
        }
        let ownLog = SessionLog()
        alice.delegate = ownLog
        try await alice.join()
        #expect(try await eventually { log.log.all.last == "alice speaks" && ownLog.log.all.last == "alice speaks" })
        #expect(alice.localUser.isSpeaking && !bob.localUser.isSpeaking)
        #expect(try bob.user("alice").isSpeaking && !alice.user("bob").isSpeaking)
        try await alice.audioHelper.muteAudio()
        let muted = ["alice is silent", "alice mutes audio", "alice audio off"]
        #expect(try await eventually { log.log.all.suffix(3) == ArraySlice(muted) }, "\(log.log.all)")
        #expect(try !bob.user("alice").isSpeaking && !alice.localUser.isSpeaking)
        #expect(try await eventually { reported.all == ["alice true", "alice false"] })
        await alice.leave()
        await bob.leave()
        await carol.stop()
    }
}
