import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests the information for renderers in a session's frames, and custom rendering.
@Suite(.timeLimit(.minutes(10))) struct SessionRenderTests {
    init() throws { try Nodes.register() }

    /// Logs the marks of frames, and whether their bytes are those that were sent.
    private final class Marks: RawDataDelegate {
        let all = Log<String>()
        let kept = Log<OwnedVideoFrame>()
        private let sent = patternedFrame(width: 32, height: 18)

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
            let channel = frame.publishChannel.map { "\($0)" } ?? "-"
            let isSame = frame.packedBytes == sent
            all.add("\(frame.flip) \(channel) \(frame.streamID ?? "-")\(isSame ? "" : " changed")")
            if kept.all.isEmpty { kept.add(try frame.retain()) }
        }
    }

    @Test(
        "CR-4 CR-3 frames carry the mirror mode's flip, their channel and stream, and stay unflipped"
    )
    func mirrorModes() async throws {
        let room = #function
        let source = RecordingSource()
        let alice = try session("alice", room) { $0.externalVideoSource = source }
        let bob = try session("bob", room)
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { bob.remoteUsers.count == 1 })
        let (own, remote) = (Marks(), Marks())
        try alice.preview.subscribe(own, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(remote, resolution: .p90)
        #expect(alice.mirrorMode == .previewOnly && !alice.description.contains("mirror="))
        let flips: [(MirrorMode, Flip, Flip)] = [
            (.previewOnly, .x, .none), (.both, .x, .x), (.none, .none, .none), (.publishOnly, .none, .x),
        ]
        for (mode, preview, published) in flips {
            alice.mirrorMode = mode
            // The mode applies from the next frame on. Frames sent before may still be on their way.
            let wanted = ["\(preview) main \(room)/alice/video", "\(published) main \(room)/alice/video"]
            #expect(
                waitUntil {
                    try? source.sendPattern()
                    return own.all.all.last == wanted[0] && remote.all.all.last == wanted[1]
                }, "\(mode)")
        }
        #expect(alice.description.contains("mirror=publish-only"))
        #expect(!(own.all.all + remote.all.all).contains { $0.contains("changed") })
        #expect(own.kept.all[0].flip == .x && own.kept.all[0].publishChannel == .main)
        // The mirror mode is combined with the source's own flip.
        alice.mirrorMode = .previewOnly
        try alice.graph.element("camera").setProperty("flip", parsing: "xy")
        let wanted = ["y main \(room)/alice/video", "xy main \(room)/alice/video"]
        #expect(
            waitUntil {
                try? source.sendPattern()
                return own.all.all.last == wanted[0] && remote.all.all.last == wanted[1]
            })
        for session in [alice, bob] { await session.leave() }
    }

    @Test("CR-4 CR-3 a second camera has its own channel, preview, pipe and mirror mode")
    func auxiliary() async throws {
        let room = #function
        let camera = "videotestsrc is-live=true ! video/x-raw,width=32,height=18"
        let alice = try session("alice", room) {
            $0.camera = camera
            $0.auxCamera = camera
            ($0.mirrorMode, $0.auxMirrorMode) = (.both, .none)
        }
        let bob = try session("bob", room)
        let (own, aux, remote) = (Marks(), Marks(), Marks())
        try alice.preview.subscribe(own, resolution: .p90)
        try alice.auxPreview.subscribe(aux, resolution: .p90)
        for session in [bob, alice] { try await session.join() }
        #expect(waitUntil { bob.remoteUsers.count == 1 })
        try bob.user("alice").auxVideoPipe.subscribe(remote, resolution: .p90)
        for marks in [own, aux, remote] { #expect(waitUntil { marks.all.all.count > 3 }) }
        #expect(Set(own.all.all) == ["x main \(room)/alice/video changed"])
        #expect(Set(aux.all.all + remote.all.all) == ["none aux \(room)/alice/videoaux changed"])
        #expect(Description(alice.description).resolved().diagnose() == [])
        #expect(alice.description.contains("! session.camera_aux\n"))
        #expect(alice.description.contains("session.preview_aux ! rawdatapipe name=preview_aux"))
        #expect(alice.description.contains(" mirror=both mirror-aux=none\n"))
        let flips: [(MirrorMode, Flip, Flip)] = [(.previewOnly, .x, .none), (.both, .x, .x), (.publishOnly, .none, .x)]
        for (mode, preview, published) in flips {
            alice.auxMirrorMode = mode
            let ending = "aux \(room)/alice/videoaux changed"
            #expect(
                waitUntil {
                    aux.all.all.last == "\(preview) \(ending)" && remote.all.all.last == "\(published) \(ending)"
                }, "\(mode)")
        }
        #expect(alice.mirrorMode == .both && Set(own.all.all) == ["x main \(room)/alice/video changed"])
        for session in [alice, bob] { await session.leave() }
    }

    @Test("RP-12 native frames of a preview and of a user come with flip, channel, stream ID and their own memory")
    func native() async throws {
        /// Logs what comes with each native frame.
        final class Frames: RawDataDelegate {
            let kinds = Log<PipeIdentity.Kind>()
            let all = Log<String>()
            func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
                kinds.add(pipe.kind)
                #expect(frame.width == 32 && frame.height == 18 && frame.format == .nv12)
                #expect(frame.publishChannel == (frame.streamID?.hasSuffix("aux") == true ? .aux : .main))
                all.add("\(frame.flip) \(frame.streamID ?? "-") \(frame.memoryTypes) \(frame.caps[0].name)")
            }
        }
        let room = #function
        let camera = "videotestsrc is-live=true ! video/x-raw,format=NV12,width=32,height=18"
        func native(_ context: inout SessionContext) {
            context.customVideoRender = CustomVideoRender(bufferType: .native)
        }
        let alice = try session("alice", room) {
            ($0.camera, $0.auxCamera) = (camera, camera)
            native(&$0)
        }
        let bob = try session("bob", room, native)
        let (own, aux, remote) = (Frames(), Frames(), Frames())
        try alice.preview.subscribe(own, resolution: .native)
        try alice.auxPreview.subscribe(aux, resolution: .native)
        for session in [bob, alice] { try await session.join() }
        #expect(waitUntil { bob.remoteUsers.count == 1 })
        try bob.user("alice").videoPipe.subscribe(remote, resolution: .native)
        for frames in [own, aux, remote] { #expect(waitUntil { frames.all.all.count > 3 }) }
        for session in [alice, bob] { await session.leave() }
        let memory = "[\"SystemMemory\"] video/x-raw"
        #expect(Set(own.kinds.all) == [.preview(.main)] && Set(aux.kinds.all) == [.preview(.aux)])
        #expect(Set(remote.kinds.all) == [.camera(.main)])
        #expect(Set(own.all.all) == ["x \(room)/alice/video \(memory)"])
        #expect(Set(aux.all.all) == ["x \(room)/alice/videoaux \(memory)"])
        #expect(Set(remote.all.all) == ["none \(room)/alice/video \(memory)"])
    }

    private final class OwnedBuffer {
        let kept: KeptBuffer
        init(_ kept: consuming KeptBuffer) { self.kept = kept }
    }

    @Test("RP-8 a kept mirrored frame counts at its pool, because it uses the camera's own memory")
    func poolLimit() {
        let pool = BoundedPool("video/x-raw,format=I420,width=4,height=4", size: 24, buffers: 4)
        var kept: [OwnedBuffer] = []
        for _ in 0..<4 {
            guard let buffer = pool.acquire() else { break }
            if let one = KeptBuffer(keeping: buffer.access.alias.access) { kept.append(OwnedBuffer(one)) }
        }
        #expect(kept.count == 2 && pool.available == 2)
        kept = []
        #expect(pool.available == 4)
    }

    @Test(
        "CR-1 CR-5 the context sets custom rendering, which can't be changed while a pipe runs"
    )
    func customRendering() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) {
            $0.externalVideoSource = source
            $0.customVideoRender = CustomVideoRender(format: .rgb, engineRender: "rawdatapipe name=window")
        }
        let formats = Log<VideoFormat>()
        let own = PipeLog { formats.add($0.format) }
        try alice.preview.subscribe(own, resolution: .p90)
        try await alice.join()
        #expect(
            waitUntil {
                try? source.sendPattern()
                return own.count > 3 && (try? alice.graph.rawDataPipe("window").statistics.frames) ?? 0 > 3
            })
        #expect(Set(formats.all) == [.bgra])
        #expect(
            alice.description.contains(
                """
                split_preview. ! rawdatapipe name=preview format=rgb on-error=pass
                """))
        #expect(Description(alice.description).resolved().diagnose() == [])
        let pipe = try alice.graph.element("preview")
        for (property, value) in [("format", "yuv"), ("buffer-type", "native"), ("engine-render", "true")] {
            let before = try pipe.propertyText(property)
            #expect(throws: PropertyError.self) { try pipe.setProperty(property, parsing: value) }
            #expect(try pipe.propertyText(property) == before)
        }
        try await alice.preview.unsubscribe(own)
        await alice.settle()
        #expect(throws: GraphError.self) { try alice.graph.rawDataPipe("window") }
        await alice.leave()
    }

    @Test(
        "CR-2 an impossible custom render makes Session.init throw",
        arguments: [
            (CustomVideoRender(engineRender: "nosuchsink"), MediaGraphError.Code.invalidParameter),
            (CustomVideoRender(engineRender: "videoconvert"), .invalidParameter),
            (CustomVideoRender(bufferType: .encoded, format: .rgb), .wrongUsage),
        ])
    func impossible(render: CustomVideoRender, code: MediaGraphError.Code) throws {
        let error = #expect(throws: MediaGraphError.self) {
            try session("alice", "room") { $0.customVideoRender = render }
        }
        #expect(error?.code == code)
    }
}
