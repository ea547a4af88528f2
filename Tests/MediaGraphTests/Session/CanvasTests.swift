import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests canvases: elements that show one pipe's frames.
@Suite(.timeLimit(.minutes(10))) struct CanvasTests {
    init() throws { try Nodes.register() }

    /// Two users in a room, of whom bob sends frames one by one.
    private struct Call {
        let source = RecordingSource()
        let alice: Session
        let bob: Session
        /// The events of alice's session.
        let log = SessionLog()
        init(_ room: String, _ edit: (inout SessionContext) -> Void = { _ in }) async throws {
            let source = source
            let (alice, bob) = (
                try session("alice", room, edit), try session("bob", room) { $0.externalVideoSource = source }
            )
            (self.alice, self.bob) = (alice, bob)
            alice.delegate = log
            for session in [alice, bob] { try await session.join() }
            #expect(try await eventually { alice.remoteUsers.count == 1 })
        }

        /// Sends frames until `condition` holds.
        func send(until condition: () -> Bool) async throws -> Bool {
            try await eventually {
                try? source.sendPattern()
                return condition()
            }
        }

        /// Subscribes a delegate to bob's video, and waits until it has all frames that were sent. Returns their number.
        func subscribe(_ delegate: PipeLog) async throws -> Int {
            try alice.user("bob").videoPipe.subscribe(delegate, resolution: .native)
            #expect(try await send { delegate.count > 0 })
            // Frames sent before the pipe was linked may have been lost. Once a frame of another size has arrived, no
            // earlier frame is on its way.
            try source.sender.sendPattern(width: 64)
            #expect(try await eventually { delegate.log.all.last == "64x18" })
            return delegate.count
        }

        func leave() async { for session in [alice, bob] { await session.leave() } }
    }

    /// Subscribes to the canvas `rawdatapipe name=…`. Returns the frames that it shows.
    private func frames(on canvas: String, of session: Session) async throws -> PipeLog {
        await session.settle()
        let frames = PipeLog()
        try session.graph.rawDataPipe(canvas).subscribe(frames, resolution: .native)
        return frames
    }

    @Test("CR-8 each pipe has its own canvas, even without subscribers, and a new canvas replaces it")
    func ownCanvas() async throws {
        let call = try await Call(#function)
        let (alice, bob) = (call.alice, call.bob)
        let pipe = try alice.user("bob").videoPipe
        try pipe.setCanvas("rawdatapipe name=large")
        try bob.preview.setCanvas("rawdatapipe name=own")
        #expect(pipe.canvas == "rawdatapipe name=large" && bob.preview.canvas == "rawdatapipe name=own")
        let (large, own) = (try await frames(on: "large", of: alice), try await frames(on: "own", of: bob))
        #expect(try await call.send { large.count > 3 && own.count > 3 })
        #expect(
            alice.description.contains("session.video_bob ! queue ")
                && alice.description.hasSuffix("! rawdatapipe name=large"))
        #expect(Description(alice.description).resolved().diagnose() == [])
        try pipe.setCanvas("rawdatapipe name=small")
        let small = try await frames(on: "small", of: alice)
        #expect(try await call.send { small.count > 3 })
        #expect(throws: GraphError.self) { try alice.graph.rawDataPipe("large") }
        try pipe.setCanvas(nil)
        await alice.settle()
        #expect(pipe.canvas == nil && alice.description.split(separator: "\n").count == 1)
        #expect(try alice.graph.element("session").pads.isEmpty)
        await call.leave()
    }

    @Test("CR-8 delegates and an observer go on getting frames when a canvas is added or removed")
    func besideDelegates() async throws {
        let call = try await Call(#function)
        let alice = call.alice
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        _ = try await call.subscribe(delegate)
        /// Sends frames, and expects that the delegate gets each.
        func sendEach(_ count: Int) async throws {
            for _ in 0..<count {
                let before = delegate.count
                try call.source.sendPattern()
                #expect(try await eventually { delegate.count == before + 1 })
            }
        }
        try pipe.setCanvas("rawdatapipe name=window")
        let shown = try await frames(on: "window", of: alice)
        try await sendEach(3)
        #expect(try await call.send { shown.count > 3 })
        #expect(alice.description.contains("session.video_bob ! tee name=split_video_bob allow-not-linked=true"))
        #expect(alice.description.contains("split_video_bob. ! rawdatapipe name=video_bob on-error=pass"))
        #expect(Description(alice.description).resolved().diagnose() == [])

        let observer = PipeObserver()
        try await alice.setFrameObserver(observer)
        #expect(try await call.send { observer.calls.all.count > 0 })
        let count = shown.count
        #expect(try await call.send { shown.count > count })
        try await alice.setFrameObserver(nil)
        let again = shown.count
        #expect(try await call.send { shown.count > again })
        let observed = observer.calls.all.count

        try pipe.setCanvas(nil)
        await alice.settle()
        let settled = delegate.count
        #expect(try await call.send { delegate.count > settled + 3 })
        #expect(observer.calls.all.count == observed)
        #expect(delegate.log.all.count { $0 == "on" } == 1 && !delegate.log.all.contains("off"))
        try await pipe.unsubscribe(delegate)
        await alice.settle()
        #expect(try alice.graph.element("session").pads.isEmpty)
        #expect(alice.graph.pipeline.elements.map(\.name) == ["session"])
        await call.leave()
    }

    private final class PipeObserver: SessionFrameObserver {
        let positions: Set<FramePosition> = [.preRenderer]
        let calls = Log<String>()
        func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
            calls.add(user.name)
            return .pass
        }
    }

    @Test("CR-8 a pipe's canvas replaces the context's canvas, which comes back if the pipe has delegates")
    func replacesDefault() async throws {
        let call = try await Call(#function) {
            $0.customVideoRender = CustomVideoRender(engineRender: "rawdatapipe name=usual")
        }
        let alice = call.alice
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        func canvases() async -> [String] {
            await alice.settle()
            return ["usual", "other"].filter { (try? alice.graph.rawDataPipe($0)) != nil }
        }
        try pipe.setCanvas("rawdatapipe name=other")
        try pipe.subscribe(delegate, resolution: .native)
        #expect(await canvases() == ["other"])
        try pipe.setCanvas(nil)
        #expect(await canvases() == ["usual"])
        let usual = try await frames(on: "usual", of: alice)
        #expect(try await call.send { usual.count > 3 && delegate.count > 3 })
        try await pipe.unsubscribe(delegate)
        #expect(await canvases() == [])
        try pipe.subscribe(delegate, resolution: .native)
        try pipe.setCanvas("rawdatapipe name=other")
        #expect(await canvases() == ["other"])
        try await pipe.unsubscribe(delegate)
        #expect(await canvases() == ["other"])
        await call.leave()
    }

    @Test("CR-8 a share and a second camera have canvases too")
    func shareAndAux() async throws {
        let room = #function
        let picture = "videotestsrc is-live=true ! video/x-raw,width=32,height=18"
        let alice = try session("alice", room)
        let bob = try session("bob", room) { $0.auxCamera = picture }
        for session in [alice, bob] { try await session.join() }
        try await bob.shareHelper.startSharing("videotestsrc is-live=true ! video/x-raw,width=64,height=36")
        #expect(try await eventually { (try? alice.user("bob").isSending(.share)) == true })
        try alice.user("bob").sharePipe.setCanvas("rawdatapipe name=slides")
        try alice.user("bob").auxVideoPipe.setCanvas("rawdatapipe name=second")
        try bob.auxPreview.setCanvas("rawdatapipe name=preview")
        for (name, session, size) in [
            ("slides", alice, "64x36"), ("second", alice, "32x18"), ("preview", bob, "32x18"),
        ] {
            let shown = try await frames(on: name, of: session)
            #expect(try await eventually { shown.log.all.contains(size) }, "\(name)")
        }
        for session in [alice, bob] { await session.leave() }
    }

    @Test("CR-8 a canvas that fails is removed with a warning, and the call and its delegates go on")
    func failingCanvas() async throws {
        let call = try await Call(#function)
        let (alice, log) = (call.alice, call.log)
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        try pipe.subscribe(delegate, resolution: .native)
        try pipe.setCanvas("identity name=window error-after=2 ! fakesink")
        #expect(try await call.send { log.log.all.contains { $0.contains("window") } })
        let count = delegate.count
        #expect(try await call.send { delegate.count > count + 3 })
        await alice.settle()
        #expect(alice.isJoined && pipe.canvas == nil && !alice.description.contains("window"))
        #expect(log.log.all.count { $0.contains("window") } == 1, "\(log.log.all)")
        await call.leave()
    }

    @Test("CR-8 a canvas that can't show video is refused with the reason, and the current one stays")
    func refusedCanvas() async throws {
        let call = try await Call(#function)
        let pipe = try call.alice.user("bob").videoPipe
        try pipe.setCanvas("rawdatapipe name=good")
        for (text, reason) in [
            ("nosuchsink", "no element \"nosuchsink\""), ("videoconvert", "ends without a sink"),
            ("videotestsrc ! fakesink", "could not link"),
        ] {
            let error = #expect(throws: MediaGraphError.self) { try pipe.setCanvas(text) }
            #expect(error?.code == .invalidParameter)
            #expect("\(error!)".contains("the canvas \"\(text)\"") && "\(error!)".contains(reason), "\(error!)")
        }
        #expect(pipe.canvas == "rawdatapipe name=good")
        let none = #expect(throws: MediaGraphError.self) { try call.alice.preview.setCanvas("fakesink") }
        #expect(none?.code == .noVideo)
        let gone = SessionUser(name: "carol", session: call.alice).videoPipe
        #expect(throws: MediaGraphError.self) { try gone.setCanvas("fakesink") }
        await call.leave()
    }

    @Test("CR-8 a canvas that refuses the format is removed with the remedy, and delegates lose no frame")
    func refusedFormat() async throws {
        let call = try await Call(#function)
        let (alice, log) = (call.alice, call.log)
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        _ = try await call.subscribe(delegate)
        try pipe.setCanvas("video/x-raw,format=RGB ! fakesink")
        await alice.settle()
        for _ in 0..<5 {
            let before = delegate.count
            try call.source.sendPattern()
            #expect(try await eventually { delegate.count == before + 1 })
        }
        #expect(try await eventually { log.log.all.contains { $0.contains("put videoconvert before its sink") } })
        #expect(alice.isJoined && pipe.canvas == nil)
        await call.leave()
    }

    @Test("CR-8 a canvas that can't start doesn't keep the session from starting, nor its delegates from frames")
    func failingStart() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        let log = SessionLog()
        alice.delegate = log
        let own = PipeLog()
        try alice.preview.subscribe(own, resolution: .native)
        // A file in a folder that doesn't exist can't be opened.
        let broken = "filesink location=/no/such/folder/file"
        try alice.preview.setCanvas(broken)
        try await alice.join()
        func sends() async throws -> Bool {
            let count = own.count
            return try await eventually {
                try? source.sendPattern()
                return own.count > count + 3
            }
        }
        #expect(try await sends())
        #expect(alice.preview.canvas == nil)
        try alice.preview.setCanvas(broken)
        #expect(try await sends())
        await alice.settle()
        #expect(alice.isJoined && alice.preview.canvas == nil)
        // The delegate is told on a queue of its own.
        #expect(try await eventually { log.log.all.count { $0.contains("/no/such/folder") } == 2 }, "\(log.log.all)")
        await alice.leave()
    }

    @Test("CR-8 FO-7 canvases and observers that change while a frame is on its way lose no frame")
    func whileBusy() async throws {
        final class Gate: SessionFrameObserver {
            let positions: Set<FramePosition> = [.preRenderer]
            let isInside = BlockingMonitor(false)
            let isOpen = BlockingMonitor(false)
            func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
                isInside.withLock { $0 = true }
                _ = isOpen.wait { $0 ? true : nil }
                return .pass
            }
        }
        let call = try await Call(#function)
        let alice = call.alice
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        let count = try await call.subscribe(delegate)
        let gate = Gate()
        try await alice.setFrameObserver(gate)
        try call.source.sendPattern()
        #expect(try await eventually { gate.isInside.withLock { $0 } })
        // The frame is in the observer, so the links can't change before the gate opens.
        let removal = Task { try await alice.setFrameObserver(nil) }
        for canvas in ["rawdatapipe name=first", "rawdatapipe name=second", nil, "rawdatapipe name=third"] {
            try pipe.setCanvas(canvas)
        }
        await alice.settle()
        gate.isOpen.withLock { $0 = true }
        try await removal.value
        let third = try await frames(on: "third", of: alice)
        for number in 1...5 {
            try call.source.sendPattern()
            #expect(try await eventually { delegate.count == count + 1 + number && third.count >= number })
        }
        // The frame that was in the observer may reach the last canvas too.
        #expect(delegate.count == count + 6 && (5...6).contains(third.count), "\(third.count)")
        #expect(alice.graph.pipeline.elements.filter { $0.factoryName == "frameobserver" }.isEmpty)
        try await pipe.unsubscribe(delegate)
        try pipe.setCanvas(nil)
        await alice.settle()
        #expect(alice.graph.pipeline.elements.map(\.name) == ["session"])
        await call.leave()
    }

    @Test("CR-8 a canvas shows each frame, whatever latency another branch has")
    func latency() async throws {
        let alice = try session("alice", "canvas \(#function)") {
            let camera = "videotestsrc is-live=true ! video/x-raw,width=32,height=18,framerate=30/1"
            ($0.camera, $0.auxCamera) = (camera, camera)
        }
        // All sinks of the graph wait as long as this one needs.
        try alice.auxPreview.setCanvas("fakesink sync=true processing-deadline=3000000000")
        try alice.preview.setCanvas("fakesink name=window sync=true")
        try await alice.join()
        let window = try #require(try alice.graph.element("window").staticPad("sink"))
        let times = Log<UInt64>()
        window.observeBuffers { times.add($0.presentationTimestamp?.nanoseconds ?? 0) }
        #expect(try await eventually { times.all.count > 20 })
        let all = times.all
        // A queue for a second alone would let a frame pass every two seconds.
        #expect(zip(all, all.dropFirst()).allSatisfy { $1 - $0 < 500_000_000 }, "\(all)")
        await alice.leave()
    }
}
