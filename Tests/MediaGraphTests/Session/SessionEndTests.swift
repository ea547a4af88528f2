import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests what ends a session, and what only ends one of its streams.
@Suite(.timeLimit(.minutes(10))) struct SessionEndTests {
    init() throws { try Nodes.register() }

    private struct Broken: Error, CustomStringConvertible { let description = "my code failed" }

    /// Sends one frame, and then returns or fails.
    private final class ShortShare: AsyncShareSource {
        private let fails: Bool
        init(fails: Bool) { self.fails = fails }

        func run(sender: VideoSender) async throws {
            try await sender.send(
                patternedFrame(width: 16, height: 16, seed: 0),
                FrameDescription(width: 16, height: 16, timestamp: sender.runningTime))
            if fails { throw Broken() }
        }
    }

    @Test(
        "SE-1 a camera that ends only ends its stream, and its user stays in the room")
    func shortCamera() async throws {
        let alice = try session("alice", #function)
        let bob = try session("bob", #function) { $0.camera = "videotestsrc is-live=true num-buffers=3" }
        let (others, own) = (SessionLog(), SessionLog())
        (alice.delegate, bob.delegate) = (others, own)
        try await alice.join()
        try await bob.join()
        #expect(
            waitUntil { others.log.all == ["joined", "+bob", "bob video on", "bob video off"] }, "\(others.log.all)")
        #expect(waitUntil { own.log.all.last == "bob video off" })
        #expect(bob.isJoined && alice.remoteUsers.map(\.name) == ["bob"])
        await bob.leave()
        #expect(waitUntil { others.log.all.last == "-bob" && own.log.all.last == "left" })
        try await bob.join()
        #expect(waitUntil { others.log.all.contains("+bob") && bob.isJoined })
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SH-1 a share that fails or ends doesn't end the session, and the next one may begin")
    func failingShare() async throws {
        let bob = try session("bob", #function)
        let log = SessionLog()
        bob.delegate = log
        try await bob.join()
        try await bob.shareHelper.startSharing(ShortShare(fails: true))
        #expect(try await eventually { log.log.all.contains { $0.contains("my code failed") } }, "\(log.log.all)")
        #expect(try await eventually { !bob.shareHelper.isSharing })
        #expect(bob.isJoined)
        try await bob.shareHelper.startSharing(ShortShare(fails: false))
        #expect(try await eventually { log.log.all.filter { $0 == "bob share off" }.count == 2 }, "\(log.log.all)")
        await bob.shareHelper.stopSharing()
        let last = RecordingShare()
        try await bob.shareHelper.startSharing(last)
        #expect(last.calls.all == ["shareSendStarted"] && bob.isJoined)
        await bob.leave()
    }

    @Test("SE-1 `left` is the last event of a session", arguments: 1...5)
    func lastEvent(_ round: Int) async throws {
        let alice = try session("alice", "\(#function)\(round)") { $0.camera = "videotestsrc is-live=true" }
        let log = SessionLog()
        alice.delegate = log
        let bob = try session("bob", "\(#function)\(round)") { $0.camera = "videotestsrc is-live=true" }
        try await bob.join()
        try await alice.join()
        #expect(waitUntil { log.log.all.contains("alice video on") && log.log.all.contains("bob video on") })
        await alice.leave()
        await bob.leave()
        await alice.settle()
        #expect(waitUntil { log.log.all.contains("left") })
        #expect(log.log.all.last == "left", "\(log.log.all)")
    }

    @Test(
        "SE-5 invalid room and user names are refused",
        arguments: [("", "r"), ("a/b", "r"), ("alice", ""), ("alice", "x/y")])
    func names(_ user: String, _ room: String) throws {
        let error = #expect(throws: MediaGraphError.self) { try Session(SessionContext(user: user, room: room)) }
        #expect(error?.code == .invalidParameter)
    }

    @Test("GR-2 `check` reports an invalid room or user, and the element doesn't start with it")
    func namesInText() async throws {
        let found = try Graph.diagnose(Description("mediasession room=\"x/y\" user=\"a/b\""))
        #expect(found.map(\.message) == ["\"x/y\" isn't a valid room name", "\"a/b\" isn't a valid user name"])
        let pipeline = try Pipeline(parsing: "mediasession name=call room=x/y")
        let element = try #require(pipeline.element(named: "call"))
        #expect(element.setState(.paused) == .failure)
        element.setState(.null)
        try element.setProperty("room", to: "x")
        #expect(element.setState(.paused) == .noPreroll)
        element.setState(.null)
    }

    @Test("SE-2 the pipe of a released delegate is removed")
    func unreadPipe() async throws {
        let bob = try session("bob", #function) { $0.camera = "videotestsrc is-live=true" }
        try await bob.join()
        let frames = Log<Int>()
        do {
            let delegate = PipeLog { _ in frames.add(1) }
            try bob.localUser.videoPipe.subscribe(delegate, resolution: .p90)
            #expect(waitUntil { frames.all.count > 2 })
            #expect(bob.description.contains("rawdatapipe"))
            withExtendedLifetime(delegate) {}
        }
        #expect(waitUntil { !bob.description.contains("rawdatapipe") }, "\(bob.description)")
        await bob.settle()
        #expect(try bob.graph.element("session").pads.map(\.name) == ["camera"])
        await bob.leave()
    }

    @Test("SE-5 joining twice is an error that says what to do")
    func twice() async throws {
        let bob = try session("bob", #function)
        try await bob.join()
        let error = await #expect(throws: MediaGraphError.self) { try await bob.join() }
        #expect(error?.code == .wrongUsage && "\(error!)".contains("leave() first"))
        #expect(bob.isJoined)
        await bob.leave()
    }

    @Test(
        "the stack depth of a session's event handler doesn't grow with the number of events",
        .disabled(if: Sanitizer.isAddress, "the sanitizer keeps locals on its own stacks, which hide the depth"))
    func manyEvents() throws {
        let graph = try Graph("fakesrc name=source ! fakesink")
        let depths = Mutex<(first: UInt, last: UInt)>((0, 0))
        graph.listen(
            Graph.Listener { _ in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1) { place in
                    let address = UInt(bitPattern: place.baseAddress!)
                    depths.withLock { $0 = ($0.first == 0 ? address : $0.first, address) }
                }
            })
        let source = try graph.element("source")
        let events = 5000
        for _ in 0..<events { source.post(Structure("mediagraph-test")) }
        let (first, last) = depths.withLock { $0 }
        #expect(first != 0 && max(first, last) - min(first, last) < 1024, "\(first) \(last)")
    }
}
