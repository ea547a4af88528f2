import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// What PAUSED waits for in a graph with a speaker.
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

    /// Plays a description whose files are sought in as soon as PAUSED is reached. False when it doesn't end.
    private func plays(_ description: String) throws -> Bool {
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

    @Test("EL-2 two files that are sought in as soon as they are in PAUSED play to their end", arguments: 0..<3)
    func seeks(kind: Int) throws {
        let text = description { file in
            switch kind {
            case 0: "filesrc location=\(file) ! wavparse"
            case 1: "uridecodebin uri=file://\(file)"
            default: "filesrc location=\(file) ! decodebin ! audioconvert ! audioresample"
            }
        }
        for run in 0..<20 { try #require(try plays(text), "run \(run) stands still") }
    }

    @Test("EL-1 PAUSED is done when the mix of files, or a share's file, has its first block")
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

    @Test("EL-1 the end of a share with nothing to mix waits for nobody: PAUSED is done, and a stop stops")
    func endsUnheard() throws {
        let share = try Pipeline(
            parsing: "virtualspeaker name=ears handler=count audiotestsrc num-buffers=0 ! ears.shared")
        share.setState(.paused)
        // The mix, which ends in PAUSED, waits for PLAYING. While it did so on the share's thread that held both sinks.
        #expect(share.waitForState(timeout: .seconds(60)).result == .success)
        share.setState(.null)
    }

    @Test(
        "EL-1 PAUSED doesn't wait for who is live, sends in PLAYING only, or is fed by an application",
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

    @Test("GR-6 a graph of files starts while nobody reads yet, however little its reader takes")
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
