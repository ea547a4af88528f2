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
        let growing = PipeLog()
        try pipe.subscribe(growing, resolution: .p90)
        #expect(try await eventually { growing.log.all == ["on", "160x90"] })
        try pipe.subscribe(growing, resolution: .native)
        #expect(try await eventually { growing.log.all.last == "320x180" })
        try await pipe.unsubscribe(growing)
        await alice.settle()
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

    @Test("SE-13 CR-8 a sink that drops late frames shows a share's last frame, however old it is")
    func oldFrame() async throws {
        let (alice, bob) = (try session("alice", #function), try session("bob", #function))
        for session in [alice, bob] { try await session.join() }
        try await bob.shareHelper.startSharing(Self.stillShare())
        #expect(try await eventually { (try? alice.user("bob").isSending(.share)) == true })
        let clock = try #require(alice.graph.element("session").clock)
        let pipe = try alice.user("bob").sharePipe
        for _ in 1...3 {
            let begin = clock.time.nanoseconds
            #expect(try await eventually { clock.time.nanoseconds > begin + 20_000_000 })
            try pipe.setCanvas("fakesink name=window sync=true qos=true max-lateness=10000000")
            await alice.settle()
            let window = try alice.graph.element("window")
            #expect(
                try await eventually {
                    (try? window.property("stats", as: Structure.self))?["rendered", as: UInt64.self] ?? 0 > 0
                })
            try pipe.setCanvas(nil)
            await alice.settle()
        }
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 a moving share isn't repeated for the readers that it has when others come")
    func movingShare() async throws {
        let (alice, bob) = (try session("alice", #function), try session("bob", #function))
        for session in [alice, bob] { try await session.join() }
        try await bob.shareHelper.startSharing(
            "videotestsrc is-live=true ! video/x-raw,format=I420,width=32,height=18,framerate=60/1")
        #expect(try await eventually { (try? alice.user("bob").isSending(.share)) == true })
        let pipe = try alice.user("bob").sharePipe
        let times = Log<UInt64>()
        let first = PipeLog { times.add(($0.captureTime?.timeIntervalSince1970).map { UInt64($0 * 1e6) } ?? 0) }
        try pipe.subscribe(first, resolution: .native)
        for _ in 1...10 {
            let other = PipeLog()
            try pipe.subscribe(other, resolution: .native)
            #expect(try await eventually { other.count > 0 })
            try await pipe.unsubscribe(other)
        }
        for session in [alice, bob] { await session.leave() }
        #expect(Set(times.all).count == times.all.count && first.count > 5)
    }

    @Test("SE-13 frames behind a share's last frame, which came again, have later timestamps")
    func laterTimestamps() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .share), room: "still")
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-raw,format=GRAY8,width=4,height=4,framerate=0/1")))
        stream.setTiming(.machine(latency: .zero))
        _ = stream.setStatus(true)
        func send(after time: Duration, _ begin: ClockTime) {
            guard let buffer = Buffer(filledWith: 0, count: 16) else {
                Issue.record("no memory")
                return
            }
            buffer.access.presentationTimestamp = ClockTime(nanoseconds: begin.nanoseconds + time.nanoseconds)
            stream.send(buffer.access)
        }
        let begin = Clock.system.time
        send(after: .zero, begin)
        let reader = StreamReader(bound: 8)
        reader.play()
        stream.add(reader)
        // Captured before the last frame came again, and so earlier than that by its timestamp.
        for number in 1...3 { send(after: .nanoseconds(number), begin) }
        send(after: .seconds(60), begin)
        var timestamps: [UInt64] = []
        while timestamps.count < 5 {
            if case .buffer(let frame) = reader.next() {
                timestamps.append(frame.timestamp?.nanoseconds ?? 0)
                reader.drop(frame.buffer)
            }
        }
        let steps = zip(timestamps, timestamps.dropFirst()).map { $1 - $0 }
        #expect(steps.prefix(3) == [1_000_000, 1_000_000, 1_000_000])
        // From then on, frames have their own timestamps again.
        #expect(timestamps[4] == begin.nanoseconds + 60_000_000_000)
        stream.end()
    }

    @Test("SE-13 a share's last frame is released with the share")
    func releasedFrame() async throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .share), room: "still")
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-raw,format=GRAY8,width=4,height=4,framerate=0/1")))
        let pool = BoundedPool("video/x-raw,format=GRAY8,width=4,height=4", size: 16, buffers: 4)
        func send() { if let buffer = pool.acquire() { stream.send(buffer.access) } }
        for change in [
            { _ = stream.setStatus(false) }, { stream.setMuted(true) }, { stream.begin() }, { stream.end() },
        ] {
            stream.setMuted(false)
            if stream.setStatus(true) { send() }
            send()
            #expect(pool.available == 3)
            change()
            #expect(pool.available == 4)
        }
    }
}
