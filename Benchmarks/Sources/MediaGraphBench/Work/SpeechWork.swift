import Foundation
import GStreamer
import MediaGraph
import PlainC
import Synchronization

/// Users who speak in real time: each sends a block every 10 ms, no two at the same moment. `run` measures the time
/// from the sending of a block to its user's one-way callback.
struct SpeechWork: Sendable {
    enum Side: Sendable {
        /// `appsrc ! appsink` in C.
        case c
        /// `virtualmic ! virtualspeaker`, with the node's `jitter`.
        case swift(jitter: Duration)
    }

    var users: Int
    var blocks: Int

    /// Returns the latency of each block of all users, in nanoseconds.
    func run(_ side: Side) throws -> [Int64] {
        let voices = Voices(users, blocks: blocks)
        switch side {
        case .c:
            guard let speech = pc_speech_start(voices.pointer, Int32(users)) else {
                throw BenchError("the C side failed")
            }
            defer { pc_speech_stop(speech) }
            try voices.waitUntilHeard()
        case .swift(let jitter): try runSwift(voices, jitter)
        }
        return voices.latencies
    }

    private func runSwift(_ voices: Voices, _ jitter: Duration) throws {
        // `drift=none`: a block is identified by its first sample, which resampling would change.
        let microphones = (0..<users).map {
            "virtualmic name=mic\($0) jitter=\(Int(jitter / .nanoseconds(1))) drift=none ! speaker.user_u\($0)"
        }
        let graph = try Graph(
            (["virtualspeaker name=speaker max-frames=10000"] + microphones).joined(separator: "  "))
        for user in 0..<users { try graph.virtualMic("mic\(user)").attach(TimedMic(voices, user)) }
        try graph.virtualSpeaker("speaker").attach(TimedSpeaker(voices: voices))
        try waiting { try await graph.start() }
        defer { _ = try? waiting { await graph.stop() } }
        try voices.waitUntilHeard()
    }
}

/// The voices of all users, shared with C.
///
/// `@unchecked Sendable`: each voice has one sender and one listener, which synchronize through an atomic count.
private final class Voices: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<PCVoice>
    let count: Int
    private let blocks: Int

    init(_ count: Int, blocks: Int) {
        self.count = count
        self.blocks = blocks
        pointer = .allocate(capacity: count)
        // The first block is due when the graphs have started up.
        let begin = pc_monotonic() + 300_000_000
        for user in 0..<count {
            var voice = PCVoice()
            voice.begin = begin + UInt64(user) * UInt64(PC_BLOCK_TIME) / UInt64(count)
            voice.room = UInt64(blocks)
            voice.sent = .allocate(capacity: blocks)
            voice.values = .allocate(capacity: blocks)
            (pointer + user).initialize(to: voice)
        }
    }

    deinit {
        for user in 0..<count {
            pointer[user].sent.deallocate()
            pointer[user].values.deallocate()
        }
        pointer.deallocate()
    }

    subscript(user: Int) -> UnsafeMutablePointer<PCVoice> { pointer + user }

    func waitUntilHeard() throws {
        let limit = ContinuousClock.now + .seconds(Double(blocks) / 100 * 2 + 10)
        defer { for user in 0..<count { pc_voice_stop(self[user]) } }
        while (0..<count).contains(where: { pc_voice_count(self[$0]) < blocks }) {
            guard ContinuousClock.now < limit else { throw BenchError("blocks stopped arriving") }
            usleep(20_000)
        }
    }

    var latencies: [Int64] {
        (0..<count).flatMap { Array(UnsafeBufferPointer(start: pointer[$0].values, count: blocks)) }
    }
}

private final class TimedMic: VirtualMic {
    private let voices: Voices
    private let user: Int
    private let run = Mutex<(sender: AudioSender?, thread: WorkThread?)>((nil, nil))

    init(_ voices: Voices, _ user: Int) {
        self.voices = voices
        self.user = user
    }

    func micInitialize(sender: AudioSender) { run.withLock { $0.sender = sender } }

    func micStartSend() {
        run.withLock { run in
            guard let sender = run.sender else { return }
            run.thread = WorkThread("speak") { [voices, user] in Self.speak(sender, voices[user]) }
        }
    }

    func micStopSend() { run.withLock { $0.thread.take() }?.join() }
    func micUninitialize() { run.withLock { $0.sender = nil } }

    private static func speak(_ sender: AudioSender, _ voice: UnsafeMutablePointer<PCVoice>) {
        var samples = [Int16](repeating: 0, count: AudioWork.blockFrames)
        var block: UInt64 = 0
        while pc_voice_wait(voice, block) {
            samples[0] = pc_voice_send(voice, block)
            do throws(MediaGraphError) { try sender.send(samples, sampleRate: 48_000) } catch {
                return sender.fail(error)
            }
            block += 1
        }
    }
}

private struct TimedSpeaker: VirtualSpeaker {
    let voices: Voices

    func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) {
        // Users are called u0, u1, …
        guard let number = Int(user.name.dropFirst()) else { return }
        pc_voice_heard(voices[number], frame.samples[0])
    }
}
