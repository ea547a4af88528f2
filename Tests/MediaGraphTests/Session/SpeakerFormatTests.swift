import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the format of the sound that a session receives.
@Suite(.timeLimit(.minutes(10))) struct SpeakerFormatTests {
    init() throws { try Nodes.register() }

    private struct Block: Sendable {
        var receiver: String
        var rate: Int
        var samples: [Int16]
    }

    /// Logs the blocks that a virtual speaker and a session's delegate get.
    private final class Blocks: VirtualSpeaker, SessionDelegate {
        let log = Log<Block>()

        private func add(_ frame: borrowing AudioFrame, _ receiver: String) {
            let samples = frame.samples.withUnsafeBufferPointer(Array.init)
            #expect(frame.channelCount == 2)
            log.add(Block(receiver: receiver, rate: frame.sampleRate, samples: samples))
        }
        func mixedAudioReceived(_ frame: borrowing AudioFrame) { add(frame, "speaker") }
        func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) { add(frame, "speaker of bob") }
        func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame) { add(frame, "delegate") }
        func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {
            add(frame, "delegate of bob")
        }
    }

    @Test(
        "SE-13 sessions send sound in stereo, and receive it in stereo and with the rate of their context",
        arguments: [true, false])
    func stereo(hasSpeaker: Bool) async throws {
        let room = "\(#function) \(hasSpeaker)"
        let microphone = RecordingMic()
        let bob = try session("bob", room) { ($0.virtualAudioMic, $0.sendsStereo) = (microphone, true) }
        try await bob.join()
        let blocks = Blocks()
        let alice = try session("alice", room) {
            $0.speakerFormat = SpeakerFormat(sampleRate: 16_000, channelCount: 2)
            if hasSpeaker { $0.virtualAudioSpeaker = blocks }
        }
        alice.delegate = blocks
        try await alice.join()
        try alice.audioHelper.subscribe()
        // 10 ms whose left and right channels differ.
        let block = (0..<960).map { Int16($0.isMultiple(of: 2) ? 1000 : -2000) }
        let receivers =
            ["delegate", "delegate of bob"] + (hasSpeaker ? ["speaker", "speaker of bob"] : [])
        /// Whether the block has the sound of the two channels throughout. At the beginning, the resampler fades in.
        func isSteady(_ block: Block) -> Bool {
            let pairs = stride(from: 0, to: block.samples.count - 1, by: 2).map {
                (block.samples[$0], block.samples[$0 + 1])
            }
            return !pairs.isEmpty && pairs.allSatisfy { abs($0.0 - 1000) < 20 && abs($0.1 + 2000) < 20 }
        }
        #expect(
            waitUntil {
                try? sendNow(microphone.sender, block, channels: 2)
                return Set(blocks.log.all.filter(isSteady).map(\.receiver)) == Set(receivers)
            })
        #expect(blocks.log.all.allSatisfy { $0.rate == 16_000 })
        for session in [alice, bob] { await session.leave() }
    }

    @Test(
        "SE-13 a format that a speaker can't have is refused",
        arguments: [SpeakerFormat(sampleRate: 7999), SpeakerFormat(channelCount: 3), SpeakerFormat(sampleRate: .max)])
    func refusal(format: SpeakerFormat) throws {
        let error = #expect(throws: MediaGraphError.self) {
            try session("alice", #function) { $0.speakerFormat = format }
        }
        #expect(error?.code == .invalidParameter)
        #expect(error.map { "\($0)".contains("8000 to 192000 Hz") && "\($0)".contains("1 or 2 channels") } == true)
    }
}
