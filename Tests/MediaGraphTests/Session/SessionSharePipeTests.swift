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
        // The user's own pipe is there before the first frame.
        let own = PipeLog()
        try bob.localUser.sharePipe.subscribe(own, resolution: .p90)
        #expect(send { user.isSending(.share) && own.count > 0 })
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

    @Test("RP-11 RP-6 a share's subscriptions have formats of their own, beside the session's format and sink")
    func formats() async throws {
        let room = "share formats"
        let alice = try session("alice", room) {
            $0.customVideoRender = CustomVideoRender(format: .rgb, engineRender: "rawdatapipe name=window")
        }
        let bob = try session("bob", room)
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
        let seen = Log<String>()
        let delegates = [("session", PipeFormat.auto), ("NV12", .nv12), ("yuv", .yuv)].map { name, format in
            (PipeLog { seen.add("\(name): \($0.format.gstreamerName) \($0.width)x\($0.height)") }, format)
        }
        for (delegate, format) in delegates {
            try user.sharePipe.subscribe(delegate, resolution: format == .nv12 ? .p90 : .native, format: format)
        }
        let frames = try user.sharePipe.frames(resolution: .native, format: .rgba)
        #expect(send { delegates.allSatisfy { $0.0.count > 2 } })
        #expect(Set(seen.all) == ["session: BGRA 320x180", "NV12: NV12 160x90", "yuv: I420 320x180"])
        let iterator = frames.makeAsyncIterator()
        #expect(try await iterator.next()?.format == .rgba)
        #expect(send { (try? alice.graph.rawDataPipe("window").statistics.frames) ?? 0 > 0 })
        for session in [alice, bob] { await session.leave() }
    }

    @Test("RP-11 RP-12 a share pipe delivers native frames in a format, and refuses a sequence of them")
    func native() async throws {
        final class Natives: RawDataDelegate {
            let log = Log<String>()
            func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
                log.add("\(pipe.kind) \(frame.caps[0].text("format") ?? "")")
            }
        }
        let room = "native share"
        let alice = try session("alice", room) {
            $0.customVideoRender = CustomVideoRender(bufferType: .native, format: .nv12)
        }
        let bob = try session("bob", room)
        for session in [alice, bob] { try await session.join() }
        let share = RecordingShare()
        try await bob.shareHelper.startSharing(share)
        let user = SessionUser(name: "bob", session: alice)
        let natives = Natives()
        func send(until condition: () -> Bool) -> Bool {
            waitUntil {
                try? share.sender.sendPattern(width: 32, height: 18)
                return condition()
            }
        }
        #expect(send { user.isSending(.share) })
        try user.sharePipe.subscribe(natives, resolution: .native)
        #expect(send { natives.log.all.count > 2 })
        #expect(Set(natives.log.all) == ["share NV12"])
        let refused = #expect(throws: MediaGraphError.self) { try user.sharePipe.frames(resolution: .native) }
        #expect(refused?.code == .unsupported)
        for session in [alice, bob] { await session.leave() }
    }
}
