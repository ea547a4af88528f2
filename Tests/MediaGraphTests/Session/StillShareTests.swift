import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests shares whose picture doesn't change, and which send one frame for that.
@Suite(.timeLimit(.minutes(10))) struct StillShareTests {
    init() throws { try Nodes.register() }

    private static func pictures() -> PipeLog {
        PipeLog { frame in
            guard frame.width == 320 else { return }
            let isSame = frame.packedBytes == patternedFrame(width: 320, height: 180)
            #expect(isSame)
        }
    }

    /// A share that sends a frame when it starts, as the SDK's sample does.
    private static func stillShare() -> RecordingShare {
        RecordingShare(onStart: { try $0.sendPattern(width: 320, height: 180) })
    }

    @Test(
        "SE-13 SH-1 everybody sees the only frame of a share, however late they subscribe or join",
        arguments: [false, true])
    func lateReaders(betweenProcesses: Bool) async throws {
        let room = "\(#function) \(betweenProcesses)"
        for name in ["still-a", "still-b"] { RoomTransportKind.registerProcesses(name, clock: VirtualClock()) }
        func member(_ user: String) throws -> Session {
            try session(user, room) {
                if betweenProcesses { $0.transport = user == "bob" ? "still-a" : "still-b" }
            }
        }
        let (alice, bob) = (try member("alice"), try member("bob"))
        for session in [alice, bob] { try await session.join() }
        try await bob.shareHelper.startSharing(Self.stillShare())
        #expect(try await eventually { (try? alice.user("bob").isSending(.share)) == true })
        let pipe = try alice.user("bob").sharePipe
        for round in 1...2 {
            let frames = Self.pictures()
            try pipe.subscribe(frames, resolution: .native)
            #expect(try await eventually { frames.log.all == ["on", "320x180"] }, "round \(round): \(frames.log.all)")
            try await pipe.unsubscribe(frames)
            await alice.settle()
        }
        // Joins, and thus starts its graph, after the frame was sent.
        let carol = try member("carol")
        try await carol.join()
        #expect(try await eventually { (try? carol.user("bob").isSending(.share)) == true })
        let (hers, small) = (Self.pictures(), PipeLog())
        try carol.user("bob").sharePipe.subscribe(hers, resolution: .native)
        try pipe.subscribe(small, resolution: .native)
        #expect(try await eventually { hers.log.all == ["on", "320x180"] && Set(small.log.all) == ["on", "320x180"] })
        // A second reader of a pipe, another size, and a canvas beside them.
        let second = Self.pictures()
        try pipe.subscribe(second, resolution: .native)
        #expect(try await eventually { second.count > 0 })
        let before = second.count
        try pipe.subscribe(second, resolution: .p90)
        #expect(try await eventually { second.count > before && second.log.all.last == "160x90" })
        try pipe.setCanvas("rawdatapipe name=window handler=count")
        await alice.settle()
        let window = try alice.graph.element("window")
        #expect(try await eventually { NodeCounts(window)!.frames > 0 })
        await bob.shareHelper.stopSharing()
        #expect(try await eventually { hers.log.all.last == "off" && small.log.all.last == "off" })
        // Nothing of the first share is shown when the next one hasn't sent anything yet.
        let share = RecordingShare()
        try await bob.shareHelper.startSharing(share)
        try share.sender.sendPattern(width: 32)
        #expect(try await eventually { small.log.all.suffix(2) == ["on", "32x18"] })
        for session in [carol, alice, bob] { await session.leave() }
    }

    @Test("SE-13 a share's last frame is released with the share")
    func releasedFrame() async throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .share), room: "still")
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-raw,format=GRAY8,width=4,height=4,framerate=0/1")))
        let pool = BoundedPool("video/x-raw,format=GRAY8,width=4,height=4", size: 16, buffers: 4)
        func send() { if let buffer = pool.acquire() { stream.send(buffer.access) } }
        for change in [{ _ = stream.setStatus(false) }, { stream.begin() }, { stream.end() }] {
            if stream.setStatus(true) { send() }
            send()
            #expect(pool.available == 3)
            change()
            #expect(pool.available == 4)
        }
    }
}
