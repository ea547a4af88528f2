import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests observers that are registered and removed while in a session.
@Suite(.timeLimit(.minutes(10))) struct SessionObserverChangeTests {
    init() throws { try Nodes.register() }

    private final class Observer: SessionFrameObserver {
        let positions: Set<FramePosition>
        let calls = Log<String>()
        init(_ positions: Set<FramePosition>) { self.positions = positions }

        func captured(_ frame: borrowing VideoFrame) throws -> Verdict {
            calls.add("captured \(try frame.plane(.y).row(0)[0])")
            return .pass
        }
        func willEncode(_ frame: borrowing VideoFrame) throws -> Verdict {
            calls.add("pre-encode \(try frame.plane(.y).row(0)[0])")
            return .pass
        }
        func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
            calls.add(user.name)
            return .pass
        }
    }

    private final class Painter: SessionFrameEditor {
        let positions: Set<FramePosition> = [.preRenderer]
        func received(_ frame: inout VideoFrame, from user: SessionUser) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<luma.height, with: 50)
            return .pass
        }
    }

    private struct Marker: VideoProcessor {
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<luma.height, with: 200)
            return .pass
        }
    }

    private static let camera = "videotestsrc is-live=true pattern=black ! video/x-raw,format=I420,width=32,height=18"

    private func observers(of session: Session) -> [String] {
        session.graph.pipeline.elements.filter { $0.factoryName == "frameobserver" }.map(\.name).sorted()
    }

    @Test(
        "FO-7 an observer of the own camera is registered and removed in a session, and no frame is lost",
        arguments: [true, false])
    func own(hasPreProcessor: Bool) async throws {
        let alice = try session("alice", "\(#function) \(hasPreProcessor)") {
            $0.camera = Self.camera
            if hasPreProcessor { $0.preProcessor = Marker() }
        }
        // Before joining too.
        try await alice.setFrameObserver(Observer([.postCapture, .preEncoder]))
        try await alice.setFrameObserver(nil)
        try await alice.join()
        let published = try #require(alice.graph.element("session").staticPad("camera"))
        let times = Log<UInt64>()
        published.observeBuffers { times.add($0.presentationTimestamp?.nanoseconds ?? 0) }
        for round in 1...3 {
            let observer = Observer([.postCapture, .preEncoder])
            try await alice.setFrameObserver(observer)
            #expect(observers(of: alice) == ["post_capture", "pre_encoder"])
            #expect(try await eventually { observer.calls.all.count > 6 && Set(observer.calls.all).count == 2 })
            #expect(Set(observer.calls.all) == ["captured 16", "pre-encode \(hasPreProcessor ? 200 : 16)"])
            #expect(
                alice.description.contains(
                    "! frameobserver name=post_capture position=post-capture on-error=pass ! "
                        + (hasPreProcessor
                            ? "videoconvert name=preprocessor_input ! " : "frameobserver name=pre_encoder ")))
            try await alice.setFrameObserver(nil)
            let (calls, sent) = (observer.calls.all.count, times.all.count)
            #expect(observers(of: alice) == [] && !alice.description.contains("frameobserver"))
            #expect(try await eventually { times.all.count > sent + 3 })
            #expect(observer.calls.all.count == calls, "round \(round)")
        }
        await alice.leave()
        let all = times.all
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
        // The camera has 30 frames a second, and a lost frame would be a hole.
        let longest = zip(all, all.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(longest < 40_000_000, "\(longest)")
    }

    @Test("FO-7 an observer of others' video comes and goes while a pipe reads it, and no frame is lost")
    func others() async throws {
        let room = #function
        let source = RecordingSource()
        let bob = try session("bob", room) { $0.externalVideoSource = source }
        let alice = try session("alice", room)
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let luma = Log<UInt8>()
        let pipe = PipeLog { luma.add(try $0.plane(.y).row(3)[0]) }
        try alice.user("bob").videoPipe.subscribe(pipe, resolution: .native)
        await alice.settle()
        var sent = 0
        func send(_ count: Int) async throws {
            for _ in 0..<count {
                try source.sendPattern(seed: sent)
                sent += 1
                #expect(try await eventually { pipe.count == sent })
            }
        }
        #expect(
            try await eventually {
                try? source.sendPattern()
                return pipe.count > 0
            })
        // The first frames may have been sent before the pipe was linked. None of those after them is under way any more
        // when the first frame of another size has arrived.
        try source.sender.sendPattern(width: 64)
        #expect(try await eventually { pipe.log.all.last == "64x18" })
        sent = pipe.count
        try await send(3)
        let observer = Observer([.preRenderer])
        try await alice.setFrameObserver(observer)
        #expect(observers(of: alice) == ["observer_video_bob"])
        try await send(5)
        #expect(observer.calls.all == Array(repeating: "bob", count: 5))
        try await alice.setFrameEditor(Painter())
        #expect(try alice.graph.element("observer_video_bob").propertyText("mode") == "read-write")
        try await send(5)
        #expect(observer.calls.all.count == 5 && luma.all.suffix(5) == [50, 50, 50, 50, 50])
        try await alice.setFrameEditor(nil)
        #expect(observers(of: alice) == [])
        try await send(5)
        #expect(luma.all.suffix(5).contains { $0 != 50 })
        #expect(pipe.log.all.count { $0 == "on" } == 1 && !pipe.log.all.contains("off"))
        try await alice.user("bob").videoPipe.unsubscribe(pipe)
        await alice.settle()
        #expect(try alice.graph.element("session").pads.isEmpty)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("FO-7 an observer registered before joining sees users who join later; one change is made at a time")
    func early() async throws {
        let room = #function
        let alice = try session("alice", room) { $0.camera = Self.camera }
        let observer = Observer([.postCapture, .preRenderer])
        try await alice.setFrameObserver(observer)
        try await alice.join()
        let source = RecordingSource()
        let bob = try session("bob", room) { $0.externalVideoSource = source }
        try await bob.join()
        #expect(
            try await eventually {
                try? source.sendPattern()
                return observer.calls.all.contains("bob") && observer.calls.all.contains("captured 16")
            })
        #expect(alice.observerChange.begin())
        let error = await #expect(throws: MediaGraphError.self) { try await alice.setFrameObserver(nil) }
        #expect(error?.code == .tooMuchAtOnce)
        alice.observerChange.end()
        try await alice.setFrameObserver(nil)
        #expect(observers(of: alice) == [])
        for session in [alice, bob] { await session.leave() }
    }

    @Test("FO-7 what an observer registered in a session throws costs neither the camera nor the session")
    func failing() async throws {
        struct Failure: Error, CustomStringConvertible { let description = "on purpose" }
        final class Thrower: SessionFrameObserver {
            let positions: Set<FramePosition> = [.postCapture]
            let calls = Log<Bool>()
            func captured(_ frame: borrowing VideoFrame) throws -> Verdict {
                calls.add(true)
                throw Failure()
            }
        }
        let alice = try session("alice", #function) { $0.camera = Self.camera }
        let log = SessionLog()
        alice.delegate = log
        try await alice.join()
        let preview = PipeLog()
        try alice.preview.subscribe(preview, resolution: .p90)
        let observer = Thrower()
        try await alice.setFrameObserver(observer)
        #expect(try await eventually { observer.calls.all.count > 5 })
        let before = preview.count
        #expect(try await eventually { preview.count > before + 5 })
        #expect(try await eventually { log.log.all.contains { $0.contains("observer Thrower failed") } })
        #expect(alice.isJoined)
        await alice.leave()
        #expect(log.log.all.count { $0.contains("on purpose") } == 1)
    }
}
