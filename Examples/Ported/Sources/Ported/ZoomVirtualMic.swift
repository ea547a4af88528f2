import MediaGraph
import Synchronization

// Ported from the Zoom Video SDK's "Send raw audio data": MyVirtualMic.swift.
//
// Faults of the original: the task reads `sender` and the SDK's thread writes it, without a lock. The result of sending
// a chunk is ignored. The task never sleeps, so its rate is undefined. Here a lock guards the sender and the task; an
// error ends the task; and `send` suspends until the node has room, so the node sets the pace.

final class MyVirtualMic: VirtualMic {
    private struct State {
        var sender: AudioSender?
        var pumpTask: Task<Void, Never>?
    }
    private let state = Mutex(State())

    func micInitialize(sender: AudioSender) {
        // Store the sender; it refuses sound until micStartSend.
        state.withLock { $0.sender = sender }
    }

    func micStartSend() {
        // Sound is accepted. Begin pumping on a background task.
        state.withLock { state in
            guard let sender = state.sender else { return }
            state.pumpTask = Task(priority: .userInitiated) {
                var number = 0
                while !Task.isCancelled {
                    let chunk = AudioChunk(number: number)  // mono 16-bit PCM bytes from your source
                    do {
                        try await sender.send(chunk.buffer, dataLength: chunk.length, sampleRate: chunk.sampleRate)
                    } catch { return }
                    number += 1
                }
            }
        }
    }

    func micStopSend() { state.withLock { $0.pumpTask.take()?.cancel() } }

    func micUninitialize() { state.withLock { $0.sender = nil } }
}

/// 20 ms of sound, in which each sample is the chunk's number.
private struct AudioChunk {
    let sampleRate = 16000
    let buffer: [UInt8]
    var length: Int { buffer.count }

    init(number: Int) {
        buffer = (0..<320).flatMap { _ in [UInt8(truncatingIfNeeded: number), 0] }
    }
}

extension Sample {
    static let zoomVirtualMic = Sample(
        name: "zoom-virtual-mic", summary: "ZoomVideoSDKVirtualAudioMic that sends from a task"
    ) { frames in
        let lines = Lines()
        // The first node sends; the second takes that sound as its device's, and its processor reads it.
        let graph = try Graph("virtualmic name=mic ! virtualmic name=ear ! fakesink")
        try graph.virtualMic("mic").attach(MyVirtualMic())
        try graph.virtualMic("ear").process { block in
            if lines.all.count < frames {
                lines.add("\(block.sampleRate) Hz, \(block.frameCount) samples, first \(block.samples[0])")
            }
            return .pass
        }
        try await graph.start()
        while lines.all.count < frames { try await Task.sleep(for: .milliseconds(5)) }
        await graph.stop()
        return lines.all
    }
}
