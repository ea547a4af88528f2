import Dispatch
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests playing a share's audio for the sharing user.
@Suite(.timeLimit(.minutes(10))) struct SessionShareSoundTests {
    init() throws { try Nodes.register() }

    @Test(
        "SH-1 with playLocally a share's audio is also played on the context's own speaker")
    func playLocally() async throws {
        let bob = try session("bob", #function) { $0.speaker = "fakesink sync=false async=false" }
        let alice = try session("alice", #function)
        let events = SessionLog()
        alice.delegate = events
        for session in [bob, alice] { try await session.join() }
        try alice.audioHelper.subscribe()
        func devices() -> [Element] { bob.graph.pipeline.allElements.filter { $0.factoryName == "fakesink" } }
        let own = try #require(devices().first)
        for playsLocally in [false, true, true] {
            let share = RecordingShare()
            try await bob.shareHelper.startSharing(nil, audioSource: share, playLocally: playsLocally)
            let players = devices().filter { $0 != own }
            #expect(players.count == (playsLocally ? 1 : 0))
            let played = Log<Int16>()
            players.first?.staticPad("sink")?.observeBuffers { buffer in
                buffer.withBytes { played.add($0.loadUnaligned(as: Int16.self)) }
            }
            let others = events.audio.all.count { $0 == "shared" }
            #expect(
                waitUntil {
                    try? sendNow(share.audioSender, [Int16](repeating: 1000, count: 480))
                    return events.audio.all.count { $0 == "shared" } > others + 3
                        && (!playsLocally || played.all.contains(1000))
                })
            #expect(bob.description.contains("share_heard. ! queue ! fakesink sync=false") == playsLocally)
            #expect(bob.description.contains("share.audio ! ") && !bob.description.contains("session.share\n"))
            #expect(Description(bob.description).resolved().diagnose().filter { $0.severity == .error } == [])
            await bob.shareHelper.stopSharing()
            #expect(devices() == [own])
        }
        #expect(try bob.graph.element("session").pads.filter { $0.direction == .sink }.isEmpty)
        for session in [alice, bob] { await session.leave() }
    }

    @Test("SE-4 a failure of the speaker that plays the user's own share ends the share, not the session")
    func speakerFails() async throws {
        let bob = try session("bob", #function) { $0.speaker = "fakesink sync=false async=false" }
        try await bob.join()
        func devices() -> [Element] { bob.graph.pipeline.allElements.filter { $0.factoryName == "fakesink" } }
        let own = devices()
        try await bob.shareHelper.startSharing(nil, audioSource: RecordingShare(), playLocally: true)
        let player = try #require(devices().first { !own.contains($0) })
        player.postError(.write, "the loudspeaker is gone")
        #expect(!bob.shareHelper.isSharing)
        await bob.settle()
        #expect(devices() == own)
        try await bob.shareHelper.startSharing(nil, audioSource: RecordingShare(), playLocally: true)
        #expect(bob.shareHelper.isSharing)
        await bob.leave()
    }

    @Test("SH-1 a share that is stopped while it starts leaves nothing in the graph, and its start is an error")
    func stoppedWhileItStarts() async throws {
        let bob = try session("bob", #function)
        try await bob.join()
        let held = DispatchSemaphore(value: 0)
        bob.graph.enqueue { held.wait() }
        let start = Task { try await bob.shareHelper.startSharing(RecordingShare(), audioSource: RecordingShare()) }
        #expect(try await eventually { bob.shareHelper.isSharing })
        let stop = Task { await bob.shareHelper.stopSharing() }
        #expect(try await eventually { !bob.shareHelper.isSharing })
        held.signal()
        let error = await #expect(throws: MediaGraphError.self) { try await start.value }
        #expect(error?.code == .noShare)
        await stop.value
        #expect(!bob.graph.pipeline.allElements.contains { $0.factoryName == "sharesource" })
        try await bob.shareHelper.startSharing(RecordingShare())
        await bob.leave()
    }

    @Test("SH-1 playLocally without audio or without a speaker is a typed error, and nothing is shared")
    func nothingToPlay() async throws {
        let withSpeaker = try session("bob", #function) { $0.speaker = "fakesink" }
        let withoutSpeaker = try session("carol", #function)
        for (session, source, code) in [
            (withSpeaker, nil, MediaGraphError.Code.noAudio), (withoutSpeaker, RecordingShare(), .wrongUsage),
        ] {
            try await session.join()
            let error = await #expect(throws: MediaGraphError.self) {
                try await session.shareHelper.startSharing(RecordingShare(), audioSource: source, playLocally: true)
            }
            #expect(error?.code == code)
            #expect(!session.shareHelper.isSharing)
            await session.leave()
        }
    }
}
