import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests that readers of encoded streams that can't show anything get a key frame, with an encoder that sends only one
/// by itself.
@Suite struct KeyFrameTests {
    init() throws { try Nodes.register() }

    private func bob(_ room: String) throws -> Graph {
        try Graph(
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=30/1 !
            vp8enc name=encoder deadline=1 keyframe-max-dist=1000000 ! call.camera
            mediasession name=call room="\(room)" user=bob
            """)
    }

    /// A graph that reads bob's stream, with a log of key frame flags for all frames, and for those after lost ones.
    private func reader(
        _ user: String, _ room: String, _ tail: String
    ) throws -> (graph: Graph, frames: Log<Bool>, afterLoss: Log<Bool>) {
        let graph = try Graph("mediasession name=call room=\"\(room)\" user=\(user)  call.video_bob ! \(tail)")
        let (frames, afterLoss) = (Log<Bool>(), Log<Bool>())
        try graph.element("call").staticPad("video_bob")?.observeBuffers {
            frames.add($0.isKeyframe)
            if $0.isDiscontinuous { afterLoss.add($0.isKeyframe) }
        }
        return (graph, frames, afterLoss)
    }

    /// A reader that has received `count` of bob's frames from the first one on.
    private func early(
        _ room: String, frames count: Int
    ) async throws -> (early: Graph, bob: Graph, frames: Log<Bool>) {
        let (early, frames, _) = try reader("early", room, "fakesink name=end sync=false")
        try await early.start()
        let bob = try bob(room)
        try await bob.start()
        #expect(waitUntil { frames.all.count >= count })
        #expect(try Self.isFirstOnly(frames, of: early))
        return (early, bob, frames)
    }

    /// A graph that decodes bob's stream, with a log of its frames.
    private func decoder(_ user: String, _ room: String) throws -> (graph: Graph, shown: Log<Bool>) {
        let graph = try Graph(
            "mediasession name=call room=\"\(room)\" user=\(user)  call.video_bob ! vp8dec ! rawdatapipe name=pipe")
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
        let room = #function
        let (early, bob, frames) = try await early(room, frames: 45)
        for user in ["alice", "carol"] {
            let (late, shown) = try decoder(user, room)
            try await late.start()
            #expect(waitUntil { shown.all.count >= 10 })
            await late.stop()
        }
        #expect(frames.all.count(where: \.self) >= 3)
        for graph in [early, bob] { await graph.stop() }
    }

    @Test("SE-4 a reader that lost frames of an encoded stream gets at most one key frame a second")
    func overrun() async throws {
        let room = #function
        let (slow, frames, afterLoss) = try reader("slow", room, "identity sleep-time=150000 ! fakesink sync=false")
        try await slow.start()
        let bob = try bob(room)
        try await bob.start()
        #expect(waitUntil { frames.all.count(where: \.self) >= 4 })
        let sent = NodeCounts(try bob.element("call"))!.frames
        #expect(NodeCounts(try slow.element("call"))!.dropped > 0)
        // Three requested key frames follow the first one, thirty frames apart.
        #expect(sent >= 60)
        #expect(afterLoss.all.count >= 3 && afterLoss.all.allSatisfy(\.self))
        for graph in [slow, bob] { await graph.stop() }
    }

    @Test("SE-1 a key frame request at a session's pad reaches the user's encoder")
    func requested() async throws {
        let room = #function
        let (early, bob, frames) = try await early(room, frames: 10)
        let end = try early.element("end")
        end.staticPad("sink")?.requestKeyFrame()
        #expect(waitUntil { frames.all.count(where: \.self) >= 2 })
        // A request for a later time, such as those made when a stream is cut into files.
        let now = try #require(end.currentRunningTime)
        let inTwoSeconds = ClockTime(nanoseconds: now.nanoseconds + 2_000_000_000)
        #expect(end.staticPad("sink")?.requestKeyFrame(at: inTwoSeconds) == true)
        let before = frames.all.count
        #expect(waitUntil { frames.all.dropFirst(before).contains(true) })
        let after = frames.all.dropFirst(before).firstIndex(of: true).map { $0 - before } ?? 0
        let hasLost = try Self.hasLost(early)
        #expect(after >= 45 || hasLost, "\(after) frames, of thirty a second")
        for graph in [early, bob] { await graph.stop() }
    }

    @Test("SE-3 a late reader in another process gets a key frame, and again whenever it requests one")
    func betweenProcesses() async throws {
        let room = #function
        let (early, bob, frames) = try await early(room, frames: 10)
        let other = OtherRoom()
        let link = try RoomLink.started(room, other)
        try link.claimed("alice")
        #expect(waitUntil { other.users.all.contains("bob") })
        // Without a reader the request isn't forwarded.
        link.requestKeyFrame(other.bobs.key)
        #expect(waitUntil { frames.all.count >= 20 })
        #expect(try Self.isFirstOnly(frames, of: early))
        let before = frames.all.count(where: \.self)
        let reader = StreamReader(bound: 2)
        reader.play()
        other.bobs.add(reader)
        link.setDemand(other.bobs.demand, for: other.bobs.key)
        #expect(waitUntil { reader.takeBuffer()?.access.isKeyframe == true })
        // The key frame may arrive here before `early` has it.
        #expect(waitUntil { frames.all.count(where: \.self) > before })
        let after = frames.all.count(where: \.self)
        #expect(
            waitUntil {
                link.requestKeyFrame(other.bobs.key)
                return frames.all.count(where: \.self) > after
            })
        link.stop()
        for graph in [early, bob] { await graph.stop() }
    }
}
