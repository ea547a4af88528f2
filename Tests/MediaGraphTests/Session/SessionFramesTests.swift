import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests tasks that read a session's frames.
@Suite(.timeLimit(.minutes(10))) struct SessionFramesTests {
    init() throws { try Nodes.register() }

    private static let camera =
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=180,framerate=60/1"

    private func pads(of session: Session) throws -> [String] { try session.graph.element("session").pads.map(\.name) }

    @Test(
        "RP-7 a task can read a user's frames in its own resolution, and leaving the loop unsubscribes"
    )
    func reading() async throws {
        let bob = try session("bob", #function) { $0.camera = Self.camera }
        let alice = try session("alice", #function)
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        let delegate = PipeLog()
        try pipe.subscribe(delegate, resolution: .p180)
        for _ in 1...3 {
            var kept: [OwnedVideoFrame] = []
            for try await frame in try pipe.frames(resolution: .p90) {
                kept.append(frame)
                if kept.count == 5 { break }
            }
            #expect(kept.allSatisfy { ($0.width, $0.height) == (160, 90) && $0.streamID == "\(#function)/bob/video" })
            let times = kept.compactMap(\.runningTime)
            #expect(times.count == 5 && times == times.sorted())
        }
        #expect(try await eventually { delegate.log.all.contains("320x180") })
        try await pipe.unsubscribe(delegate)
        #expect(try await eventually { (try? pads(of: alice)) == [] })
        for session in [alice, bob] { await session.leave() }
    }

    @Test(
        "RP-9 cancelling the task, leaving the session and releasing the sequence each unsubscribe")
    func endings() async throws {
        let alice = try session("alice", #function) { $0.camera = Self.camera }
        let isReading = Log<Bool>()
        let frames = try alice.preview.frames(resolution: .p90)
        let reading = Task {
            for try await _ in frames { isReading.add(true) }
            return Task.isCancelled
        }
        try await alice.join()
        #expect(try await eventually { !isReading.all.isEmpty })
        #expect(try pads(of: alice).contains("preview"))
        reading.cancel()
        #expect(try await reading.value)
        #expect(try await eventually { (try? pads(of: alice)) == ["camera"] })
        do { _ = try alice.preview.frames(resolution: .p90) }
        #expect(try await eventually { (try? pads(of: alice)) == ["camera"] })
        let last = try alice.localUser.videoPipe.frames(resolution: .p90)
        let ended = Task {
            var count = 0
            for try await _ in last { count += 1 }
            return count
        }
        #expect(try await eventually { alice.localUser.videoPipe.statistics.frames > 2 })
        await alice.leave()
        #expect(try await ended.value > 0)
    }

    @Test(
        "RP-5 a sequence holds two frames, and a slow reader only loses its own oldest frames")
    func slowReader() async throws {
        let alice = try session("alice", #function) { $0.camera = Self.camera }
        try await alice.join()
        let frames = try alice.preview.frames(resolution: .p90)
        let delegate = PipeLog()
        try alice.preview.subscribe(delegate, resolution: .p90)
        #expect(try await eventually { delegate.count > 10 && alice.preview.statistics.dropped > 5 })
        let iterator = frames.makeAsyncIterator()
        let first = try #require(try await iterator.next()?.runningTime)
        // The first frames, a sixtieth of a second each, were dropped.
        #expect(first > .milliseconds(50))
        await alice.leave()
    }

    @Test("RP-7 reading frames with the memory mode stack, or from an absent user, is an error")
    func unreadableFrames() async throws {
        let alice = try session("alice", #function) {
            $0.camera = Self.camera
            $0.videoMemoryMode = .stack
        }
        let mode = #expect(throws: MediaGraphError.self) { _ = try alice.preview.frames(resolution: .p90) }
        #expect(mode?.code == .invalidParameter)
        let nobody = SessionUser(name: "bob", session: alice)
        let gone = #expect(throws: MediaGraphError.self) { _ = try nobody.videoPipe.frames(resolution: .p90) }
        #expect(gone?.code == .noSuchUser)
    }
}
