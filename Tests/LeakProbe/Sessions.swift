import Foundation
import GStreamer
import MediaGraph
import Synchronization
import TestSupport

/// A share whose threads send until they are refused.
final class Share: ShareSource, ShareAudioSource {
    func shareSendStarted(sender: VideoSender) {
        Thread.detachNewThread {
            while (try? sender.send([UInt8](repeating: 7, count: 96), FrameDescription(width: 16, height: 4))) != nil {}
        }
    }
    func shareSendStopped() {}
    func startSendAudio(sender: AudioSender) {
        Thread.detachNewThread {
            while (try? sender.send([Int16](repeating: 7, count: 480), sampleRate: 48000)) != nil {}
        }
    }
    func stopSendAudio() {}
}

/// Shares in a session, by name and from Swift: started, paused, replaced, refused, and released while they run.
func shares() async throws {
    for round in 0..<3 {
        // The graph of the previous round isn't stopped; its release must stop it.
        let graph = try Graph(
            """
            mediasession name=b room=leaks-\(round) user=bob  sharesource name=s  s. ! b.share  s.audio ! b.shareaudio
            mediasession name=a room=leaks-\(round) user=alice
            a.share_bob ! rawdatapipe handler=count  a.shareaudio_bob ! v.shared  virtualspeaker name=v handler=count
            """)
        let node = try graph.shareSource("s")
        try await graph.start()
        for _ in 0..<3 {
            let share = Share()
            try await node.startSharing(share, audioSource: share)
            try? await node.startSharing(Share(), audioSource: nil)
            try await Task.sleep(for: .milliseconds(30))
            try await node.pause()
            try await node.resume()
            try await node.stopSharing()
        }
        try await node.startSharing(nil, audioSource: Share())
    }
    try await run(
        """
        sharesource name=s pace=fast handler=counter options="frames=9,width=16,height=16"
            audio-handler=tone audio-options=seconds=0.2 ! fakesink  s.audio ! fakesink
        """)
}

/// A session that scales for its pipes while delegates subscribe and unsubscribe, and that is released while it runs.
func scaled() async throws {
    for round in 0..<3 {
        let graph = try Graph(
            """
            mediasession name=b room=scaled-\(round) user=bob
            videosource handler=counter options="width=320,height=180,fps=100" ! b.camera
            mediasession name=a room=scaled-\(round) user=alice
            a.video_bob ! tee name=t ! queue ! rawdatapipe name=p resolution=90p  t. ! queue ! rawdatapipe resolution=90p
            b.preview ! rawdatapipe resolution=90p
            """)
        let delegate = Delegate()
        try await graph.start()
        for resolution in [Resolution.p90, .native, .p90] {
            try graph.rawDataPipe("p").subscribe(delegate, resolution: resolution)
            try await Task.sleep(for: .milliseconds(50))
            try await graph.rawDataPipe("p").unsubscribe(delegate)
        }
        if round == 0 { await graph.stop() }
    }
}

/// Sessions that use every feature, and are left while everything runs.
func sessions() async throws {
    final class Editor: SessionFrameEditor {}
    final class Frames: RawDataDelegate {
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {}
    }
    final class Sound: ShareAudioSource {
        func startSendAudio(sender: AudioSender) {}
        func stopSendAudio() {}
    }
    let camera = "videotestsrc is-live=true ! video/x-raw,format=I420,width=160,height=90"
    for _ in 0..<2 {
        var context = SessionContext(user: "alice", room: "leaks")
        context.camera = camera
        context.alphaMask = "alpha method=green"
        (context.role, context.allowsRawStreaming) = (.host, true)
        context.frameEditor = Editor()
        context.speaker = "fakesink async=false"
        context.customVideoRender = CustomVideoRender(engineRender: "fakesink async=false")
        let alice = try Session(context)
        var other = SessionContext(user: "bob", room: "leaks")
        other.camera = camera
        let bob = try Session(other)
        let (own, seen) = (Frames(), Frames())
        try alice.preview.subscribe(own, resolution: .p90)
        try await alice.preview.start()
        for session in [bob, alice] { try await session.join() }
        let hasMet = try await eventually { !alice.remoteUsers.isEmpty }
        precondition(hasMet)
        let pipe = try alice.user("bob").videoPipe
        try pipe.subscribe(seen, resolution: .p90)
        try alice.videoHelper.enableAlphaChannel(true)
        try await alice.shareHelper.startSharing(nil, audioSource: Sound(), playLocally: true)
        var count = 0
        for try await _ in try pipe.frames(resolution: .p90) {
            count += 1
            if count == 5 { break }
        }
        for session in [alice, bob] { await session.leave() }
        withExtendedLifetime((own, seen)) {}
    }
}
