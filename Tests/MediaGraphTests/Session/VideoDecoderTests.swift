import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests sessions that receive encoded video and decode it.
@Suite(.timeLimit(.minutes(10))) struct VideoDecoderTests {
    init() throws { try Nodes.register() }

    private static let picture = "videotestsrc is-live=true pattern=red ! video/x-raw,width=64,height=48,framerate=30/1"
    private static let vp8 = "\(picture) ! vp8enc deadline=1 keyframe-max-dist=10"
    private static let h264 = "\(picture) ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10"

    /// Logs whether frames are red, and what they carry.
    private static func redFrames() -> PipeLog {
        PipeLog { frame in
            let isRed = try abs(Int(frame.plane(.v).row(0)[0]) - 240) < 8
            #expect(isRed && frame.captureTime != nil && frame.streamID != nil, "\(isRed) \(frame.streamID ?? "-")")
        }
    }

    private final class Observer: SessionFrameObserver {
        let positions: Set<FramePosition> = [.preRenderer]
        let calls = Log<String>()
        func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
            calls.add(user.name)
            return .pass
        }
    }

    private func alice(_ room: String, _ edit: (inout SessionContext) -> Void = { _ in }) throws -> Session {
        try session("alice", room) {
            $0.videoDecoder = "decodebin"
            edit(&$0)
        }
    }

    @Test("SE-13 an encoded camera is decoded for delegates, an observer, a canvas, and its own preview")
    func decoded() async throws {
        let alice = try alice(#function) {
            $0.camera = Self.h264
            $0.frameObserver = Observer()
        }
        let bob = try session("bob", #function) { $0.camera = Self.vp8 }
        for session in [alice, bob] { try await session.join() }
        let (frames, own, shown) = (Self.redFrames(), Self.redFrames(), Self.redFrames())
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        try pipe.subscribe(frames, resolution: .native)
        try alice.preview.subscribe(own, resolution: .native)
        try pipe.setCanvas("rawdatapipe name=canvas")
        await alice.settle()
        try alice.graph.rawDataPipe("canvas").subscribe(shown, resolution: .native)
        for log in [frames, own, shown] {
            #expect(try await eventually { log.count > 5 })
            #expect(log.log.all.first == "on" && Set(log.log.all.dropFirst()) == ["64x48"])
        }
        let observer = try #require(alice.context.frameObserver as? Observer)
        #expect(observer.calls.all.count > 5)
        #expect(alice.description.contains("session.video_bob ! decodebin ! frameobserver name=observer_video_bob "))
        #expect(alice.description.contains("session.preview ! decodebin ! tee name=split_preview "))
        #expect(Description(alice.description).resolved().diagnose() == [])
        try await pipe.unsubscribe(frames)
        try pipe.setCanvas(nil)
        try await alice.preview.unsubscribe(own)
        await bob.leave()
        #expect(try await eventually { alice.remoteUsers.isEmpty })
        await alice.settle()
        #expect(!alice.description.contains("decodebin"))
        #expect(try alice.graph.element("session").pads.map(\.name) == ["camera"])
        await alice.leave()
    }

    @Test(
        "SE-13 a returning user's video is decoded, whatever its codec",
        arguments: [("decodebin", [vp8, h264, picture, vp8]), ("vp8dec", [vp8, vp8])])
    func anotherCodec(decoder: String, cameras: [String]) async throws {
        let room = "\(#function) \(decoder)"
        let alice = try alice(room) { $0.videoDecoder = decoder }
        let log = SessionLog()
        alice.delegate = log
        try await alice.join()
        let frames = Self.redFrames()
        for (number, camera) in cameras.enumerated() {
            let bob = try session("bob", room) { $0.camera = camera }
            try await bob.join()
            #expect(try await eventually { alice.remoteUsers.count == 1 })
            if number == 0 { try alice.user("bob").videoPipe.subscribe(frames, resolution: .native) }
            let before = frames.count
            #expect(try await eventually { frames.count > before + 3 }, "\(camera) \(log.log.all)")
            await bob.leave()
            #expect(try await eventually { frames.log.all.last == "off" && alice.remoteUsers.isEmpty })
        }
        let statuses = frames.log.all.filter { $0.hasPrefix("o") }
        #expect(statuses == cameras.flatMap { _ in ["on", "off"] })
        // The decoder works again after the session itself has been left.
        await alice.leave()
        try await alice.join()
        let bob = try session("bob", room) { $0.camera = cameras[0] }
        try await bob.join()
        let before = frames.count
        #expect(try await eventually { frames.count > before + 3 })
        for session in [bob, alice] { await session.leave() }
    }

    @Test("SE-13 the next share is decoded, though it has another codec than the last one")
    func shares() async throws {
        let (alice, bob) = (try alice(#function), try session("bob", #function))
        let frames = Self.redFrames()
        for session in [alice, bob] { try await session.join() }
        for share in [Self.vp8, Self.h264] {
            try await bob.shareHelper.startSharing(share)
            #expect(try await eventually { (try? alice.user("bob").isSending(.share)) == true })
            try alice.user("bob").sharePipe.subscribe(frames, resolution: .native)
            let before = frames.count
            #expect(try await eventually { frames.count > before + 3 }, "\(share)")
            await bob.shareHelper.stopSharing()
            #expect(try await eventually { frames.log.all.last == "off" })
        }
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 SE-4 a decoder that fails costs its user's video until the user comes back, with a warning")
    func failingDecoder() async throws {
        let room = #function
        // Fails after ten frames.
        let alice = try alice(room) { $0.videoDecoder = "decodebin ! identity error-after=10" }
        let log = SessionLog()
        alice.delegate = log
        let (frames, others, source) = (Self.redFrames(), PipeLog(), RecordingSource())
        let carol = try session("carol", room) { $0.externalVideoSource = source }
        for session in [alice, carol] { try await session.join() }
        for number in 1...2 {
            let bob = try session("bob", room) { $0.camera = Self.vp8 }
            try await bob.join()
            #expect(try await eventually { alice.remoteUsers.count == 2 })
            let before = frames.count
            if number == 1 { try alice.user("bob").videoPipe.subscribe(frames, resolution: .native) }
            #expect(
                try await eventually { log.log.all.count { $0.contains("Failed after iterations") } == number },
                "\(log.log.all)")
            // A live pipe may drop frames on a busy machine.
            #expect(try await eventually { frames.count > before })
            #expect(frames.count <= 9 * number)
            await bob.leave()
            #expect(try await eventually { alice.remoteUsers.count == 1 })
        }
        #expect(alice.isJoined, "\(log.log.all)")
        // Another user's video isn't affected.
        try alice.user("carol").videoPipe.subscribe(others, resolution: .native)
        #expect(
            try await eventually {
                try? source.sendPattern()
                return others.count > 0
            })
        for session in [alice, carol] { await session.leave() }
    }

    @Test("SE-13 SE-4 a decoder that can't start costs its user's video, with a warning, and latency is still known")
    func decoderWithoutStart() async throws {
        let room = #function
        let alice = try alice(room) { $0.videoDecoder = "decodebin ! gdkpixbufoverlay location=/nowhere.png" }
        let log = SessionLog()
        alice.delegate = log
        let bob = try session("bob", room) { $0.camera = Self.vp8 }
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let frames = PipeLog()
        try alice.user("bob").videoPipe.subscribe(frames, resolution: .native)
        #expect(try await eventually { log.log.all.contains { $0.contains("/nowhere.png") } }, "\(log.log.all)")
        #expect(alice.isJoined && frames.count == 0)
        // The pipeline's latency isn't known if one of its branches can't tell its own.
        let pipe = try #require(alice.graph.element("video_bob").staticPad("sink"))
        #expect(try await eventually { pipe.upstreamLatency()?.isLive == true })
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 SE-4 a decoder that no longer starts doesn't keep the user from joining again")
    func rejoining() async throws {
        let picture = "\(NSTemporaryDirectory())decoder-\(UUID().uuidString).png"
        try await Graph(
            "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=16,height=16 ! pngenc ! filesink location=\(picture)"
        ).run()
        let alice = try alice(#function) {
            $0.videoDecoder = "decodebin ! videoconvert ! gdkpixbufoverlay location=\(picture) ! videoconvert"
        }
        let bob = try session("bob", #function) { $0.camera = Self.vp8 }
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let frames = PipeLog()
        try alice.user("bob").videoPipe.subscribe(frames, resolution: .native)
        #expect(try await eventually { frames.count > 0 })
        await alice.leave()
        try FileManager.default.removeItem(atPath: picture)
        let log = SessionLog()
        alice.delegate = log
        try await alice.join()
        #expect(try await eventually { log.log.all.contains { $0.contains(picture) } })
        #expect(alice.isJoined)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 SE-4 a decoder that fails while it is removed costs nothing else")
    func failingWhileRemoved() async throws {
        let alice = try alice(#function) {
            $0.videoDecoder = "identity sleep-time=20000 ! queue ! identity sleep-time=10000 ! identity error-after=3"
        }
        let source = RecordingSource()
        let bob = try session("bob", #function) { $0.externalVideoSource = source }
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        for round in 1...15 {
            let frames = PipeLog()
            try pipe.subscribe(frames, resolution: .native)
            #expect(
                try await eventually {
                    try? source.sendPattern()
                    return frames.count > 0
                })
            try await pipe.unsubscribe(frames)
            await alice.settle()
            try #require(alice.isJoined, "round \(round)")
        }
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 a released session releases its decoders, also those of streams that are still read")
    func releasedDecoders() async throws {
        let frames = Self.redFrames()
        weak var splitters: PadSplitters?
        do {
            let alice = try alice(#function) { $0.camera = Self.vp8 }
            splitters = alice.sessionGraph.splitters
            try alice.preview.subscribe(frames, resolution: .native)
            try await alice.join()
            #expect(try await eventually { frames.count > 0 })
            await alice.leave()
        }
        #expect(try await eventually { splitters == nil })
    }

    @Test("CR-8 without a decoder in the session, a canvas may decode by itself")
    func canvas() async throws {
        let (alice, bob) = (try session("alice", #function), try session("bob", #function) { $0.camera = Self.vp8 })
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        try alice.user("bob").videoPipe.setCanvas("decodebin ! rawdatapipe name=window")
        await alice.settle()
        let frames = Self.redFrames()
        try alice.graph.rawDataPipe("window").subscribe(frames, resolution: .native)
        #expect(try await eventually { frames.count > 3 })
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-13 an invalid decoder, or one beside encoded frames, makes Session.init throw")
    func invalidDecoder() throws {
        #expect(throws: MediaGraphError.self) { try alice(#function) { $0.videoDecoder = "nosuchdecoder" } }
        let error = #expect(throws: MediaGraphError.self) {
            try alice(#function) { $0.customVideoRender = CustomVideoRender(bufferType: .encoded) }
        }
        #expect(
            error.map { "\($0)" }?.contains("can't be combined with a customVideoRender of encoded video") == true)
    }
}
