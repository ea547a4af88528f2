import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests muting through the Swift API and between processes.
@Suite(.timeLimit(.minutes(10))) struct SessionMuteTests {
    init() throws { try Nodes.register() }

    @Test("SE-8 helpers turn the camera and the microphone off and on, and each member hears who is muted")
    func helpers() async throws {
        let (source, mic) = (RecordingSource(), RecordingMic())
        let bob = try session("bob", #function) {
            ($0.externalVideoSource, $0.virtualAudioMic) = (source, mic)
            $0.isAudioMuted = true
        }
        let alice = try session("alice", #function)
        let (events, own) = (SessionLog(), SessionLog())
        (alice.delegate, bob.delegate) = (events, own)
        try await alice.join()
        try await bob.join()
        #expect(mic.calls.all == ["micInitialize"] && bob.audioHelper.isAudioMuted)
        #expect(waitUntil { events.log.all == ["joined", "+bob", "bob mutes audio"] }, "\(events.log.all)")
        let user = try alice.user("bob")
        let frames = PipeLog()
        try user.videoPipe.subscribe(frames, resolution: .p90)
        /// Sends frames until the pipe is on. Returns false if it never is.
        func turnsOn() -> Bool {
            let begin = frames.log.all.count
            return waitUntil {
                try? source.sendPattern()
                return frames.log.all.count > begin + 1 && user.isSending(.video) && own.log.all.last == "bob video on"
            }
        }
        #expect(turnsOn())
        #expect(user.isMuted(.audio) && !user.isMuted(.video) && bob.videoHelper.isVideoOn())
        try await bob.videoHelper.stopVideo()
        #expect(source.stateCalls.last == "stopSend" && !bob.videoHelper.isVideoOn())
        #expect(bob.description.contains("camera-off=true mic-muted=true"), "\(bob.description)")
        #expect(waitUntil { frames.log.all.last == "off" && user.isMuted(.video) && !user.isSending(.video) })
        try await bob.videoHelper.startVideo()
        #expect(turnsOn())
        try await bob.audioHelper.unmuteAudio()
        #expect(source.stateCalls.last == "startSend" && mic.calls.all.last == "micStartSend")
        try await bob.audioHelper.muteAudio()
        #expect(mic.calls.all.last == "micStopSend")
        let expected = [
            "bob video on", "bob mutes video", "bob video off", "bob unmutes video", "bob video on",
            "bob unmutes audio", "bob mutes audio",
        ]
        #expect(waitUntil { events.log.all.suffix(7) == ArraySlice(expected) }, "\(events.log.all)")
        #expect(waitUntil { own.log.all.suffix(7) == ArraySlice(expected) }, "\(own.log.all)")
        await bob.leave()
        #expect(waitUntil { !user.isPresent })
        #expect(!user.isMuted(.audio))
        await alice.leave()
    }

    @Test("SE-8 turning off a camera or a microphone that the context lacks is a typed error")
    func missing() async throws {
        let alice = try session("alice", #function)
        let noVideo = await #expect(throws: MediaGraphError.self) { try await alice.videoHelper.stopVideo() }
        let noAux = await #expect(throws: MediaGraphError.self) { try await alice.videoHelper.startVideo(.aux) }
        let noAudio = await #expect(throws: MediaGraphError.self) { try await alice.audioHelper.muteAudio() }
        #expect(noVideo?.code == .noVideo && noAux?.code == .noVideo && noAudio?.code == .noAudio)
        #expect(noAux.map { "\($0)" }?.contains("set auxCamera") == true)
    }

    @Test("SE-8 other processes hear who is muted, also who joins later, in both directions")
    func processes() async throws {
        let (alice, _) = try publisherGraph("alice", room: "muted-elsewhere")
        let reported = Log<String>()
        let events = alice.events
        Task {
            for await case .userMuted(_, let user, let kind, let isMuted) in events {
                reported.add("\(user) \(kind) \(isMuted)")
            }
        }
        try alice.element("call").setProperty("camera-off", to: true)
        try await alice.start()
        let other = OtherRoom()
        let link = try RoomLink.started("muted-elsewhere", other)
        try link.claimed("bob")
        #expect(waitUntil { other.mutes.all == ["alice camera true"] }, "\(other.mutes.all)")
        try alice.element("call").setProperty("camera-off", to: false)
        #expect(waitUntil { other.mutes.all.last == "alice camera false" })
        link.streamChanged(StreamKey(user: "bob", kind: .microphone), .muted(true))
        #expect(try await eventually { reported.all.last == "bob audio true" }, "\(reported.all)")
        // Another process that connects later is told too.
        let third = OtherRoom()
        let late = try RoomLink.started("muted-elsewhere", third)
        try late.claimed("carol")
        #expect(waitUntil { third.mutes.all == ["bob mic true"] }, "\(third.mutes.all)")
        link.leave("bob")
        late.stop()
        link.stop()
        await alice.stop()
    }

    @Test("SE-8 a user who leaves muted and comes back unmuted is unmuted for the others")
    func comesBack() throws {
        let room = Room.named(#function, over: .roomLink)
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        let key = StreamKey(user: "bob", kind: .microphone)
        try room.join(alice)
        try room.join(bob)
        room.streamChanged(key, .muted(true))
        room.streamChanged(key, .status(isOn: true))
        // Even if the streams' end isn't announced.
        room.leave(bob)
        try room.join(bob)
        let carol = LoggingMember("carol")
        try room.join(carol)
        #expect(carol.events.all == ["+alice", "+bob"])
        let expected = [
            "+bob", "bob microphone muted", "bob microphone on", "bob microphone off", "-bob", "+bob", "+carol",
        ]
        #expect(alice.events.all == expected, "\(alice.events.all)")
        for member in [alice, bob, carol] { room.leave(member) }
    }
}
