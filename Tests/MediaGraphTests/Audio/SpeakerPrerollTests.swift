import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// Tests what a graph with a speaker waits for before it is in PAUSED.
@Suite(.timeLimit(.minutes(10))) struct SpeakerPrerollTests {
    private let folder: TemporaryFolder
    private let files: [String]

    init() async throws {
        try Nodes.register()
        folder = try TemporaryFolder()
        files = ["a", "b"].map { [folder] in folder.file("\($0).wav") }
        for file in files {
            try await Graph("audiotestsrc num-buffers=50 samplesperbuffer=480 ! wavenc ! filesink location=\(file)")
                .run()
        }
    }

    /// Plays a description after a seek right behind the change to PAUSED. Returns `false` if playback doesn't end.
    private func playsAfterSeek(_ description: String) throws -> Bool {
        let pipeline = try Pipeline(parsing: description)
        let isOver = Mutex(false)
        pipeline.onMessage { message in
            switch message.kind {
            case .endOfStream, .error: isOver.withLock { $0 = true }
            default: break
            }
        }
        defer { pipeline.setState(.null) }
        pipeline.setState(.paused)
        #expect(pipeline.waitForState(timeout: .seconds(60)).state == .paused)
        #expect(pipeline.seek(to: .milliseconds(100)))
        pipeline.setState(.playing)
        return waitUntil { isOver.withLock { $0 } }
    }

    private func description(_ decoder: (String) -> String) -> String {
        "virtualspeaker name=ears handler=count \(decoder(files[0])) ! ears.user_a \(decoder(files[1])) ! ears.user_b"
    }

    @Test("EL-2 two files play to their end after a seek as soon as PAUSED is reached", arguments: 0..<3)
    func seeks(kind: Int) throws {
        let text = description { file in
            switch kind {
            case 0: "filesrc location=\(file) ! wavparse"
            case 1: "uridecodebin uri=file://\(file)"
            default: "filesrc location=\(file) ! decodebin ! audioconvert ! audioresample"
            }
        }
        for run in 0..<20 { try #require(try playsAfterSeek(text), "run \(run) doesn't end") }
    }

    @Test("EL-1 the change to PAUSED completes with the first block of the mix, or of a share's file")
    func waits() throws {
        let mix = try Pipeline(parsing: description { "filesrc location=\($0) ! wavparse" })
        #expect(mix.setState(.paused) == .async)
        #expect(mix.waitForState(timeout: .seconds(60)).result == .success)
        #expect(try NodeCounts(#require(mix.element(named: "ears")))!.frames >= 3)
        mix.setState(.null)
        for decoder in [
            "filesrc location=\(files[0]) ! wavparse", "uridecodebin uri=file://\(files[0]) ! audioconvert",
        ] {
            let share = try Pipeline(parsing: "virtualspeaker name=ears handler=count \(decoder) ! ears.shared")
            #expect(share.setState(.paused) == .async)
            #expect(share.waitForState(timeout: .seconds(60)).result == .success)
            #expect(try NodeCounts(#require(share.element(named: "ears")))!.frames >= 1)
            share.setState(.playing)
            let (result, state) = share.waitForState(timeout: .seconds(60))
            #expect(result == .success && state == .playing)
            share.setState(.null)
        }
    }

    @Test("EL-1 a share that ends with nothing to mix blocks neither PAUSED nor a stop")
    func endsUnheard() throws {
        let share = try Pipeline(
            parsing: "virtualspeaker name=ears handler=count audiotestsrc num-buffers=0 ! ears.shared")
        share.setState(.paused)
        // The mix ends in PAUSED and waits there for PLAYING. When it waited on the share's thread, neither sink got to
        // PAUSED.
        #expect(share.waitForState(timeout: .seconds(60)).result == .success)
        share.setState(.null)
    }

    @Test(
        "EL-1 PAUSED doesn't wait for live sources, sources that need PLAYING, or an appsrc",
        arguments: [
            "audiotestsrc is-live=true", "virtualmic pace=fast handler=tone", "virtualmic handler=tone",
            "appsrc format=time",
        ])
    func doesNotWait(source: String) throws {
        let pipeline = try Pipeline(parsing: "\(source) ! virtualspeaker handler=count")
        #expect([.success, .noPreroll].contains(pipeline.setState(.paused)))
        #expect(pipeline.setState(.playing) == .success)
        pipeline.setState(.null)
    }

    @Test("GR-6 a graph of files starts before anyone reads its frames, whatever its queue's limit")
    func readers() async throws {
        let graph = try Graph(
            description { "filesrc location=\($0) ! wavparse" }.replacing("handler=count", with: "max-frames=1"))
        let audio = try graph.virtualSpeaker("ears").audio
        try await graph.start()
        var count = 0
        for try await block in audio { count += block.frame.frameCount }
        #expect(count > 0)
        await graph.stop()
    }
}
