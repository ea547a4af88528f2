import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests that readers of encoded streams that can't show anything get a key frame, with an encoder that sends only one
/// by itself.
@Suite struct KeyFrameTests {
    init() throws { try Nodes.register() }

    /// A room whose clock the test advances, and which reaches other processes.
    private struct TestRoom {
        let name: String
        let clock = VirtualClock()

        init(_ name: String) {
            self.name = name
            RoomTransportKind.registerProcesses("key-frames-\(name)", clock: clock)
        }

        /// The node of a user's session.
        func session(_ user: String) -> String {
            "mediasession name=call transport=\"key-frames-\(name)\" room=\"\(name)\" user=\(user)"
        }

        /// Permits another key frame request.
        func passSecond() { clock.advance(by: .seconds(1)) }
    }

    /// A graph that sends bob's stream, with a log of the key frame flags of all its frames.
    private func bob(_ room: TestRoom) throws -> (graph: Graph, encoded: Log<Bool>) {
        let graph = try Graph(
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=60/1 !
            vp8enc name=encoder deadline=1 keyframe-max-dist=1000000 ! call.camera
            \(room.session("bob"))
            """)
        let encoded = Log<Bool>()
        try graph.element("encoder").staticPad("src")?.observeBuffers { encoded.add($0.isKeyframe) }
        return (graph, encoded)
    }

    /// A graph that reads bob's stream, with a log of key frame flags for all frames, and for those after lost ones.
    private func reader(
        _ user: String, _ room: TestRoom, _ tail: String
    ) throws -> (graph: Graph, frames: Log<Bool>, afterLoss: Log<Bool>) {
        let graph = try Graph("\(room.session(user))  call.video_bob ! \(tail)")
        let (frames, afterLoss) = (Log<Bool>(), Log<Bool>())
        try graph.element("call").staticPad("video_bob")?.observeBuffers {
            frames.add($0.isKeyframe)
            if $0.isDiscontinuous { afterLoss.add($0.isKeyframe) }
        }
        return (graph, frames, afterLoss)
    }

    /// A reader that has received bob's frames from the first one on, and that could have requested a key frame.
    private func early(_ room: TestRoom) async throws -> (early: Graph, bob: Graph, frames: Log<Bool>) {
        let (early, frames, _) = try reader("early", room, "fakesink name=end sync=false")
        try await early.start()
        let bob = try bob(room).graph
        try await bob.start()
        for _ in 0..<2 {
            room.passSecond()
            let before = frames.all.count
            #expect(waitUntil { frames.all.count >= before + 5 })
        }
        #expect(try Self.isFirstOnly(frames, of: early))
        room.passSecond()
        return (early, bob, frames)
    }

    /// A graph that decodes bob's stream, with a log of its frames.
    private func decoder(_ user: String, _ room: TestRoom) throws -> (graph: Graph, shown: Log<Bool>) {
        let graph = try Graph("\(room.session(user))  call.video_bob ! vp8dec ! rawdatapipe name=pipe")
        let shown = Log<Bool>()
        try graph.rawDataPipe("pipe").receive { _ in shown.add(true) }
        return (graph, shown)
    }

    /// Whether no key frame but the first one came. A reader that lost frames on a busy machine has requested more.
    private static func isFirstOnly(_ frames: Log<Bool>, of graph: Graph) throws -> Bool {
        try frames.all.count(where: \.self) == 1 || hasLost(graph)
    }

    private static func hasLost(_ graph: Graph) throws -> Bool {
        try NodeCounts(graph.element("call"))!.dropped > 0
    }

    @Test("SE-1 a user who joins late gets a key frame, and a reader without losses requests none")
    func late() async throws {
        let room = TestRoom(#function)
        let (early, bob, frames) = try await early(room)
        for user in ["alice", "carol"] {
            let (late, shown) = try decoder(user, room)
            try await late.start()
            // A request may have been used up by a reader that lost frames.
            #expect(
                waitUntil {
                    room.passSecond()
                    return shown.all.count >= 10
                })
            await late.stop()
            room.passSecond()
        }
        #expect(waitUntil { frames.all.count(where: \.self) >= 3 })
        for graph in [early, bob] { await graph.stop() }
    }

    @Test("SE-4 a reader that lost frames of an encoded stream gets at most one key frame a second")
    func overrun() async throws {
        let room = TestRoom(#function)
        let (slow, frames, afterLoss) = try reader("slow", room, "identity sleep-time=50000 ! fakesink sync=false")
        try await slow.start()
        let (bob, encoded) = try bob(room)
        try await bob.start()
        func dropped() throws -> UInt64 { NodeCounts(try slow.element("call"))!.dropped }
        // The first key frame opens the stream, and one follows each second in which frames are lost.
        for second in 1...3 {
            #expect(waitUntil { frames.all.count(where: \.self) > second })
            // The reader loses frames after the key frame too.
            let before = try dropped()
            #expect(try await eventually { (try? dropped()) ?? 0 >= before + 10 })
            #expect(encoded.all.count(where: \.self) == second + 1)
            room.passSecond()
        }
        #expect(afterLoss.all.count >= 3 && afterLoss.all.allSatisfy(\.self))
        for graph in [slow, bob] { await graph.stop() }
    }

    @Test("SE-1 a key frame request at a session's pad reaches the user's encoder")
    func requested() async throws {
        let room = TestRoom(#function)
        let (early, bob, frames) = try await early(room)
        let end = try early.element("end")
        end.staticPad("sink")?.requestKeyFrame()
        #expect(waitUntil { frames.all.count(where: \.self) >= 2 })
        room.passSecond()
        // A request for a later time, such as those made when a stream is cut into files.
        let before = frames.all.count
        let now = try #require(end.currentRunningTime)
        let later = ClockTime(nanoseconds: now.nanoseconds + 500_000_000)
        #expect(end.staticPad("sink")?.requestKeyFrame(at: later) == true)
        #expect(waitUntil { frames.all.dropFirst(before).contains(true) })
        let after = frames.all.dropFirst(before).firstIndex(of: true).map { $0 - before } ?? 0
        let hasLost = try Self.hasLost(early)
        #expect(after >= 20 || hasLost, "\(after) frames, of sixty a second")
        for graph in [early, bob] { await graph.stop() }
    }

    @Test("SE-3 a late reader in another process gets a key frame, and again whenever it requests one")
    func betweenProcesses() async throws {
        let room = TestRoom(#function)
        let (early, bob, frames) = try await early(room)
        let other = OtherRoom()
        let link = try RoomLink.started(room.name, other)
        try link.claimed("alice")
        #expect(waitUntil { other.users.all.contains("bob") })
        // Without a reader the request isn't forwarded.
        link.requestKeyFrame(other.bobs.key)
        let atRequest = frames.all.count
        #expect(waitUntil { frames.all.count >= atRequest + 10 })
        #expect(try Self.isFirstOnly(frames, of: early))
        let before = frames.all.count(where: \.self)
        let reader = StreamReader(bound: 2)
        reader.play()
        other.bobs.add(reader)
        link.setDemand(other.bobs.demand.map { StreamDemand(resolution: $0) }, for: other.bobs.key)
        #expect(
            waitUntil {
                room.passSecond()
                return reader.takeBuffer()?.access.isKeyframe == true
            })
        // The key frame may arrive here before `early` has it.
        #expect(waitUntil { frames.all.count(where: \.self) > before })
        let after = frames.all.count(where: \.self)
        room.passSecond()
        link.requestKeyFrame(other.bobs.key)
        #expect(waitUntil { frames.all.count(where: \.self) > after })
        link.stop()
        for graph in [early, bob] { await graph.stop() }
    }
}
