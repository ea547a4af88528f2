import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the preview of a user's own camera, inside and outside of a room.
@Suite(.timeLimit(.minutes(10))) struct SessionPreviewTests {
    init() throws { try Nodes.register() }

    private func send(_ source: RecordingSource, until condition: () -> Bool) -> Bool {
        waitUntil {
            try? source.sendPattern()
            return condition()
        }
    }

    @Test(
        "CR-7 a preview runs before joining and goes on after it, and others only get frames then"
    )
    func beforeJoining() async throws {
        let observer = try session("observer", #function)
        let events = SessionLog()
        observer.delegate = events
        try await observer.join()
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        let own = PipeLog()
        try alice.preview.subscribe(own, resolution: .p90)
        #expect(own.log.all == [] && source.calls.all == [])
        try await alice.preview.start()
        #expect(send(source) { own.count > 3 })
        #expect(own.identities.all.allSatisfy { $0.name == "preview" && $0.user == "alice" })
        #expect(!alice.isJoined && waitUntil { events.log.all == ["joined"] })
        #expect(NodeCounts(try alice.graph.element("session"))!.frames == 0)
        try await alice.join()
        #expect(alice.isJoined && waitUntil { observer.remoteUsers.count == 1 })
        let seen = PipeLog()
        try observer.user("alice").videoPipe.subscribe(seen, resolution: .p90)
        let before = own.count
        #expect(send(source) { own.count > before && seen.count > 3 })
        // The source runs once, and the preview has one stream.
        #expect(source.stateCalls == ["initialize", "startSend"])
        #expect(own.log.all.filter { $0.hasPrefix("o") } == ["on"])
        #expect(waitUntil { events.log.all == ["joined", "+alice", "alice video on"] }, "\(events.log.all)")
        await alice.preview.stop()
        #expect(alice.isJoined)
        await alice.leave()
        #expect(own.log.all.filter { $0.hasPrefix("o") } == ["on", "off"])
        await observer.leave()
    }

    @Test("CR-8 a stopped preview gets nothing until it is started again, while the camera goes on sending")
    func stoppedInRoom() async throws {
        let observer = try session("observer", #function)
        try await observer.join()
        let source = RecordingSource()
        let alice = try session("alice", #function) {
            $0.externalVideoSource = source
            $0.auxCamera = "videotestsrc is-live=true ! video/x-raw,width=64,height=36"
        }
        let (own, aux, sent) = (PipeLog(), PipeLog(), PipeLog())
        try alice.preview.subscribe(own, resolution: .native)
        try alice.auxPreview.subscribe(aux, resolution: .native)
        try await alice.join()
        #expect(try await eventually { observer.remoteUsers.count == 1 })
        try observer.user("alice").videoPipe.subscribe(sent, resolution: .p90)
        #expect(send(source) { own.count > 0 && sent.count > 0 })
        await alice.preview.stop()
        #expect(alice.isJoined && alice.description.contains(" preview-off=true\n"))
        #expect(try await eventually { own.log.all.last == "off" })
        let (shown, published, second) = (own.count, sent.count, aux.count)
        #expect(send(source) { sent.count > published + 3 && aux.count > second + 3 })
        #expect(own.count == shown)
        // The stopped preview asks for nothing: the source may send what the other user needs.
        #expect(send(source) { source.suggested?.height == 90 })
        try await alice.preview.start()
        #expect(send(source) { own.count > shown + 3 })
        #expect(own.log.all.filter { $0.hasPrefix("o") } == ["on", "off", "on"])
        #expect(!alice.description.contains("preview-off"))
        #expect(source.stateCalls == ["initialize", "startSend"])
        for session in [observer, alice] { await session.leave() }
        // Outside of the room, the cameras run until the last preview that was started is stopped.
        for preview in [alice.preview, alice.auxPreview] { try await preview.start() }
        await alice.preview.stop()
        let count = aux.count
        #expect(try await eventually { aux.count > count })
        await alice.auxPreview.stop()
        #expect(source.calls.all.count { $0 == "uninitialize" } == 2)
        // A preview that was stopped outside of the room, or in an earlier visit, is on in the room.
        try await alice.join()
        let before = own.count
        #expect(send(source) { own.count > before })
        await alice.leave()
    }

    @Test("SE-1 after a preview that ended by itself, the session can be joined and previewed again")
    func ended() async throws {
        let alice = try session("alice", #function) {
            $0.camera = "videotestsrc num-buffers=5 ! video/x-raw,width=32,height=18,framerate=30/1"
        }
        func isPreviewing() -> Bool { alice.description.contains("join=false") }
        for _ in 0..<2 {
            try await alice.preview.start()
            #expect(waitUntil { !isPreviewing() }, "\(alice.description)")
            try await alice.join()
            #expect(alice.isJoined)
            await alice.leave()
            #expect(!alice.isJoined)
        }
    }

    @Test("SE-1 a preview that was subscribed before joining has a camera's frames after joining")
    func subscribedBefore() async throws {
        let alice = try session("alice", #function) {
            $0.camera = "videotestsrc is-live=true ! video/x-raw,width=32,height=18,framerate=30/1"
        }
        let own = PipeLog()
        try alice.preview.subscribe(own, resolution: .p90)
        try await alice.join()
        #expect(waitUntil { own.count > 3 })
        #expect(own.log.all.prefix(2) == ["on", "32x18"])
        try await alice.preview.unsubscribe(own)
        await alice.settle()
        #expect(try alice.graph.element("session").pads.map(\.name) == ["camera"])
        await alice.leave()
        let mute = try session("mute", #function)
        let none = #expect(throws: MediaGraphError.self) { try mute.preview.subscribe(own, resolution: .p90) }
        #expect(none?.code == .noVideo)
    }

    @Test(
        "CR-7 a preview can be restarted, goes on when joining is refused, and joining can be retried"
    )
    func refused() async throws {
        let first = try session("alice", #function)
        try await first.join()
        let source = RecordingSource()
        let second = try session("alice", #function) { $0.externalVideoSource = source }
        let (own, events) = (PipeLog(), SessionLog())
        second.delegate = events
        try second.preview.subscribe(own, resolution: .p90)
        for round in 1...2 {
            try await second.preview.start()
            #expect(send(source) { own.count >= round * 3 })
            if round == 1 { await second.preview.stop() }
        }
        let error = await #expect(throws: MediaGraphError.self) { try await second.join() }
        #expect(error?.code == .alreadyInUse && "\(error!)".contains("is already called"))
        #expect(!second.isJoined)
        let count = own.count
        #expect(send(source) { own.count > count })
        await first.leave()
        try await second.join()
        #expect(waitUntil { events.log.all.contains("joined") })
        // The refusal is reported, without a `joined` and a `left` for it. A frame that was on its way may be sent now.
        let reported = events.log.all.filter { $0 != "alice video on" }
        #expect(
            reported.count == 2 && reported[0].contains("join keeps its value") && reported[1] == "joined",
            "\(reported)")
        await second.leave()
        #expect(waitUntil { events.log.all.last == "left" })
    }

    @Test(
        "CR-7 in a description join=false only shows a preview, and join=true joins while it runs")
    func joinInDescription() async throws {
        let room = #function
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=alice join=false
            videotestsrc is-live=true ! video/x-raw,width=32,height=18 ! call.camera
            call.preview ! rawdatapipe name=own  call.video_alice ! rawdatapipe name=sent
            """)
        let (own, sent) = (Log<Int>(), Log<Int>())
        try graph.rawDataPipe("own").receive { own.add($0.width) }
        try graph.rawDataPipe("sent").receive { sent.add($0.width) }
        try await graph.start()
        let call = try graph.element("call")
        #expect(waitUntil { own.all.count > 5 })
        #expect(sent.all.isEmpty && NodeCounts(call)!.frames == 0)
        try call.setProperty("join", to: true)
        #expect(waitUntil { sent.all.count > 2 })
        #expect(throws: PropertyError.self) { try call.setProperty("join", to: false) }
        #expect(try call.property("join", as: Bool.self))
        await graph.stop()

        let alice = try session("alice", room) { $0.camera = "videotestsrc is-live=true" }
        let frames = PipeLog()
        try alice.preview.subscribe(frames, resolution: .p90)
        try await alice.preview.start()
        #expect(
            alice.description == """
                mediasession name=session room="\(room)" user="alice" join=false
                videotestsrc is-live=true ! session.camera
                session.preview ! rawdatapipe name=preview on-error=pass
                """)
        #expect(Description(alice.description).resolved().diagnose() == [])
        try await alice.join()
        #expect(!alice.description.contains("join=false"))
        #expect(waitUntil { frames.count > 0 })
        await alice.leave()
    }
}
