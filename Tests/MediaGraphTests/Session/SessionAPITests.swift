import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests sessions through their Swift API.
@Suite(.timeLimit(.minutes(10))) struct SessionAPITests {
    init() throws { try Nodes.register() }

    /// Logs the audio that a context's virtual speaker gets.
    private struct SpeakerLog: VirtualSpeaker, Sendable {
        let streams = Log<String>()
        func mixedAudioReceived(_ frame: borrowing AudioFrame) { streams.add("mixed") }
        func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) { streams.add(user.name) }
    }

    @Test("SE-1 users see each other join, send video, read each other's and their own, and leave")
    func meeting() async throws {
        let alice = try session("alice", #function)
        let events = SessionLog()
        alice.delegate = events
        try await alice.join()
        let source = RecordingSource()
        let bob = try session("bob", #function) { $0.externalVideoSource = source }
        try await bob.join()
        #expect(waitUntil { events.log.all == ["joined", "+bob"] })
        let user = try alice.user("bob")
        #expect(alice.remoteUsers == [user] && !user.isSending(.video))
        let (frames, own) = (PipeLog(), PipeLog())
        try user.videoPipe.subscribe(frames, resolution: .p90)
        try bob.localUser.videoPipe.subscribe(own, resolution: .p90)
        #expect(
            waitUntil {
                try? source.sendPattern()
                return frames.log.all.count > 4 && own.log.all.count > 4
            })
        #expect(frames.log.all.prefix(2) == ["on", "32x18"] && own.log.all.prefix(2) == ["on", "32x18"])
        #expect(frames.identities.all.allSatisfy { $0.user == "bob" && $0.kind == .camera(.main) })
        #expect(waitUntil { user.isSending(.video) })
        await bob.leave()
        #expect(waitUntil { frames.log.all.last == "off" })
        #expect(waitUntil { events.log.all == ["joined", "+bob", "bob video on", "bob video off", "-bob"] })
        #expect(!user.isPresent)
        await alice.leave()
        #expect(waitUntil { events.log.all.last == "left" })
    }

    @Test("RP-1 reading an absent user or a missing share, and unsubscribing an unknown delegate, are typed errors")
    func refusals() async throws {
        let alice = try session("alice", #function)
        try await alice.join()
        #expect(
            throws: MediaGraphError.noSuchUser(
                .init("user \"bob\"", actual: "isn't in the room; no other user is there"))
        ) {
            try alice.user("bob")
        }
        let bob = try session("bob", #function)
        try await bob.join()
        #expect(waitUntil { (try? alice.user("bob")) != nil })
        let user = try alice.user("bob")
        #expect(throws: MediaGraphError.noShare(.init("user \"bob\"", actual: "doesn't share anything"))) {
            try user.sharePipe
        }
        let frames = PipeLog()
        let wrong = await #expect(throws: MediaGraphError.self) { try await user.videoPipe.unsubscribe(frames) }
        #expect(wrong?.code == .wrongUsage)
        try user.videoPipe.subscribe(frames, resolution: .p360)
        await bob.leave()
        #expect(waitUntil { !user.isPresent })
        let gone = #expect(throws: MediaGraphError.self) { try user.videoPipe.subscribe(PipeLog(), resolution: .p90) }
        #expect(gone?.code == .noSuchUser)
        await alice.leave()
    }

    @Test(
        "SE-1 subscribing and unsubscribing repeatedly, also inside callbacks, leaves nothing behind"
    )
    func again() async throws {
        final class Resubscriber: RawDataDelegate {
            let pipe: SessionPipe
            let calls = Log<Int>()
            init(_ pipe: SessionPipe) { self.pipe = pipe }
            func received(_ frame: borrowing VideoFrame, from identity: PipeIdentity) throws {
                calls.add(1)
                try pipe.unsubscribe(self)
                try pipe.subscribe(self, resolution: .p90)
            }
        }
        let source = RecordingSource()
        let bob = try session("bob", #function) { $0.externalVideoSource = source }
        try await bob.join()
        let alice = try session("alice", #function)
        try await alice.join()
        #expect(waitUntil { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        let resubscriber = Resubscriber(pipe)
        try pipe.subscribe(resubscriber, resolution: .p90)
        #expect(
            waitUntil {
                try? source.sendPattern()
                return resubscriber.calls.all.count > 20
            })
        await alice.leave()
        // Fails if the last callback came after the session was left, because the delegate isn't subscribed then.
        try? await pipe.unsubscribe(resubscriber)
        for _ in 0..<50 {
            let frames = PipeLog()
            try bob.localUser.videoPipe.subscribe(frames, resolution: .p90)
            try await bob.localUser.videoPipe.unsubscribe(frames)
        }
        await withCheckedContinuation { done in bob.graph.enqueue { done.resume() } }
        #expect(try bob.graph.element("session").pads.map(\.name).sorted() == ["camera"])
        await bob.leave()
    }

    @Test("RP-1 a released delegate counts as unsubscribed, and a user's first event is its own joining")
    func goneDelegate() async throws {
        let alice = try session("alice", #function)
        try await alice.join()
        let bob = try session("bob", #function)
        let events = SessionLog()
        bob.delegate = events
        try await bob.join()
        #expect(waitUntil { events.log.all == ["joined", "+alice"] }, "\(events.log.all)")
        do { try bob.localUser.videoPipe.subscribe(PipeLog(), resolution: .p90) }
        let second = PipeLog()
        try bob.localUser.videoPipe.subscribe(second, resolution: .p90)
        try await bob.localUser.videoPipe.unsubscribe(second)
        await withCheckedContinuation { done in bob.graph.enqueue { done.resume() } }
        #expect(try bob.graph.element("session").pads.isEmpty)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SP-2 a session delivers audio while subscribed, and to a virtual speaker from joining on")
    func audio() async throws {
        let block = [Int16](repeating: 1000, count: 480)
        let microphone = RecordingMic()
        let bob = try session("bob", #function) { $0.virtualAudioMic = microphone }
        try await bob.join()
        let speaker = SpeakerLog()
        let alice = try session("alice", #function) { $0.virtualAudioSpeaker = speaker }
        let carol = try session("carol", #function)
        let (events, others) = (SessionLog(), SessionLog())
        alice.delegate = events
        carol.delegate = others
        #expect(
            throws: MediaGraphError.notInSession(
                .init("the session's audio", actual: "can't be subscribed before the session is joined"))
        ) {
            try carol.audioHelper.subscribe()
        }
        for session in [alice, carol] { try await session.join() }
        func speak(until condition: () -> Bool) -> Bool {
            waitUntil {
                try? sendNow(microphone.sender, block)
                return condition()
            }
        }
        #expect(speak { speaker.streams.all.contains("bob") && speaker.streams.all.contains("mixed") })
        #expect(events.audio.all.isEmpty)
        for session in [alice, carol] { try session.audioHelper.subscribe() }
        for events in [events, others] {
            #expect(speak { events.audio.all.contains("bob") && events.audio.all.contains("mixed") })
        }
        for session in [alice, carol] { await session.audioHelper.unsubscribe() }
        await withCheckedContinuation { done in carol.graph.enqueue { done.resume() } }
        #expect(try carol.graph.element("session").pads.isEmpty)
        let (audio, delivered) = (others.audio.all.count, speaker.streams.all.count)
        #expect(speak { speaker.streams.all.count > delivered + 10 })
        #expect(others.audio.all.count == audio, "nothing comes once unsubscribe has returned")
        for session in [alice, bob, carol] { await session.leave() }
    }

    @Test("SE-3 a session's description contains its subscriptions and is valid")
    func text() async throws {
        let bob = try session("bob", #function) { $0.camera = "videotestsrc is-live=true" }
        let alice = try session("alice b.", #function) { $0.videoMemoryMode = .stack }
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { alice.remoteUsers.count == 1 && bob.remoteUsers.count == 1 })
        try alice.user("bob").videoPipe.subscribe(PipeLog(), resolution: .p90)
        try bob.user("alice b.").videoPipe.subscribe(PipeLog(), resolution: .p90)
        try alice.audioHelper.subscribe()
        #expect(
            alice.description == """
                mediasession name=session room="text()" user="alice b."
                session.audio_bob ! speaker.user_bob
                session.video_bob ! rawdatapipe name=video_bob memory-mode=stack on-error=pass
                virtualspeaker name=speaker on-error=pass
                """)
        #expect(
            bob.description == """
                mediasession name=session room="text()" user="bob"
                videotestsrc is-live=true ! session.camera
                session.video_alice_20b_2E ! rawdatapipe name=video_alice_20b_2E on-error=pass
                """)
        for session in [alice, bob] {
            #expect(Description(session.description).resolved().diagnose() == [])
            await session.leave()
        }
    }

    @Test("SH-1 a share can start and end repeatedly during a session, and others read video and audio")
    func sharing() async throws {
        let bob = try session("bob", #function)
        let alice = try session("alice", #function)
        let sources = RecordingShare()
        let early = await #expect(throws: MediaGraphError.self) { try await bob.shareHelper.startSharing(sources) }
        #expect(early?.code == .notInSession)
        for session in [alice, bob] { try await session.join() }
        let events = SessionLog()
        alice.delegate = events
        try alice.audioHelper.subscribe()
        for round in 1...3 {
            let share = RecordingShare()
            try await bob.shareHelper.startSharing(share, audioSource: share)
            let second = await #expect(throws: MediaGraphError.self) { try await bob.shareHelper.startSharing(sources) }
            #expect(second?.code == .alreadyInUse)
            func send(until condition: () -> Bool) -> Bool {
                waitUntil {
                    let time = share.sender.runningTime
                    try? sendNow(
                        share.sender, patternedFrame(width: 32, height: 18),
                        FrameDescription(width: 32, height: 18, framesPerSecond: Fraction(30, 1), timestamp: time))
                    try? sendNow(share.audioSender, [Int16](repeating: 1000, count: 480))
                    return condition()
                }
            }
            let user = SessionUser(name: "bob", session: alice)
            #expect(send { user.isSending(.share) && user.isSending(.shareAudio) })
            let frames = PipeLog()
            let pipe = try user.sharePipe
            try pipe.subscribe(frames, resolution: .p90)
            let audio = events.audio.all.count { $0 == "shared" }
            #expect(send { frames.log.all.count > 3 && events.audio.all.count { $0 == "shared" } > audio })
            #expect(frames.identities.all.allSatisfy { $0.kind == .share && $0.user == "bob" })
            if round == 1 { #expect(bob.description.contains("share.audio ! session.shareaudio")) }
            await bob.shareHelper.stopSharing()
            #expect(
                share.calls.all.sorted() == ["shareSendStarted", "shareSendStopped", "startSendAudio", "stopSendAudio"])
            #expect(
                waitUntil { frames.log.all.last == "off" && !user.isSending(.share) && !user.isSending(.shareAudio) })
            try await pipe.unsubscribe(frames)
        }
        #expect(try bob.graph.element("session").pads.isEmpty)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("VM-5 a virtual microphone replaces the device and must be set before joining")
    func virtualMicrophone() async throws {
        let microphone = RecordingMic()
        let alice = try session("alice", #function) {
            $0.microphone = "alsasrc device=nowhere"
            $0.virtualAudioMic = microphone
        }
        #expect(!alice.description.contains("alsasrc"))
        try await alice.join()
        #expect(microphone.calls.all == ["micInitialize", "micStartSend"])
        let late = #expect(throws: MediaGraphError.self) { try alice.graph.virtualMic("mic").attach(RecordingMic()) }
        #expect(late?.code == .lockedWhileRunning)
        await alice.leave()
    }

    @Test("PP-7 a pre-processor processes a camera's frames and excludes an external video source")
    func preProcessor() async throws {
        struct Marker: VideoProcessor {
            func process(_ frame: inout VideoFrame) throws -> Verdict { .drop }
        }
        var context = SessionContext(user: "alice", room: #function)
        context.preProcessor = Marker()
        #expect(throws: MediaGraphError.self) { try Session(context) }
        context.preProcessor = nil
        context.alphaMask = "alpha method=green"
        let maskOnly = #expect(throws: MediaGraphError.self) { try Session(context) }
        #expect(maskOnly?.code == .wrongUsage)
        (context.alphaMask, context.preProcessor) = (nil, Marker())
        context.externalVideoSource = RecordingSource()
        let both = #expect(throws: MediaGraphError.self) { try Session(context) }
        #expect(both?.code == .wrongUsage)
        context.externalVideoSource = nil
        context.camera = "videotestsrc is-live=true ! video/x-raw,width=32,height=32"
        let alice = try Session(context)
        try await alice.join()
        #expect(waitUntil { NodeCounts(try! alice.graph.element("preprocessor"))!.dropped > 3 })
        #expect(NodeCounts(try! alice.graph.element("session"))!.frames == 0)
        await alice.leave()
    }

    @Test(
        "PP-7 a pre-processor without formats gets I420 from any camera, and A420 where there is alpha",
        arguments: [("RGBx", nil), ("YUY2", nil), ("ABGR", nil), ("NV12", "alpha method=green")] as [(String, String?)])
    func preProcessorFormat(camera: String, mask: String?) async throws {
        struct Reader: VideoProcessor {
            let seen: Log<String>
            func process(_ frame: inout VideoFrame) throws -> Verdict {
                seen.add("\(frame.format.gstreamerName) \(try frame.plane(.y).row(0)[0]) \(frame.alpha != nil)")
                return .pass
            }
        }
        let seen = Log<String>()
        let alice = try session("alice", "\(#function) \(camera)") {
            $0.camera = "videotestsrc is-live=true pattern=black ! video/x-raw,width=32,height=32,format=\(camera)"
            $0.preProcessor = Reader(seen: seen)
            $0.alphaMask = mask
            ($0.role, $0.allowsRawStreaming) = (.host, true)
        }
        try await alice.join()
        if mask != nil { try alice.videoHelper.enableAlphaChannel(true) }
        let expected = mask == nil ? "I420 16 false" : "A420 16 true"
        #expect(try await eventually { seen.all.count > 3 && seen.all.last == expected }, "\(seen.all.last ?? "none")")
        await alice.leave()
    }

    @Test("SE-2 sources must be set before joining, and a name is free again after its user has left")
    func lateSettings() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        try await alice.join()
        let late = #expect(throws: MediaGraphError.self) {
            try alice.graph.videoSource("camera").attach(RecordingSource())
        }
        #expect(late?.code == .lockedWhileRunning)
        let second = try session("alice", #function)
        let error = await #expect(throws: MediaGraphError.self) { try await second.join() }
        #expect(error == .nameTaken("alice", in: #function))
        await alice.leave()
        try await second.join()
        await second.leave()
    }

    @Test("SE-2 a session holds its delegate weakly and its source strongly, and leaves when released")
    func holding() async throws {
        let observer = try session("observer", #function)
        try await observer.join()
        weak var source: RecordingSource?
        do {
            let made = RecordingSource()
            source = made
            var alice: Session? = try session("alice", #function) { $0.externalVideoSource = made }
            try await alice?.join()
            weak var delegate: SessionLog?
            do {
                let made = SessionLog()
                delegate = made
                alice?.delegate = made
            }
            #expect(waitUntil { delegate == nil })
            #expect(waitUntil { observer.remoteUsers.count == 1 })
            alice = nil
        }
        #expect(waitUntil { source == nil && observer.remoteUsers.isEmpty })
        await observer.leave()
    }
}
