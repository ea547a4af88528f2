import ArgumentParser
import GStreamer
import MediaGraph
import PlainC
import Synchronization

/// A mix of users who all speak: each sends blocks of 10 ms (48 kHz, mono, 16 bits) as fast as the graph accepts them.
struct AudioWork: Sendable {
    enum Side: String, CaseIterable, Sendable, ExpressibleByArgument {
        /// `audiotestsrc ! audiomixer ! fakesink`, in 16 bits.
        case stock
        /// The same, mixed in floating point and converted to 16 bits at the end, so that the sum is clipped once.
        case exact
        /// The exact mix in C, which also reads each user's sound: an `appsrc` for each user, probes at its pad and at
        /// the end.
        case c
        /// A `virtualmic` for each user and a `virtualspeaker`.
        case swift
    }

    static let format = "audio/x-raw, format=S16LE, rate=48000, channels=1, layout=interleaved"
    static let blockFrames = Int(PC_BLOCK_FRAMES)

    var users: Int
    var blocks: Int

    func run(_ side: Side) async throws {
        let failed: Int32
        switch side {
        case .stock: failed = pc_run_description(speaking("audiomixer name=mix ! \(Self.end)"))
        case .exact: failed = pc_run_description(speaking(Self.exactMix))
        case .c: failed = pc_run_talk(Self.exactMix, Int32(users), UInt64(blocks))
        case .swift: return try await runSwift()
        }
        guard failed == 0 else { throw BenchError("the C side failed") }
    }

    private static let end = "capsfilter caps=\"\(format)\" ! fakesink name=end"
    private static let exactMix =
        "audiomixer name=mix ! audio/x-raw, format=F32LE, rate=48000, channels=1 "
        + "! audioconvert dithering=none noise-shaping=none ! \(end)"

    private func speaking(_ mix: String) -> String {
        let source =
            "audiotestsrc num-buffers=\(blocks) samplesperbuffer=\(Self.blockFrames) ! capsfilter caps=\"\(Self.format)\" ! mix."
        return ([mix] + [String](repeating: source, count: users)).joined(separator: "  ")
    }

    private func runSwift() async throws {
        let microphones = (0..<users).map { "virtualmic name=mic\($0) pace=fast ! speaker.user_u\($0)" }
        let graph = try Graph((["virtualspeaker name=speaker"] + microphones).joined(separator: "  "))
        for user in 0..<users { try graph.virtualMic("mic\(user)").attach(BlockMic(blocks: blocks)) }
        let heard = Listener.Counts()
        try graph.virtualSpeaker("speaker").attach(Listener(counts: heard))
        try await graph.run()
        let (mixed, oneWay) = (heard.mixed.load(ordering: .relaxed), heard.oneWay.load(ordering: .relaxed))
        guard oneWay == users * blocks, mixed >= blocks else {
            throw BenchError(
                "expected \(users * blocks) blocks of users and \(blocks) of the mix, got \(oneWay) and \(mixed)")
        }
    }
}

/// Repeatedly sends a copy of one block from its own thread.
private final class BlockMic: VirtualMic {
    private let blocks: Int
    private let run = Mutex<(sender: AudioSender?, thread: WorkThread?)>((nil, nil))

    init(blocks: Int) { self.blocks = blocks }

    func micInitialize(sender: AudioSender) { run.withLock { $0.sender = sender } }

    func micStartSend() {
        run.withLock { run in
            guard let sender = run.sender else { return }
            run.thread = WorkThread("sender") { [blocks] in Self.sendAll(sender, blocks) }
        }
    }

    func micStopSend() { run.withLock { $0.thread.take() }?.join() }
    func micUninitialize() { run.withLock { $0.sender = nil } }

    private static func sendAll(_ sender: AudioSender, _ blocks: Int) {
        let block = (0..<AudioWork.blockFrames).map { Int16($0 % 48 * 100) }
        var index = 0
        while index < blocks {
            do throws(MediaGraphError) {
                try sender.send(block, sampleRate: 48_000)
                index += 1
            } catch {
                // Tries again: under valgrind, a thread may wait long for its turn.
                guard case .timeOut = error else { return sender.fail(error) }
            }
        }
        sender.endOfStream()
    }
}

/// Reads a sample of each block.
private struct Listener: VirtualSpeaker {
    final class Counts: Sendable {
        let mixed = Atomic<Int>(0)
        let oneWay = Atomic<Int>(0)
        let sum = Atomic<Int>(0)
    }

    let counts: Counts

    func mixedAudioReceived(_ frame: borrowing AudioFrame) {
        counts.sum.wrappingAdd(Int(frame.samples[0]), ordering: .relaxed)
        counts.mixed.wrappingAdd(1, ordering: .relaxed)
    }

    func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) {
        counts.sum.wrappingAdd(Int(frame.samples[0]), ordering: .relaxed)
        counts.oneWay.wrappingAdd(1, ordering: .relaxed)
    }
}
