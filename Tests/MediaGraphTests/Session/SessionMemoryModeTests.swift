import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the memory modes of a session's video, share and audio.
@Suite(.timeLimit(.minutes(10))) struct SessionMemoryModeTests {
    init() throws { try Nodes.register() }

    /// Retains everything that the session's delegate and its pipes' delegate get, and counts the outcomes.
    private final class Keeper: SessionDelegate, RawDataDelegate {
        let outcomes = Log<String>()
        let frames = Log<OwnedVideoFrame>()
        let blocks = Log<OwnedAudioFrame>()

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
            let canRetain = frame.canRetain
            let kind = pipe.kind == .share ? "share" : "video"
            do throws(MediaGraphError) {
                frames.add(try frame.retain())
                outcomes.add("\(kind) \(canRetain) kept")
            } catch { outcomes.add("\(kind) \(canRetain) \(error.code)") }
        }

        func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {
            let canRetain = frame.canRetain
            do throws(MediaGraphError) {
                blocks.add(try frame.retain())
                outcomes.add("audio \(canRetain) kept")
            } catch { outcomes.add("audio \(canRetain) \(error.code)") }
        }
    }

    private static let video = "video/x-raw,format=I420,width=32,height=16,framerate=30/1"
    private static let audio = "audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"

    @Test(
        "RP-7 with heap for video, share and audio, as in Zoom's sample, delegates may retain every frame",
        arguments: [MemoryMode?.none, .stack, .heap])
    func modes(mode: MemoryMode?) async throws {
        let room = "memory \(mode.map { "\($0)" } ?? "unset")"
        let alice = try session("alice", room) {
            ($0.audioMemoryMode, $0.videoMemoryMode, $0.shareMemoryMode) = (mode, mode, mode)
        }
        let keeper = Keeper()
        alice.delegate = keeper
        try await alice.join()
        try alice.audioHelper.subscribe()
        // Another user, whose frames come from pools at their limits.
        let bob = try Graph(
            """
            mediasession name=call room="\(room)" user=bob
            appsrc name=camera format=time is-live=true do-timestamp=true caps="\(Self.video)" ! call.camera
            appsrc name=screen format=time is-live=true do-timestamp=true caps="\(Self.video)" ! call.share
            appsrc name=mic format=time is-live=true do-timestamp=true caps="\(Self.audio)" ! call.mic
            """)
        let sources = try ["camera", "screen", "mic"].map { name in
            (
                try #require(AppSource(wrapping: try bob.element(name))),
                name == "mic" ? PoolAtLimit(Self.audio, size: 960) : PoolAtLimit(Self.video, size: 768)
            )
        }
        try await bob.start()
        func send(until condition: () -> Bool) -> Bool {
            waitUntil {
                for (source, pool) in sources { pool.push(to: source) }
                return condition()
            }
        }
        let user = SessionUser(name: "bob", session: alice)
        #expect(send { user.isSending(.share) && user.isSending(.video) })
        try user.videoPipe.subscribe(keeper, resolution: .p720)
        try user.sharePipe.subscribe(keeper, resolution: .p720)
        let outcome = mode == .heap ? "true kept" : "false allocationFailed"
        for kind in ["video", "share", "audio"] {
            #expect(
                send { keeper.outcomes.all.count { $0 == "\(kind) \(outcome)" } >= 10 }, "\(kind) \(room)")
        }
        // With heap, every frame is kept. Otherwise a frame is kept if it happens to find room in the pool. Audio that the
        // session makes itself, such as silence in a gap, isn't from the pool.
        if mode == .heap {
            let fromPools = keeper.outcomes.all.filter { !$0.hasPrefix("audio") }
            #expect(fromPools.allSatisfy { $0.hasSuffix(outcome) }, "\(Set(fromPools))")
        }
        await alice.leave()
        await bob.stop()
        for frame in keeper.frames.all { #expect(try Set(frame.packedBytes()) == [7]) }
        for block in keeper.blocks.all where !block.isGap { #expect(try Set(block.samples()) == [0x0707]) }
    }
}
