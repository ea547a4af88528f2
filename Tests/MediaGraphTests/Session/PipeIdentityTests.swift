import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests what a session says about its pipes and shares, and subscribing again.
@Suite(.timeLimit(.minutes(10))) struct PipeIdentityTests {
    init() throws { try Nodes.register() }

    private static let camera = "videotestsrc is-live=true ! video/x-raw,format=I420,width=32,height=18,framerate=60/1"

    /// Sends frames of a share until `condition` holds. Returns false if it doesn't.
    private static func sends(_ share: RecordingShare, until condition: () -> Bool) -> Bool {
        waitUntil {
            try? share.sender.sendPattern(width: 320, height: 180)
            return condition()
        }
    }

    @Test("SE-9 a pipe's identity says camera, second camera, preview or share, and own or remote")
    func identities() async throws {
        let alice = try session("alice", #function) {
            ($0.camera, $0.auxCamera) = (Self.camera, Self.camera)
        }
        let bob = try session("bob", #function)
        for session in [alice, bob] { try await session.join() }
        let share = RecordingShare()
        try await alice.shareHelper.startSharing(share)
        let her = SessionUser(name: "alice", session: bob)
        #expect(Self.sends(share) { her.isSending(.share) && alice.localUser.isSending(.share) })
        let logs = (0..<8).map { _ in PipeLog() }
        try alice.localUser.videoPipe.subscribe(logs[0], resolution: .p90)
        try alice.localUser.auxVideoPipe.subscribe(logs[1], resolution: .p90)
        try alice.preview.subscribe(logs[2], resolution: .p90)
        try alice.auxPreview.subscribe(logs[3], resolution: .p90)
        try alice.localUser.sharePipe.subscribe(logs[4], resolution: .p90)
        try her.videoPipe.subscribe(logs[5], resolution: .p90)
        try her.auxVideoPipe.subscribe(logs[6], resolution: .p90)
        try her.sharePipe.subscribe(logs[7], resolution: .p90)
        #expect(Self.sends(share) { logs.allSatisfy { $0.count > 0 } })
        let kinds: [(PipeIdentity.Kind, isLocal: Bool)] = [
            (.camera(.main), true), (.camera(.aux), true), (.preview(.main), true), (.preview(.aux), true),
            (.share, true), (.camera(.main), false), (.camera(.aux), false), (.share, false),
        ]
        for (log, expected) in zip(logs, kinds) {
            #expect(
                log.identities.all.allSatisfy {
                    $0.kind == expected.0 && $0.isLocal == expected.isLocal && $0.user == "alice"
                }, "\(log.identities.all)")
        }
        #expect(her.videoPipe.kind == .camera(.main) && her.auxVideoPipe.kind == .camera(.aux))
        for session in [bob, alice] { await session.leave() }
    }

    @Test("SE-9 a share that waits for another one is reported once, and isSharing is false until it begins")
    func waiting() async throws {
        let (alice, bob) = try (session("alice", #function), session("bob", #function))
        let events = SessionLog()
        bob.delegate = events
        for session in [alice, bob] { try await session.join() }
        let (hers, his) = (RecordingShare(), RecordingShare())
        try await alice.shareHelper.startSharing(hers)
        #expect(alice.shareHelper.isSharing)
        let user = SessionUser(name: "alice", session: bob)
        #expect(Self.sends(hers) { user.isSending(.share) })
        try await bob.shareHelper.startSharing(his, audioSource: his)
        #expect(!bob.shareHelper.isSharing)
        let waits = "waits: user \"alice\" is already sharing"
        #expect(
            Self.sends(his) {
                try? sendNow(his.audioSender, [Int16](repeating: 1000, count: 480))
                return events.log.all.contains(waits)
            })
        #expect(!bob.shareHelper.isSharing && alice.shareHelper.isSharing)
        try await alice.shareHelper.pause()
        #expect(alice.shareHelper.isSharing)
        #expect(Self.sends(his) { events.log.all.contains("bob share on") })
        #expect(bob.shareHelper.isSharing)
        // Alice's share waits in turn.
        try await alice.shareHelper.resume()
        #expect(Self.sends(hers) { !alice.shareHelper.isSharing })
        await bob.shareHelper.stopSharing()
        #expect(!bob.shareHelper.isSharing)
        #expect(Self.sends(hers) { alice.shareHelper.isSharing && user.isSending(.share) })
        #expect(events.log.all.count { $0 == waits } == 1)
        for session in [bob, alice] { await session.leave() }
    }

    @Test("SE-9 subscribing again works: it changes the resolution, and one unsubscribe ends it")
    func again() async throws {
        let source = RecordingSource()
        let bob = try session("bob", "subscribing again") { $0.externalVideoSource = source }
        let alice = try session("alice", "subscribing again")
        for session in [bob, alice] { try await session.join() }
        #expect(waitUntil { (try? alice.user("bob")) != nil })
        func sends(until condition: () -> Bool) -> Bool {
            waitUntil {
                try? source.sender.sendPattern(width: 640, height: 360)
                return condition()
            }
        }
        let (frames, other) = (PipeLog(), PipeLog())
        let pipe = try alice.user("bob").videoPipe
        try pipe.subscribe(frames, resolution: .p360)
        try pipe.subscribe(frames, resolution: .p360)
        try pipe.subscribe(other, resolution: .p360)
        #expect(sends { frames.log.all.contains("640x360") })
        try pipe.subscribe(frames, resolution: .p90)
        #expect(sends { frames.log.all.last == "160x90" })
        try pipe.subscribe(frames, resolution: .p180)
        #expect(sends { frames.log.all.last == "320x180" })
        let refused = #expect(throws: MediaGraphError.self) {
            try pipe.subscribe(frames, resolution: .p90, format: .nv12)
        }
        #expect(refused?.code == .alreadyInUse)
        #expect(frames.log.all.count { $0 == "on" || $0 == "off" } == 1)
        #expect(Set(other.log.all) == ["on", "640x360"])
        try bob.preview.subscribe(frames, resolution: .p90)
        try bob.preview.subscribe(frames, resolution: .p180)
        try await bob.preview.unsubscribe(frames)
        try await pipe.unsubscribe(frames)
        let count = frames.count
        let more = other.count + 3
        #expect(sends { other.count > more })
        #expect(frames.count == count)
        let unknown = await #expect(throws: MediaGraphError.self) { try await pipe.unsubscribe(frames) }
        #expect(unknown?.code == .wrongUsage)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-9 a delegate may subscribe at each start of a share and each return of a user, as in Zoom's samples")
    func returns() async throws {
        /// Subscribes to each share and each user, as Zoom's samples do.
        final class Viewer: SessionDelegate, RawDataDelegate {
            let log = Log<String>()
            func session(_ session: Session, _ event: SessionEvent) {
                do {
                    switch event {
                    case .userJoined(let user): try user.videoPipe.subscribe(self, resolution: .p90)
                    case .streamChanged(let user, .share, isOn: true):
                        try user.sharePipe.subscribe(self, resolution: .p180)
                        log.add("share begins")
                    default: break
                    }
                } catch { log.add("\(error)") }
            }
            func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
                log.add("\(pipe.kind == .share ? "share" : "video") \(frame.height)")
            }
        }
        let alice = try session("alice", #function)
        let viewer = Viewer()
        alice.delegate = viewer
        try await alice.join()
        let bob = try session("bob", #function) { $0.camera = Self.camera }
        for _ in 1...2 {
            try await bob.join()
            viewer.log.removeAll()
            #expect(waitUntil { viewer.log.all.contains("video 18") })
            for _ in 1...2 {
                let share = RecordingShare()
                try await bob.shareHelper.startSharing(share)
                viewer.log.removeAll()
                // The last share's subscription may have delivered frames before this share's event was handled.
                #expect(Self.sends(share) { Set(viewer.log.all).isSuperset(of: ["share begins", "share 180"]) })
                await bob.shareHelper.stopSharing()
                #expect(waitUntil { !SessionUser(name: "bob", session: alice).isSending(.share) })
            }
            await bob.leave()
            #expect(waitUntil { alice.remoteUsers.isEmpty })
            #expect(viewer.log.all.allSatisfy { $0.hasPrefix("share ") || $0.hasPrefix("video ") }, "\(viewer.log.all)")
        }
        await alice.leave()
    }
}
