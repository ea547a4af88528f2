import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests that a user's share pipe works like a video pipe.
@Suite(.timeLimit(.minutes(10))) struct SessionSharePipeTests {
    init() throws { try Nodes.register() }

    private struct Planes: Equatable {
        var widths: [Int]
        var heights: [Int]
        var lengths: [Int]
        var bytes: [UInt8]
    }

    @Test(
        "RP-11 a share pipe gives each delegate its resolution, planes and status until it unsubscribes"
    )
    func essentials() async throws {
        let (alice, bob) = try (session("alice", #function), session("bob", #function))
        for session in [alice, bob] { try await session.join() }
        let share = RecordingShare()
        try await bob.shareHelper.startSharing(share)
        let user = SessionUser(name: "bob", session: alice)
        func send(until condition: () -> Bool) -> Bool {
            waitUntil {
                try? share.sender.sendPattern(width: 320, height: 180)
                return condition()
            }
        }
        #expect(send { user.isSending(.share) })
        let pipe = try user.sharePipe
        let planes = Log<Planes>()
        let full = PipeLog { frame in
            let all = try [VideoFormat.Plane.y, .u, .v].map { plane in
                let plane = try frame.plane(plane)
                return (plane.width, plane.height, plane.byteCount)
            }
            planes.add(
                Planes(widths: all.map(\.0), heights: all.map(\.1), lengths: all.map(\.2), bytes: frame.packedBytes))
        }
        let small = PipeLog()
        try pipe.subscribe(full, resolution: .p180)
        try pipe.subscribe(small, resolution: .p90)
        #expect(send { full.count > 3 && small.count > 3 })
        let sent = Planes(
            widths: [320, 160, 160], heights: [180, 90, 90], lengths: [320 * 180, 160 * 90, 160 * 90],
            bytes: patternedFrame(width: 320, height: 180))
        #expect(planes.all.allSatisfy { $0 == sent })
        #expect(Set(full.log.all.dropFirst()) == ["320x180"] && Set(small.log.all.dropFirst()) == ["160x90"])
        #expect((full.identities.all + small.identities.all).allSatisfy { $0.kind == .share && $0.user == "bob" })
        let twice = #expect(throws: MediaGraphError.self) { try pipe.subscribe(full, resolution: .p90) }
        #expect(twice?.code == .alreadyInUse)
        try await pipe.unsubscribe(small)
        let (after, more) = (small.log.all, full.count + 3)
        #expect(send { full.count > more })
        #expect(small.log.all == after)
        try await bob.shareHelper.pause()
        #expect(waitUntil { full.log.all.last == "off" })
        try await bob.shareHelper.resume()
        let back = full.count
        #expect(send { full.count > back })
        #expect(full.log.all.filter { $0.hasPrefix("o") } == ["on", "off", "on"])
        try await pipe.unsubscribe(full)
        let unknown = await #expect(throws: MediaGraphError.self) { try await pipe.unsubscribe(full) }
        #expect(unknown?.code == .wrongUsage)
        await alice.settle()
        #expect(try alice.graph.element("session").pads.isEmpty)
        for session in [alice, bob] { await session.leave() }
    }
}
